//! Crates made up of texts.

use super::*;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let read = |path: &Path| files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| (*text).to_owned());
    repeated(Path::new(""), &["one", "two"].map(str::to_owned), &read)
}

/// The complaints about one crate with `first` and another with `second`.
fn between(first: &str, second: &str) -> usize {
    found(&[("operators/one/src/lib.rs", first), ("operators/two/src/main.rs", second)]).len()
}

#[test]
fn a_name_of_two_types_is_reported_with_their_files() {
    let files = [
        ("operators/one/src/lib.rs", "mod plan; pub enum Step {}"),
        ("operators/one/src/plan.rs", "pub(super) struct Step;"),
        ("operators/two/src/main.rs", "pub(crate) trait Other {}"),
    ];
    let complaints = found(&files);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    let start = "several types are called Step: operators/one/src/lib.rs, operators/one/src/plan.rs;";
    assert!(complaints[0].starts_with(start), "{complaints:?}");
}

#[test]
fn every_kind_of_type_counts_if_other_files_see_it() {
    for item in
        ["pub struct It;", "pub(crate) enum It {}", "pub trait It {}", "pub type It = u8;", "mod a { pub struct It; }"]
    {
        assert_eq!(between("pub struct It;", item), 1, "{item}");
    }
    for item in
        ["struct It;", "pub fn It() {}", "impl A for B { type It = u8; }", "pub trait A { type It; }", "pub use a::It;"]
    {
        assert_eq!(between("pub struct It;", item), 0, "{item}");
    }
}

#[test]
fn types_of_tests_and_those_that_are_meant_to_be_shared_do_not_count() {
    assert_eq!(between("pub struct It;", "#[cfg(test)] pub struct It;"), 0);
    assert_eq!(between("pub struct It;", "#[cfg(test)] mod tests { pub struct It; }"), 0);
    assert_eq!(between("pub struct Observed;", "pub struct Observed;"), 0);
}
