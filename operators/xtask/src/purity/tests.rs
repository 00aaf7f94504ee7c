//! Crates made up of texts.

use super::*;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let texts: BTreeMap<PathBuf, &str> = files.iter().map(|(path, text)| (Path::new("/r").join(path), *text)).collect();
    let read = |path: &Path| texts.get(path).map(|text| (*text).to_owned());
    let names = ["one", "shared-types"].map(str::to_owned);
    Workspace::read(Path::new("/r"), &names, &read).violations(Path::new("/r"))
}

#[test]
fn reports_what_is_impure_outside_of_comments_and_tests() {
    let found = |text| impurities(text).map(|(line, _)| line).collect::<Vec<_>>();
    assert_eq!(found("fn f() {\n    let t = Timestamp::now();\n}"), [2]);
    assert_eq!(found("fn f() {\n    known.unwrap_or_else(Timestamp::now)\n}"), [2]);
    assert_eq!(found("fn f(at: Instant) {\n    at.elapsed();\n}"), [2]);
    assert_eq!(found("use tokio::time::Instant;\nuse tokio::time::sleep;\nfn f() {\n    clock::random();\n}"), [2, 4]);
    assert_eq!(found("const KEY: &str = \"Client Key\";"), [] as [usize; 0]);
    assert_eq!(found("// a Client\nfn f() {}\n#[cfg(test)]\nuse tokio::test;"), [] as [usize; 0]);
    assert_eq!(found("fn f(_: &ClientError, _: ClientAccess) {}\nfn g(_: KubeClient) {}"), [2]);
    assert_eq!(found("use tokio_util::sync::CancellationToken;"), [1]);
}

#[test]
fn a_marked_file_is_checked_wherever_it_is_and_an_unmarked_one_only_if_it_is_a_plan() {
    let impure = "use tokio::sync::Notify;";
    let marked = format!("//! Pure: what to do.\n{impure}");
    let top = "mod decide; mod observe;";
    let violations = found(&[("one/src/lib.rs", top), ("one/src/decide.rs", &marked), ("one/src/observe.rs", impure)]);
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].starts_with("one/src/decide.rs:2: `tokio`"), "{violations:?}");
    let violations = found(&[("one/src/lib.rs", "mod plan;"), ("one/src/plan.rs", "//! What to do.")]);
    assert!(violations[0].starts_with("one/src/plan.rs: a plan is pure"), "{violations:?}");
}

#[test]
fn a_pure_file_imports_no_impure_one_not_even_through_a_re_export() {
    let top = ("one/src/lib.rs", "mod plan; mod observe; mod both; pub use observe::Observed;");
    let observe = ("one/src/observe.rs", "pub struct Observed; pub const LIMIT: u32 = 1;\npub type Name = u32;");
    let both = ("one/src/both.rs", "//! Pure: both.\npub fn both() {}");
    let of = |code: &str| found(&[top, observe, both, ("one/src/plan.rs", &format!("//! Pure: a plan.\n{code}"))]);
    for code in ["use crate::Observed;", "use super::observe::Observed;", "fn f(_: &crate::observe::Observed) {}"] {
        let violations = of(code);
        assert_eq!(violations.len(), 1, "{code}: {violations:?}");
        assert!(violations[0].contains("comes from one/src/observe.rs"), "{violations:?}");
    }
    assert_eq!(of("use crate::both::both;"), [] as [&str; 0]);
}

#[test]
fn constants_and_aliases_come_from_anywhere() {
    let observe = "pub const LIMIT: u32 = 1;\npub type Name = u32;\npub struct NameList;";
    let of = |item: &str| {
        let plan = format!("//! Pure: a plan.\nuse crate::observe::{item};");
        let top = "mod plan; mod observe;";
        found(&[("one/src/lib.rs", top), ("one/src/observe.rs", observe), ("one/src/plan.rs", &plan)]).len()
    };
    assert_eq!([of("LIMIT"), of("Name"), of("NameList")], [0, 0, 1]);
}

#[test]
fn imports_are_followed_into_other_crates() {
    let plan =
        "//! Pure: a plan.\nuse shared_types::cache::{Kept, Store};\nuse shared_types::cache;\nfn f(_: cache::Kept) {}";
    let cache = "mod kept; pub use kept::Kept; pub struct Store;";
    let of = |kept: &str, lib: &str| {
        let lib = format!("{lib}\npub mod cache;");
        found(&[
            ("one/src/lib.rs", "mod plan;"),
            ("one/src/plan.rs", plan),
            ("shared-types/src/lib.rs", &lib),
            ("shared-types/src/cache.rs", cache),
            ("shared-types/src/cache/kept.rs", kept),
        ])
    };
    let violations = of("//! Pure: kept.\npub struct Kept;", "//! Shared.");
    assert!(violations.iter().all(|violation| violation.contains("shared-types/src/cache.rs")), "{violations:?}");
    assert!(violations.iter().any(|violation| violation.contains("`shared_types::cache::Store`")), "{violations:?}");
    let violations = of("pub struct Kept;", "//! Shared.");
    assert!(violations.iter().any(|violation| violation.contains("comes from shared-types/src/cache/kept.rs")));
    assert_eq!(of("pub struct Kept;", "//! Pure: the whole crate."), [] as [&str; 0]);
}
