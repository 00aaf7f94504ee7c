//! Public manifests of stateless applications, rewritten as MyApps (docs/migrating-to-my-app.md): what is rendered from each file of
//! tests/public has the facts of its original, except for the differences that the file names.
//!
//! The originals are the work of others and are not part of this repository. A file has a fingerprint of its original's facts, named
//! differences excluded, and the rendered children must have the same. `PUBLIC_MANIFESTS` may name a directory with the originals under
//! the names of the files: the test then reports each difference, and each named difference that does not exist. `WRITE_FACTS=1` also
//! writes the fingerprints again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runtime::names::fnv1a;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::facts::{Facts, facts};

mod container;
mod facts;
#[path = "../rendered/mod.rs"]
mod rendered;

/// The origin of a file, from the comment at its top.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    source: String,
    commit: String,
    files: Vec<String>,
    license: String,
    objects: String,
    /// Objects of the original that stay as they are.
    #[serde(default)]
    unchanged: Vec<String>,
    /// What is other than in the original, by the path of the fact, with the reason.
    #[serde(default)]
    differs: BTreeMap<String, String>,
    facts: Option<String>,
}

impl Origin {
    fn is_named(&self, fact: &str) -> bool {
        self.differs.keys().any(|named| below(fact, named))
    }

    fn fingerprint(&self, facts: &Facts) -> String {
        let rest: Facts =
            facts.iter().filter(|(fact, _)| !self.is_named(fact)).map(|(k, v)| (k.clone(), v.clone())).collect();
        format!("{:016x}", fnv1a(&json!(rest).to_string()))
    }
}

fn below(fact: &str, path: &str) -> bool {
    fact.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Rewritten {
    path: PathBuf,
    origin: Origin,
    object: Value,
}

fn files() -> Vec<Rewritten> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/public");
    let entries = std::fs::read_dir(&folder).expect("the directory of public manifests");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Rewritten {
    let text = std::fs::read_to_string(&path).expect("a public manifest");
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    let origin = serde_yaml_ng::from_str(&comment.join("\n"));
    let origin = origin.unwrap_or_else(|error| panic!("{}: the comment at its top: {error}", path.display()));
    let object = serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Rewritten { path, origin, object }
}

/// The desired children of a MyApp that has none.
fn rendered(object: &Value) -> Vec<Value> {
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!("n");
    object["metadata"]["uid"] = json!("u");
    object["metadata"]["generation"] = json!(1);
    let mut children: BTreeMap<String, Value> = BTreeMap::new();
    for child in rendered::children(&object) {
        children.insert(child["kind"].to_string(), child);
    }
    children.into_values().collect()
}

#[test]
fn each_file_decodes_without_unknown_fields() {
    for file in files() {
        let spec = &file.object["spec"];
        let decoded: api::my_app::MyAppSpec =
            serde_json::from_value(spec.clone()).unwrap_or_else(|error| panic!("{}: {error}", file.path.display()));
        // Unknown fields are not in the result.
        assert_eq!(&json!(decoded), spec, "{}", file.path.display());
        assert_eq!((&file.object["apiVersion"], &file.object["kind"]), (&json!("example.com/v1"), &json!("MyApp")));
    }
}

#[test]
fn each_file_names_its_origin() {
    let files = files();
    assert_eq!(files.len(), 27, "as docs/migrating-to-my-app.md counts them");
    for Rewritten { path, origin, .. } in files {
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(origin.source.starts_with("https://github.com/") && origin.commit.len() == 40, "{name}");
        assert!(!origin.files.is_empty() && origin.objects.starts_with("Deployment "), "{name}");
        assert!(["Apache-2.0", "MIT", "CC-BY-4.0"].contains(&&*origin.license), "{name}: {}", origin.license);
        assert!(origin.unchanged.iter().chain(origin.differs.values()).all(|text| !text.is_empty()), "{name}");
    }
}

#[test]
fn each_file_renders_the_facts_of_its_original() {
    let wrong: Vec<String> = files().iter().filter_map(compared).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with a file, if anything is.
fn compared(file: &Rewritten) -> Option<String> {
    let name = file.path.file_name().expect("a name").to_string_lossy();
    let now = facts(&rendered(&file.object));
    if let Some(folder) = std::env::var_os("PUBLIC_MANIFESTS") {
        let original = std::fs::read_to_string(Path::new(&folder).join(&*name)).expect("the original");
        let objects = serde_yaml_ng::Deserializer::from_str(&original);
        let objects: Vec<Value> = objects.map(|object| Value::deserialize(object).expect("an object")).collect();
        let original = facts(&objects);
        if std::env::var_os("WRITE_FACTS").is_some() {
            write(file, &file.origin.fingerprint(&original));
        }
        let unnamed = differences(&file.origin, &original, &now);
        return (!unnamed.is_empty()).then(|| format!("{name}:\n  {}", unnamed.join("\n  ")));
    }
    let (has, wants) = (file.origin.fingerprint(&now), file.origin.facts.as_deref().unwrap_or("none"));
    (has != wants).then(|| {
        let facts = serde_json::to_string_pretty(&now).expect("JSON");
        format!("{name} differs from its original: {has}, not {wants}, of {facts}")
    })
}

fn differences(origin: &Origin, original: &Facts, now: &Facts) -> Vec<String> {
    let all: BTreeMap<&String, ()> = original.keys().chain(now.keys()).map(|fact| (fact, ())).collect();
    let differ: Vec<&String> = all.into_keys().filter(|fact| original.get(*fact) != now.get(*fact)).collect();
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let unnamed = differ.iter().filter(|fact| !origin.is_named(fact));
    let unnamed = unnamed.map(|fact| format!("{fact}: {} became {}", show(original.get(*fact)), show(now.get(*fact))));
    let none = origin.differs.keys().filter(|named| !differ.iter().any(|fact| below(fact, named)));
    unnamed.chain(none.map(|named| format!("{named} does not differ"))).collect()
}

/// Puts a fingerprint at the end of the comment at the top of a file.
fn write(file: &Rewritten, fingerprint: &str) {
    let text = std::fs::read_to_string(&file.path).expect("a public manifest");
    let (comment, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("# "));
    let comment = comment.into_iter().filter(|line| !line.starts_with("# facts: ")).map(ToOwned::to_owned);
    let lines: Vec<String> =
        comment.chain([format!("# facts: '{fingerprint}'")]).chain(rest.into_iter().map(ToOwned::to_owned)).collect();
    std::fs::write(&file.path, lines.join("\n") + "\n").expect("the file can be written");
}
