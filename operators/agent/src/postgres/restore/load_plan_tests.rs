use super::*;
use crate::postgres::restore::evaluated::EVALUATES_NOTHING;

#[path = "lending_tests.rs"]
mod lending;

fn entry(id: u32, kind: &str, owner: &str, needs: &[u32]) -> TocEntry {
    let section = match kind {
        "INDEX" | "CONSTRAINT" | "FK CONSTRAINT" | "TRIGGER" => TocSection::Later,
        "TABLE DATA" | "SEQUENCE SET" | "BLOBS" => TocSection::Data,
        "ACL" | "COMMENT" => TocSection::Accompanying,
        _ => TocSection::Definitions,
    };
    TocEntry {
        id,
        kind: kind.into(),
        tag: format!("n{id}"),
        schema: if kind == "SCHEMA" { String::new() } else { "s".into() },
        owner: owner.into(),
        drop: format!("DROP {kind} \"s\".\"n{id}\";"),
        section,
        needs: needs.to_vec(),
        ..TocEntry::default()
    }
}

fn planned(entries: &[TocEntry]) -> LoadPlan {
    plan(entries, &BTreeSet::from(["boss".to_owned()])).unwrap()
}

fn owner(name: &str) -> LoadRole {
    LoadRole::Owner(name.into())
}

fn short(runs: &[LoadStep]) -> Vec<(LoadRole, Vec<u32>)> {
    runs.iter().map(|run| (run.who.clone(), run.ids.clone())).collect()
}

/// All kinds of pg_dump that may contain an expression of a user, and one that does not exist yet.
#[test]
fn the_superuser_never_executes_code_of_users() {
    let kinds = [
        "TABLE",
        "TABLE DATA",
        "TABLE ATTACH",
        "VIEW",
        "MATERIALIZED VIEW",
        "MATERIALIZED VIEW DATA",
        "INDEX",
        "INDEX ATTACH",
        "CONSTRAINT",
        "FK CONSTRAINT",
        "CHECK CONSTRAINT",
        "TRIGGER",
        "RULE",
        "POLICY",
        "ROW SECURITY",
        "DEFAULT",
        "DOMAIN",
        "TYPE",
        "SHELL TYPE",
        "FUNCTION",
        "PROCEDURE",
        "AGGREGATE",
        "OPERATOR",
        "STATISTICS",
        "FOREIGN TABLE",
        "SEQUENCE",
        "COLLATION",
        "CONVERSION",
        "TEXT SEARCH DICTIONARY",
        "PROPERTY GRAPH",
    ];
    for kind in kinds {
        let loading = planned(&[entry(1, kind, "app", &[])]);
        assert_eq!(loading.roles(), BTreeSet::from([&owner("app")]), "{kind}");
        assert!(loading.values.is_empty() && loading.grants.is_empty() && loading.last.is_empty(), "{kind}");
    }
}

#[test]
fn a_stand_in_creates_relations_of_a_superuser() {
    for kind in RELATIONS {
        let loading = planned(&[entry(1, kind, "boss", &[])]);
        assert_eq!(loading.roles(), BTreeSet::from([&LoadRole::StandIn("boss".into())]), "{kind}");
    }
    let system = planned(&[entry(1, "FUNCTION", "pg_database_owner", &[])]);
    assert_eq!(system.roles(), BTreeSet::from([&LoadRole::StandIn("pg_database_owner".into())]));
}

#[test]
fn a_name_does_not_choose_the_role() {
    let spoof = TocEntry { tag: "x public boss\n3; 0 0 TABLE x public boss".into(), ..entry(1, "TABLE", "app", &[]) };
    assert_eq!(short(&planned(&[spoof]).definitions), [(owner("app"), vec![1])]);
}

#[test]
fn definitions_stay_in_order() {
    let of = |id, kind: &str, owner: &str| entry(id, kind, owner, &[]);
    let loading = planned(&[
        of(1, "SCHEMA", "app"),
        of(2, "TYPE", "app"),
        of(3, "FUNCTION", "app"),
        of(4, "TABLE", "other"),
        of(5, "TABLE", "app"),
    ]);
    assert_eq!(
        short(&loading.definitions),
        [
            (LoadRole::Superuser, vec![1]),
            (owner("app"), vec![2, 3]),
            (owner("other"), vec![4]),
            (owner("app"), vec![5])
        ]
    );
}

#[test]
fn rows_take_one_step_for_each_role_and_what_follows_as_few_as_possible() {
    let loading = planned(&[
        entry(1, "TABLE DATA", "a", &[]),
        entry(2, "TABLE DATA", "b", &[]),
        entry(3, "TABLE DATA", "a", &[]),
        entry(4, "SEQUENCE SET", "a", &[]),
        entry(5, "CONSTRAINT", "a", &[]),
        entry(6, "INDEX", "b", &[]),
        entry(7, "INDEX", "a", &[]),
        entry(8, "FK CONSTRAINT", "b", &[5]),
        entry(9, "FK CONSTRAINT", "a", &[8]),
    ]);
    assert_eq!(short(&loading.rows), [(owner("a"), vec![1, 3]), (owner("b"), vec![2])]);
    assert_eq!(loading.values, [4]);
    assert_eq!(short(&loading.post_data), [(owner("a"), vec![5, 7]), (owner("b"), vec![6, 8]), (owner("a"), vec![9])]);
}

#[test]
fn grants_that_restrict_precede_use_by_others() {
    let acl = |id, tag: &str| TocEntry { tag: tag.into(), ..entry(id, "ACL", "app", &[]) };
    let entries = |other: &str| {
        vec![
            entry(1, "FUNCTION", "app", &[]),
            acl(2, "FUNCTION f()"),
            entry(3, "TABLE", other, &[]),
            acl(4, "TABLE FUNCTION x"),
        ]
    };
    let several = planned(&entries("other"));
    let expected = [(owner("app"), vec![1]), (LoadRole::Superuser, vec![2]), (owner("other"), vec![3])];
    assert_eq!(short(&several.definitions), expected);
    assert_eq!(several.grants, [4]);
    // With one owner, there is no other role to restrict.
    assert_eq!(planned(&entries("app")).grants, [2, 4]);
}

#[test]
fn the_database_is_first_and_event_triggers_are_last() {
    let about = TocEntry { tag: "DATABASE app".into(), ..entry(2, "COMMENT", "app", &[]) };
    let trigger = entry(3, "EVENT TRIGGER", "boss", &[]);
    let about_it = TocEntry { tag: "EVENT TRIGGER n3".into(), ..entry(5, "COMMENT", "boss", &[3]) };
    let loading = planned(&[entry(1, "DATABASE", "app", &[]), about, trigger, entry(4, "ENCODING", "", &[]), about_it]);
    assert_eq!((loading.database, loading.last, loading.grants), (vec![1, 2], vec![3, 5], vec![]));
}

#[test]
fn an_attachment_has_the_owner_of_the_attached_object_and_others_need_one() {
    let loading = planned(&[entry(1, "INDEX", "app", &[]), entry(2, "INDEX ATTACH", "", &[1])]);
    assert_eq!(loading.roles(), BTreeSet::from([&owner("app")]));
    assert!(plan(&[entry(1, "NEW KIND", "", &[])], &BTreeSet::new()).unwrap_err().contains("NEW KIND"));
}

/// A superuser sets the options of a foreign table that only superusers may set, unless the table evaluates other users' code.
#[test]
fn the_superuser_creates_its_foreign_table_unless_that_contains_code_of_users() {
    let server = TocEntry { schema: String::new(), ..entry(1, "SERVER", "boss", &[]) };
    let function = entry(2, "FUNCTION", "app", &[]);
    let table = |needs: &[u32]| entry(3, "FOREIGN TABLE", "boss", needs);
    let who = |entries: &[TocEntry]| {
        planned(entries).definitions.into_iter().find(|run| run.ids.contains(&3)).map(|run| run.who)
    };
    let stand_in = Some(LoadRole::StandIn("boss".into()));
    assert_eq!(who(&[server.clone(), table(&[1])]), Some(LoadRole::Superuser));
    for kind in ["VIEW", "MATERIALIZED VIEW"] {
        let reads = entry(4, kind, "boss", &[3]);
        assert_eq!(who(&[server.clone(), table(&[1]), reads]), Some(LoadRole::Superuser), "{kind}");
    }
    assert_eq!(who(&[server.clone(), function, table(&[1, 2])]), stand_in);
    assert_eq!(who(&[server.clone(), table(&[1, 9])]), stand_in, "what it needs is not known");
    for kind in ["DEFAULT", "TRIGGER", "TABLE ATTACH"] {
        assert_eq!(who(&[server.clone(), table(&[1]), entry(4, kind, "boss", &[3])]), stand_in, "{kind}");
    }
    // Of other owners' foreign tables, the superuser creates only those of files.
    let owners = |needs: &[u32]| TocEntry { owner: "app".into(), ..table(needs) };
    let of = |wrapper: &str| TocEntry {
        definition: format!("CREATE SERVER \"file_fdw\" FOREIGN DATA WRAPPER \"{wrapper}\";"),
        ..server.clone()
    };
    assert_eq!(who(&[of("postgres_fdw"), owners(&[1])]), Some(owner("app")));
    let trigger = entry(4, "TRIGGER", "app", &[3]);
    assert_eq!(who(&[of("file_fdw"), owners(&[1]), trigger]), Some(LoadRole::Superuser));
    assert_eq!(who(&[of("file_fdw"), entry(2, "DOMAIN", "app", &[]), owners(&[1, 2])]), Some(owner("app")));
}

/// Parsers and templates have no owner in a dump, and only a superuser may create them.
#[test]
fn the_superuser_creates_what_has_no_owner_and_calls_nothing() {
    for kind in ["TEXT SEARCH PARSER", "TEXT SEARCH TEMPLATE"] {
        let loading = planned(&[entry(1, "SCHEMA", "app", &[]), entry(2, kind, "", &[1])]);
        assert_eq!(short(&loading.definitions), [(LoadRole::Superuser, vec![1, 2])], "{kind}");
    }
}

#[test]
fn functions_of_users_that_the_superuser_would_call_are_refused() {
    let superusers = BTreeSet::from(["boss".to_owned()]);
    let function = |owner: &str, language: &str| TocEntry {
        definition: format!(
            "CREATE FUNCTION \"f\"(\"text\"[], \"oid\") RETURNS \"void\"\n    LANGUAGE {language} STRICT\n    AS 'x';"
        ),
        ..entry(1, "FUNCTION", owner, &[])
    };
    for kind in ["FOREIGN DATA WRAPPER", "PROCEDURAL LANGUAGE"] {
        for (owner, language, is_taken) in
            [("boss", "\"c\"", true), ("boss", "c", true), ("app", "\"c\"", false), ("boss", "\"plpgsql\"", false)]
        {
            let planned = plan(&[function(owner, language), entry(2, kind, "boss", &[1])], &superusers);
            assert_eq!(planned.is_ok(), is_taken, "{kind} {owner} {language}");
        }
        assert!(plan(&[entry(2, kind, "boss", &[])], &superusers).is_ok(), "it is an extension's, or has no function");
    }
}

/// A constant of a user's domain evaluates the user's code when an object with it is created, even if another role owns that
/// object.
#[test]
fn a_stand_in_creates_what_a_superuser_built_on_objects_of_users() {
    let domain = entry(1, "DOMAIN", "app", &[]);
    let between = entry(2, "TYPE", "boss", &[1]);
    let made = |kind: &str, definition: &str, need: u32| {
        let made = TocEntry { definition: definition.into(), ..entry(3, kind, "boss", &[need]) };
        let loading = planned(&[domain.clone(), between.clone(), entry(4, "DOMAIN", "boss", &[]), made]);
        loading.definitions.into_iter().find(|run| run.ids.contains(&3)).map(|run| run.who)
    };
    let stand_in = Some(LoadRole::StandIn("boss".into()));
    let function = |of: &str| format!("CREATE FUNCTION f({of}) RETURNS int\n    LANGUAGE \"sql\"\n    AS 'SELECT 1'");
    for need in [1, 2] {
        for kind in ["DOMAIN", "NEW KIND"] {
            assert_eq!(made(kind, "CREATE", need), stand_in, "{kind}");
        }
        let aggregate = |of: &str| format!("CREATE AGGREGATE \"s\".\"g\"(\"int\") ({of}\n    STYPE = \"d\"[]\n)");
        for constant in ["INITCOND = '{1}',", "MINITCOND = '{1}',"] {
            assert_eq!(made("AGGREGATE", &aggregate(constant), need), stand_in);
        }
        assert_eq!(made("AGGREGATE", &aggregate("SFUNC = \"INITCOND\","), need), Some(LoadRole::Superuser));
        assert_eq!(made("FUNCTION", &function("a d[] DEFAULT '{1}'::d[]"), need), stand_in);
        assert_eq!(made("PROCEDURE", "CREATE PROCEDURE f()\n    LANGUAGE \"sql\"\n    BEGIN ATOMIC", need), stand_in);
        assert_eq!(made("FUNCTION", "CREATE FUNCTION f()\n    LANGUAGE \"sql\"\n    RETURN 1", need), stand_in);
        assert_eq!(made("FUNCTION", &function("a d[]"), need), Some(LoadRole::Superuser), "its text is not parsed");
        let wild =
            "CREATE FUNCTION \"DEFAULT\"(\"a\" \"d\")\n    LANGUAGE \"wild\"\n    AS $_$\n    RETURN DEFAULT $_$;";
        assert_eq!(made("FUNCTION", wild, need), Some(LoadRole::Superuser), "its text is not parsed");
        assert_eq!(made("FUNCTION", "CREATE FUNCTION \"f", need), stand_in, "it cannot be read");
    }
    for kind in ["AGGREGATE", "DOMAIN", "FUNCTION", "PROCEDURE"] {
        assert_eq!(made(kind, "DEFAULT", 4), Some(LoadRole::Superuser), "{kind}");
    }
    for kind in EVALUATES_NOTHING {
        assert_eq!(made(kind, "CREATE", 1), Some(LoadRole::Superuser), "{kind}");
    }
}
