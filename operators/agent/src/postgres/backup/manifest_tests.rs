use super::*;

fn database(tables: &[(&str, u64)], extensions: &[&str]) -> Database {
    let table =
        |(name, rows): &(&str, u64)| Table { schema: "s".into(), name: (*name).into(), rows: *rows, checksum: None };
    let extension = |name: &&str| Extension { name: (*name).into(), version: "1".into() };
    Database {
        name: "d".into(),
        tables: tables.iter().map(table).collect(),
        extensions: extensions.iter().map(extension).collect(),
        ..Database::default()
    }
}

#[test]
fn what_differs_is_told() {
    let expected = database(&[("a", 1), ("b", 2)], &["citext"]);
    assert_eq!(differences(&expected, &expected), None);
    let found = database(&[("a", 3), ("c", 2)], &[]);
    assert_eq!(
        differences(&expected, &found).unwrap(),
        "database d: s.a has 3 rows instead of 1, s.b is missing, s.c was not there, extension citext is missing"
    );
    let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|name| (name, 1));
    assert!(differences(&database(&many, &[]), &database(&[], &[])).unwrap().ends_with("and 4 more"));
    let large = Database { large_objects: 1, ..database(&[], &[]) };
    assert!(differences(&large, &database(&[], &[])).is_some());
}

/// 118 and 106: as many rows, and one that a superuser has changed meanwhile.
#[test]
fn other_values_in_as_many_rows_are_told() {
    let with = |lines: &[&str]| {
        let mut of = database(&[("a", 2)], &[]);
        of.tables[0].checksum = Some(crate::postgres::backup::sums::tests::sum(lines).checksum);
        of
    };
    assert_eq!(differences(&with(&["100", "18"]), &with(&["18", "100"])), None);
    let told = differences(&with(&["100", "18"]), &with(&["100", "6"])).unwrap();
    assert_eq!(told, "database d: s.a has as many rows, but other values");
    // A manifest of before has no sums.
    assert_eq!(differences(&database(&[("a", 2)], &[]), &with(&["x"])), None);
}

/// Rows are other partitions' in another server: what all have together is compared, be it told of each or of the table at the top.
#[test]
fn partitions_that_exchange_rows_are_compared_as_one() {
    let of = |tables: &[(&str, &[&str])]| {
        let mut of = database(&[], &[]);
        for (name, lines) in tables {
            let sum = crate::postgres::backup::sums::tests::sum(lines);
            of.tables.push(Table {
                schema: "s".into(),
                name: (*name).into(),
                rows: sum.count,
                checksum: Some(sum.checksum),
            });
        }
        of
    };
    let moved = |tables: &[(&str, &[&str])]| {
        let top = |name: &str| (("s".to_owned(), name.to_owned()), ("s".to_owned(), "all".to_owned()));
        Database { moving: BTreeMap::from([top("one"), top("two")]), ..of(tables) }
    };
    let found = moved(&[("one", &["c"]), ("two", &["a", "b"]), ("apart", &["d"])]);
    assert_eq!(differences(&of(&[("one", &["a", "b"]), ("two", &["c"]), ("apart", &["d"])]), &found), None);
    assert_eq!(differences(&of(&[("all", &["a", "b", "c"]), ("apart", &["d"])]), &found), None);
    let told = |tables| differences(&of(tables), &found).unwrap();
    assert!(told(&[("one", &["a", "b"]), ("two", &[]), ("apart", &["d"])]).contains("s.all has 3 rows instead of 2"));
    assert!(
        told(&[("one", &["a"]), ("two", &["b", "x"]), ("apart", &["d"])]).contains("s.all has as many rows, but other")
    );
    assert!(told(&[("apart", &["d"])]).contains("s.all was not there"));
    // Where each row has a place, each has to be there.
    let fixed = of(&[("one", &["c"]), ("two", &["a", "b"])]);
    assert!(differences(&of(&[("one", &["a", "b"]), ("two", &["c"])]), &fixed).is_some());
}

#[test]
fn names_are_those_of_databases_that_hold_something() {
    let mut manifest = Manifest::new(Kind::Logical, "15.18".into(), "7".into(), "postgres".into());
    let of = |name: &str, pristine| Database {
        name: name.into(),
        content: Some(Content { pristine, ..Content::default() }),
        ..Database::default()
    };
    manifest.databases = vec![of("app", true), of("postgres", true), of("template1", false)];
    assert_eq!(manifest.names(), ["app", "template1"]);
    manifest.databases = (0..500).map(|at| of(&format!("database-{at}"), false)).collect();
    let names = manifest.names();
    assert!(names.last().unwrap().starts_with("..."));
    assert!(serde_json::to_string(&names).unwrap().len() < 2000);
    manifest.databases.reverse();
    assert_eq!(manifest.names(), names, "in whatever order");
    manifest.databases[0] = of("database-x", false);
    assert_ne!(manifest.names().last(), names.last(), "another database is told although there is no room for it");
    manifest.databases = (0..40).map(|at| of(&format!("{}{at}", "\u{1}".repeat(60)), false)).collect();
    assert!(serde_json::to_string(&manifest.names()).unwrap().len() < 2000);
}

#[test]
fn a_planted_object_is_told() {
    let with = |count| Database {
        content: Some(Content { objects: Sum { count, checksum: count.to_string() }, ..Content::default() }),
        ..database(&[], &[])
    };
    assert_eq!(differences(&with(2), &with(2)), None);
    assert!(differences(&with(2), &with(3)).unwrap().contains("its objects or their owners differ (3 now, 2 then)"));
}

#[test]
fn the_object_that_differs_is_named() {
    let with = |names: &[&str]| Database {
        content: Some(Content {
            objects: crate::postgres::backup::sums::tests::sum(names),
            names: names.iter().map(ToString::to_string).collect(),
            ..Content::default()
        }),
        ..database(&[], &[])
    };
    let (a, b, c) =
        (r#"["relation r", "s", "a", "o"]"#, r#"["relation i", "s", "b", "o"]"#, r#"["policy", "s", "c", "o"]"#);
    assert_eq!(differences(&with(&[a, b]), &with(&[b, a])), None);
    let told = differences(&with(&[a, b]), &with(&[a, c])).unwrap();
    assert!(told.ends_with(&format!("(2 now, 2 then); {b} is missing; {c} was not there")), "{told}");
    // A manifest of before names none.
    assert!(differences(&with(&[]), &with(&[a])).unwrap().ends_with("(1 now, 0 then)"));
}

#[test]
fn another_owner_is_told() {
    let of = |owner: &str| Database { owner: owner.into(), ..database(&[], &[]) };
    assert_eq!(differences(&of("app"), &of("app")), None);
    assert!(differences(&of("app"), &of("boss")).unwrap().contains(r#"it belongs to "boss" instead of "app""#));
}

#[test]
fn what_is_written_is_read() {
    let mut manifest = Manifest::new(Kind::Logical, "15.18".into(), "7".into(), "postgres".into());
    manifest.databases.push(database(&[("a", 1), ("b", 2)], &[]));
    let file = |path: &str| FileEntry { path: path.into(), bytes: 3, sha256: "00".into() };
    manifest.files.push(file("a/b"));
    let text = serde_json::to_vec(&manifest).unwrap();
    assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
    assert_eq!((manifest.bytes(), manifest.tables(), manifest.rows()), (3, 2, 3));
    for path in ["/etc/passwd", "a/../../b"] {
        let wrong = Manifest { files: vec![file(path)], ..manifest.clone() };
        assert!(Manifest::parse(&serde_json::to_vec(&wrong).unwrap()).unwrap_err().contains(path));
    }
    let newer = Manifest { format: 2, ..manifest };
    assert!(Manifest::parse(&serde_json::to_vec(&newer).unwrap()).unwrap_err().contains("format 2"));
    assert!(Manifest::parse(b"{").is_err());
}
