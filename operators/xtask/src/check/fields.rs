//! The rules of the community's pipeline for single fields of a CSV.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use semver::Version;
use serde_json::Value;

use crate::bundle::text;

/// Whether a value is valid.
pub(crate) type Rule = fn(&Value) -> bool;

/// Fields of a CSV, by JSON pointer. Those for which upstream only warns are errors here too.
pub(crate) const REQUIRED: [(&str, Rule); 16] = [
    ("/metadata/annotations/capabilities", |value| CAPABILITIES.contains(&plain(value))),
    ("/metadata/annotations/categories", categories),
    ("/metadata/annotations/containerImage", container_image),
    ("/metadata/annotations/createdAt", |value| plain(value).parse::<Timestamp>().is_ok()),
    ("/metadata/annotations/repository", is_url),
    ("/metadata/annotations/support", |value| plain(value).chars().count() >= 3),
    ("/metadata/annotations/description", |value| plain(value).chars().count() >= 10),
    ("/spec/displayName", |value| (3..=50).contains(&plain(value).chars().count())),
    ("/spec/description", |value| plain(value).chars().count() >= 20),
    ("/spec/icon", icon),
    ("/spec/version", |value| Version::parse(plain(value)).is_ok()),
    ("/spec/maintainers", |value| {
        each(value, |one| !text(one, "/name").is_empty() && text(one, "/email").contains('@'))
    }),
    ("/spec/provider/name", |value| plain(value).chars().count() >= 3),
    ("/spec/links", |value| each(value, |one| !text(one, "/name").is_empty() && is_url(&one["url"]))),
    ("/spec/keywords", |value| each(value, Value::is_string)),
    ("/spec/minKubeVersion", |value| Version::parse(plain(value)).is_ok()),
];

const CAPABILITIES: [&str; 5] = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
/// The categories that the pipeline and the operator-framework both know.
const CATEGORIES: [&str; 15] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Developer Tools",
    "Database",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
];
const IMAGES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether it is a list of at least one value, all of which are valid.
fn each(value: &Value, rule: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(rule))
}

fn is_url(value: &Value) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| plain(value).strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty())
}

fn categories(value: &Value) -> bool {
    plain(value).split(',').all(|one| CATEGORIES.contains(&one.trim()))
}

/// A registry or path, a name, and a tag or digest.
fn container_image(value: &Value) -> bool {
    let Some((directory, name)) = plain(value).rsplit_once('/') else { return false };
    let named = name.split_once(':').is_some_and(|(name, tag)| !name.is_empty() && !tag.is_empty());
    !directory.is_empty() && named
}

fn icon(value: &Value) -> bool {
    let data = |icon: &Value| BASE64_STANDARD.decode(text(icon, "/base64data").replace(char::is_whitespace, ""));
    value.as_array().is_some_and(|icons| icons.len() == 1)
        && each(value, |icon| {
            data(icon).is_ok_and(|data| data.len() >= 3) && IMAGES.contains(&text(icon, "/mediatype"))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken(pointer: &str, value: Value) -> bool {
        let (_, rule) = REQUIRED.iter().find(|(known, _)| *known == pointer).unwrap();
        rule(&value)
    }

    #[test]
    fn valid_values_are_accepted_and_invalid_ones_are_not() {
        let long = "x".repeat(51);
        let cases = [
            ("/metadata/annotations/capabilities", json!("Basic Install"), json!("Full")),
            ("/metadata/annotations/categories", json!("Database, Storage"), json!("Databases")),
            ("/metadata/annotations/containerImage", json!("r.example.com/p:1"), json!("r.example.com/p")),
            ("/metadata/annotations/createdAt", json!("2026-01-31T00:00:00Z"), json!("yesterday")),
            ("/metadata/annotations/repository", json!("https://p.example.com"), json!("p.example.com")),
            ("/metadata/annotations/support", json!("We do"), json!("")),
            ("/metadata/annotations/description", json!("long enough"), json!("short")),
            ("/spec/displayName", json!("P Q"), json!(long)),
            ("/spec/description", json!("long enough to be useful"), json!("short")),
            ("/spec/version", json!("1.2.3"), json!("1.2")),
            ("/spec/minKubeVersion", json!("1.33.0"), json!("1.33")),
            ("/spec/provider/name", json!("P and Q"), json!("P")),
            ("/spec/keywords", json!(["a"]), json!([])),
            ("/spec/links", json!([{"name": "a", "url": "https://a"}]), json!([{"name": "a", "url": "a"}])),
            ("/spec/maintainers", json!([{"name": "a", "email": "a@b"}]), json!([{"name": "a"}])),
            (
                "/spec/icon",
                json!([{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}]),
                json!([{"base64data": "!", "mediatype": "image/svg+xml"}]),
            ),
        ];
        assert_eq!(cases.len(), REQUIRED.len());
        for (pointer, good, bad) in cases {
            assert!(taken(pointer, good), "{pointer}");
            assert!(!taken(pointer, bad), "{pointer}");
        }
    }
}
