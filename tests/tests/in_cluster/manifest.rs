//! Manifests, as users write them.

/// A MyApp with that spec, in YAML's short form.
pub fn my_app(name: &str, spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: MyApp\nmetadata:\n  name: {name}\nspec: {spec}\n")
}

/// A Sample with that string.
pub fn sample(name: &str, string: &str) -> String {
    format!("apiVersion: example.com/v1alpha1\nkind: Sample\nmetadata:\n  name: {name}\ntestString: {string:?}\n")
}
