//! Single stories, most of them found by the random ones.

use serde_json::{Value, json};

use crate::bench::Bench;

/// Lets it come to rest.
pub fn settle(bench: &mut Bench) {
    if let Err(why) = bench.settle() {
        panic!("{why}\n{}", bench.story());
    }
}

/// A database of that spec at rest.
pub fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

/// A spec with initial SQL.
pub fn usual() -> Value {
    json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } })
}

#[test]
fn a_database_comes_up() {
    let bench = settled(&usual());
    assert!(bench.site.acked["shop"].len() > 3, "{}", bench.story());
}
