use super::*;

fn database(tables: &[(&str, u64)], extensions: &[&str]) -> DatabaseManifest {
    let table = |(name, rows): &(&str, u64)| TableManifest {
        schema: "s".into(),
        name: (*name).into(),
        rows: *rows,
        checksum: None,
    };
    let extension = |name: &&str| Extension { name: (*name).into(), version: "1".into() };
    DatabaseManifest {
        name: "d".into(),
        tables: tables.iter().map(table).collect(),
        extensions: extensions.iter().map(extension).collect(),
        ..DatabaseManifest::default()
    }
}

#[test]
fn differences_are_reported() {
    let expected = database(&[("a", 1), ("b", 2)], &["citext"]);
    assert_eq!(differences(&expected, &expected), None);
    let found = database(&[("a", 3), ("c", 2)], &[]);
    assert_eq!(
        differences(&expected, &found).unwrap(),
        "database d: s.a has 3 rows instead of 1, s.b is missing, s.c was not there, extension citext is missing"
    );
    let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|name| (name, 1));
    assert!(differences(&database(&many, &[]), &database(&[], &[])).unwrap().ends_with("and 4 more"));
    let large = DatabaseManifest { large_objects: 1, ..database(&[], &[]) };
    assert!(differences(&large, &database(&[], &[])).is_some());
}

/// 118 and 106: as many rows, and one that a superuser has changed meanwhile.
#[test]
fn other_values_in_as_many_rows_are_reported() {
    let with = |lines: &[&str]| {
        let mut of = database(&[("a", 2)], &[]);
        of.tables[0].checksum = Some(crate::postgres::backup::sums::tests::sum(lines).checksum);
        of
    };
    assert_eq!(differences(&with(&["100", "18"]), &with(&["18", "100"])), None);
    let message = differences(&with(&["100", "18"]), &with(&["100", "6"])).unwrap();
    assert_eq!(message, "database d: s.a has as many rows, but other values");
    // The manifest of an earlier agent has no sums.
    assert_eq!(differences(&database(&[("a", 2)], &[]), &with(&["x"])), None);
}

/// In another server, rows are in other partitions: all are compared together, whether a manifest lists each or the topmost
/// table.
#[test]
fn partitions_that_exchange_rows_are_compared_as_one() {
    let of = |tables: &[(&str, &[&str])]| {
        let mut of = database(&[], &[]);
        for (name, lines) in tables {
            let sum = crate::postgres::backup::sums::tests::sum(lines);
            of.tables.push(TableManifest {
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
        DatabaseManifest { moving: BTreeMap::from([top("one"), top("two")]), ..of(tables) }
    };
    let found = moved(&[("one", &["c"]), ("two", &["a", "b"]), ("apart", &["d"])]);
    assert_eq!(differences(&of(&[("one", &["a", "b"]), ("two", &["c"]), ("apart", &["d"])]), &found), None);
    assert_eq!(differences(&of(&[("all", &["a", "b", "c"]), ("apart", &["d"])]), &found), None);
    let message = |tables| differences(&of(tables), &found).unwrap();
    assert!(
        message(&[("one", &["a", "b"]), ("two", &[]), ("apart", &["d"])]).contains("s.all has 3 rows instead of 2")
    );
    assert!(
        message(&[("one", &["a"]), ("two", &["b", "x"]), ("apart", &["d"])])
            .contains("s.all has as many rows, but other")
    );
    assert!(message(&[("apart", &["d"])]).contains("s.all was not there"));
    // If rows cannot move, each has to be in its own partition.
    let fixed = of(&[("one", &["c"]), ("two", &["a", "b"])]);
    assert!(differences(&of(&[("one", &["a", "b"]), ("two", &["c"])]), &fixed).is_some());
}

#[test]
fn names_are_those_of_databases_that_hold_something() {
    let mut manifest = SnapshotManifest::new(SnapshotMethod::Logical, "15.18".into(), "7".into(), "postgres".into());
    let of = |name: &str, pristine| DatabaseManifest {
        name: name.into(),
        content: Some(DatabaseContent { pristine, ..DatabaseContent::default() }),
        ..DatabaseManifest::default()
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
    assert_ne!(manifest.names().last(), names.last(), "another database is reported although there is no space for it");
    manifest.databases = (0..40).map(|at| of(&format!("{}{at}", "\u{1}".repeat(60)), false)).collect();
    assert!(serde_json::to_string(&manifest.names()).unwrap().len() < 2000);
}

#[test]
fn a_planted_object_is_reported() {
    let with = |count| DatabaseManifest {
        content: Some(DatabaseContent {
            objects: Sum { count, checksum: count.to_string() },
            ..DatabaseContent::default()
        }),
        ..database(&[], &[])
    };
    assert_eq!(differences(&with(2), &with(2)), None);
    assert!(differences(&with(2), &with(3)).unwrap().contains("its objects or their owners differ (3 now, 2 then)"));
}

#[test]
fn the_object_that_differs_is_named() {
    let with = |names: &[&str]| DatabaseManifest {
        content: Some(DatabaseContent {
            objects: crate::postgres::backup::sums::tests::sum(names),
            names: names.iter().map(ToString::to_string).collect(),
            ..DatabaseContent::default()
        }),
        ..database(&[], &[])
    };
    let (a, b, c) =
        (r#"["relation r", "s", "a", "o"]"#, r#"["relation i", "s", "b", "o"]"#, r#"["policy", "s", "c", "o"]"#);
    assert_eq!(differences(&with(&[a, b]), &with(&[b, a])), None);
    let message = differences(&with(&[a, b]), &with(&[a, c])).unwrap();
    assert!(message.ends_with(&format!("(2 now, 2 then); {b} is missing; {c} was not there")), "{message}");
    // The manifest of an earlier agent has no names.
    assert!(differences(&with(&[]), &with(&[a])).unwrap().ends_with("(1 now, 0 then)"));
}

#[test]
fn another_owner_is_reported() {
    let of = |owner: &str| DatabaseManifest { owner: owner.into(), ..database(&[], &[]) };
    assert_eq!(differences(&of("app"), &of("app")), None);
    assert!(differences(&of("app"), &of("boss")).unwrap().contains(r#"it belongs to "boss" instead of "app""#));
}

#[test]
fn what_is_written_is_read() {
    let mut manifest = SnapshotManifest::new(SnapshotMethod::Logical, "15.18".into(), "7".into(), "postgres".into());
    manifest.databases.push(database(&[("a", 1), ("b", 2)], &[]));
    let file = |path: &str| FileEntry { path: path.into(), bytes: 3, sha256: "00".into() };
    manifest.files.push(file("a/b"));
    let text = serde_json::to_vec(&manifest).unwrap();
    assert_eq!(SnapshotManifest::parse(&text), Ok(manifest.clone()));
    assert_eq!((manifest.bytes(), manifest.tables(), manifest.rows()), (3, 2, 3));
    for path in ["/etc/passwd", "a/../../b"] {
        let wrong = SnapshotManifest { files: vec![file(path)], ..manifest.clone() };
        assert!(SnapshotManifest::parse(&serde_json::to_vec(&wrong).unwrap()).unwrap_err().contains(path));
    }
    let newer = SnapshotManifest { format: 2, ..manifest };
    assert!(SnapshotManifest::parse(&serde_json::to_vec(&newer).unwrap()).unwrap_err().contains("format 2"));
    assert!(SnapshotManifest::parse(b"{").is_err());
}
