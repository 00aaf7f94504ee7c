//! Holds the rule that plans are pure: a file named plan.rs, or below a folder named plan, knows nothing of the world.

use std::path::Path;

/// What a pure file must not mention, outside comments and tests.
const FORBIDDEN: [&str; 11] = [
    "async ",
    ".await",
    "Client",
    "Api<",
    "Store<",
    "tokio",
    "::now(",
    "env::",
    "std::fs",
    "RandomState::",
    "tracing::",
];

pub(crate) fn violations(root: &Path) -> Vec<String> {
    let mut violations = Vec::new();
    visit(root, &root.join("operators"), &mut violations);
    violations
}

fn visit(root: &Path, folder: &Path, violations: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            visit(root, &path, violations);
        } else if is_pure(&path) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            violations.extend(impurities(&text).map(|(line, word)| {
                format!(
                    "{name}:{line}: `{}` has no place in a plan; what it gives must come in through Observed",
                    word.trim()
                )
            }));
        }
    }
}

fn is_pure(path: &Path) -> bool {
    let source = path.extension().is_some_and(|extension| extension == "rs");
    source && (path.ends_with("plan.rs") || path.components().any(|part| part.as_os_str() == "plan"))
}

fn impurities(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")).flat_map(|(index, line)| {
        FORBIDDEN.into_iter().filter(|word| line.contains(word)).map(move |word| (index + 1, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_is_impure_and_leaves_comments_and_tests_alone() {
        let found = |text| impurities(text).map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(found("fn f() {\n    let t = Timestamp::now();\n}"), [2]);
        assert_eq!(found("// a Client of ours\nfn f() {}\n#[cfg(test)]\nuse tokio::test;"), [] as [usize; 0]);
    }

    #[test]
    fn knows_plan_files_by_their_path() {
        assert!(is_pure(Path::new("my-app/src/plan.rs")));
        assert!(is_pure(Path::new("my-app/src/plan/objects/service.rs")));
        assert!(!is_pure(Path::new("my-app/src/observe.rs")));
    }
}
