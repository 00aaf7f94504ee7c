//! Small crates, and which of their files import each other.

use super::*;

/// The cycles of a crate of these files, which are given by their paths.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    crate_of(files).cycles()
}

fn crate_of(files: &[(&str, &str)]) -> Crate {
    let text = |path: &Path| files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| (*text).to_owned());
    Crate::read(Path::new("lib.rs"), &text).unwrap()
}

#[track_caller]
fn is_cyclic(files: &[(&str, &str)], edges: &[&str]) {
    let found = cycles_of(files);
    let [cycle] = &found[..] else { panic!("one cycle, not {found:?}") };
    assert_eq!(cycle.lines().skip(1).map(str::trim).collect::<Vec<_>>(), edges);
}

#[track_caller]
fn is_acyclic(files: &[(&str, &str)]) {
    assert_eq!(cycles_of(files), [] as [String; 0]);
}

#[test]
fn a_cycle_through_a_re_export_is_found() {
    is_cyclic(
        &[
            ("lib.rs", "mod one; mod two; pub use one::One;"),
            ("one.rs", "use crate::two::Two; pub struct One(Two);"),
            ("two.rs", "pub struct Two; fn two(_: &crate::One) {}"),
        ],
        &["one.rs -> two.rs (crate::two::Two)", "two.rs -> one.rs (crate::One)"],
    );
}

#[test]
fn a_parent_that_only_re_exports_is_no_part_of_one() {
    let (one, two) = (("one.rs", "pub struct One;"), ("two.rs", "pub struct Two(super::One);"));
    is_acyclic(&[("lib.rs", "mod one; mod two; pub use one::One; pub use two::Two;"), one, two]);
    is_acyclic(&[("lib.rs", "mod one; mod two; pub use one::*; pub use two::*;"), one, two]);
    let all = ("two.rs", "use super::*; pub struct Two(One);");
    is_cyclic(
        &[("lib.rs", "mod one; mod two; pub use one::One; pub use two::Two;"), one, all],
        &["lib.rs -> two.rs (two::Two)", "two.rs -> lib.rs (super)"],
    );
}

#[test]
fn what_only_tests_import_does_not_count() {
    for condition in ["test", "feature = \"testing\"", "any(test, feature = \"testing\")", "all(unix, test)"] {
        let only = |item: &str| format!("pub struct One; #[cfg({condition})] {item}");
        for item in ["use crate::Top;", "mod tests { use crate::Top; }", "fn it() { crate::Top; }"] {
            is_acyclic(&[("lib.rs", "mod one; pub struct Top(one::One);"), ("one.rs", &only(item))]);
        }
    }
    for condition in ["not(test)", "any(unix, test)", "feature = \"more\""] {
        let always = format!("pub struct One; #[cfg({condition})] use crate::Top;");
        let edges = ["lib.rs -> one.rs (one::One)", "one.rs -> lib.rs (crate::Top)"];
        is_cyclic(&[("lib.rs", "mod one; pub struct Top(one::One);"), ("one.rs", &always)], &edges);
    }
}

#[test]
fn super_leads_up_as_often_as_it_stands_there() {
    is_cyclic(
        &[
            ("lib.rs", "mod one; pub struct Top(one::two::Two);"),
            ("one.rs", "pub mod two;"),
            ("one/two.rs", "pub struct Two; fn two(_: super::super::Top) {}"),
        ],
        &["lib.rs -> one/two.rs (one::two::Two)", "one/two.rs -> lib.rs (super::super::Top)"],
    );
    let inline = "pub struct One; mod within { use super::One; fn one(_: super::super::Top) {} }";
    is_cyclic(
        &[("lib.rs", "mod one; pub struct Top(one::One);"), ("one.rs", inline)],
        &["lib.rs -> one.rs (one::One)", "one.rs -> lib.rs (self::super::Top)"],
    );
}

#[test]
fn macros_attributes_and_functions_import_too() {
    for code in [
        "fn f() { format!(\"{}\", crate::TOP); }",
        "#[derive(Default)] pub struct Part { #[serde(default = \"super::TOP\")] field: u8 }",
        "fn f() { use crate::TOP; }",
    ] {
        let found = cycles_of(&[("lib.rs", "mod one; use one::*; const TOP: u8 = 1;"), ("one/mod.rs", code)]);
        assert_eq!(found.len(), 1, "{code}");
    }
    is_acyclic(&[
        ("lib.rs", "mod one; use one::*; const TOP: u8 = 1;"),
        ("one/mod.rs", "pub(in crate::one) fn f() {}"),
    ]);
}

#[test]
fn names_of_other_crates_lead_nowhere() {
    is_acyclic(&[
        ("lib.rs", "mod one; use one::One; pub struct Top;"),
        ("one.rs", "use std::fmt; use serde::Top; pub struct One(fmt::Top, ::one::Top);"),
    ]);
}

#[test]
fn a_file_that_is_missing_or_no_rust_is_told() {
    let read = |text: &'static str| {
        Crate::read(Path::new("lib.rs"), &move |path| (path == Path::new("lib.rs")).then(|| text.to_owned())).err()
    };
    assert!(read("mod one;").is_some_and(|why| why.contains("one")));
    assert!(read("fn (").is_some_and(|why| why.starts_with("lib.rs: ")));
    assert_eq!(read("fn one() {}"), None);
}

#[test]
fn imports_against_the_layers_of_a_crate_are_found() {
    let files = [
        ("lib.rs", "pub mod database; pub mod operand; pub mod snapshot; pub use snapshot::Snapshot;"),
        ("database.rs", "mod backup;"),
        ("database/backup.rs", "fn backup(_: &crate::Snapshot, _: &crate::operand::Name) {}"),
        ("snapshot.rs", "pub struct Snapshot(super::operand::Name);"),
        ("operand.rs", "pub struct Name;"),
    ];
    let all = crate_of(&files);
    let found = "database must not import snapshot: database/backup.rs -> snapshot.rs (crate::Snapshot)";
    assert_eq!(layers::violations("sample-db", &all), [found]);
    assert!(layers::violations("sample", &all).is_empty(), "these are layers of another crate");
}

#[test]
fn a_plan_that_imports_status_is_found_in_any_crate() {
    let files = [
        ("lib.rs", "mod plan; mod status;"),
        ("plan.rs", "use crate::status::Status; fn plan(_: Status) {}"),
        ("status.rs", "pub struct Status;"),
    ];
    let found = layers::violations("sample", &crate_of(&files));
    assert_eq!(found, ["plan must not import status: plan.rs -> status.rs (crate::status::Status)"]);
}
