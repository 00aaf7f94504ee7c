//! Which modules of a crate must not import which others.

use super::resolve::Crate;

/// A module at the top of a crate; it and the modules below it import none of `not` and of the modules below those.
struct Layer {
    /// The crate, by its directory; none for all crates.
    of: Option<&'static str>,
    module: &'static str,
    not: &'static [&'static str],
}

const LAYERS: [Layer; 4] = [
    // The kinds SampleDB and SampleDBSnapshot depend on each other only by what both share.
    Layer { of: Some("sample-db"), module: "database", not: &["snapshot"] },
    Layer { of: Some("sample-db"), module: "snapshot", not: &["database"] },
    Layer { of: Some("sample-db"), module: "operand", not: &["database", "snapshot"] },
    // A status reports what was planned.
    Layer { of: None, module: "plan", not: &["status"] },
];

/// A complaint for each import against the layers of the crate with that name.
pub(super) fn violations(name: &str, all: &Crate) -> Vec<String> {
    let layers = LAYERS.iter().filter(|layer| layer.of.is_none_or(|of| of == name));
    let between = layers.flat_map(|layer| layer.not.iter().map(|not| (layer.module, *not)));
    let complaints = |(from, to)| {
        all.imports(from, to).into_iter().map(move |import| format!("{from} must not import {to}: {import}"))
    };
    between.flat_map(complaints).collect()
}
