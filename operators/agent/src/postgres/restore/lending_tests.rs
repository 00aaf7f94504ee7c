//! Which privileges the agent lends to roles for the steps of a load.

use super::*;

#[test]
fn only_what_a_definition_itself_needs_is_lent() {
    let table = entry(1, "TABLE", "b", &[]);
    let key = entry(2, "CONSTRAINT", "b", &[1]);
    let function = TocEntry { schema: "f".into(), ..entry(3, "FUNCTION", "b", &[]) };
    let loading =
        planned(&[table, key, function, entry(4, "FK CONSTRAINT", "a", &[2]), entry(5, "TRIGGER", "a", &[3])]);
    let lent: Vec<String> = loading
        .post_data
        .iter()
        .filter(|run| run.who == owner("a"))
        .flat_map(|run| run.privileges.iter().map(Privilege::of))
        .collect();
    assert_eq!(
        lent,
        [
            "USAGE ON SCHEMA \"f\"",
            "USAGE ON SCHEMA \"s\"",
            "EXECUTE ON ROUTINE \"s\".\"n3\"",
            "REFERENCES ON TABLE \"s\".\"n1\""
        ]
    );
    let rows = planned(&[entry(1, "TABLE DATA", "boss", &[])]).rows;
    assert!(rows[0].privileges.contains(&Privilege::Insert("\"s\".\"n1\"".into())));
}

/// `GRANT` takes the names of arguments, and `has_function_privilege` does not.
#[test]
fn a_function_is_lent_by_the_types_of_its_arguments() {
    let function = TocEntry {
        tag: "a \"b(\"public\".\"d\", integer[])".into(),
        drop: "DROP FUNCTION \"s\".\"a \"\"b\"(\"a\" \"public\".\"d\", \"x y\" integer[]);".into(),
        ..entry(1, "FUNCTION", "b", &[])
    };
    let runs = planned(&[function, entry(2, "TABLE", "a", &[1])]).definitions;
    assert!(
        runs[1].privileges.contains(&Privilege::Execute("\"s\".\"a \"\"b\"(\"public\".\"d\", integer[])".into())),
        "{runs:?}"
    );
}

#[test]
fn the_language_of_a_function_is_lent() {
    let of = |language: &str| format!("CREATE FUNCTION \"f\"()\n    LANGUAGE \"{language}\" STABLE\n    AS 'x';");
    let lent = |language: &str, needs: &[u32]| {
        let own = entry(1, "PROCEDURAL LANGUAGE", "boss", &[]);
        let own = TocEntry { schema: String::new(), drop: "DROP PROCEDURAL LANGUAGE \"own\";".into(), ..own };
        let function = TocEntry { definition: of(language), ..entry(2, "FUNCTION", "app", needs) };
        let runs = planned(&[own, function]).definitions;
        runs[1]
            .privileges
            .iter()
            .map(Privilege::of)
            .filter(|privilege| privilege.contains("LANGUAGE"))
            .collect::<Vec<_>>()
    };
    assert_eq!(lent("plpgsql", &[]), ["USAGE ON LANGUAGE \"plpgsql\""]);
    assert_eq!(lent("sql", &[]), ["USAGE ON LANGUAGE \"sql\""]);
    assert_eq!(lent("own", &[1]), ["USAGE ON LANGUAGE \"own\""]);
    assert_eq!(lent("an \"\"extension's", &[]), ["USAGE ON LANGUAGE \"an \"\"extension's\""]);
}
