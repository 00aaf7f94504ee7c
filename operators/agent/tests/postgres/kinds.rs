//! Kinds of objects that are not made as most are: they come back from a snapshot and from an upgrade, or are named.

use crate::upgrade::Pair;

/// A dump of definitions has them until 16, and one of data since 17.
#[test]
#[ignore = "scripts/test --all servers"]
fn what_is_granted_of_large_objects_survives_an_upgrade() {
    for (from, to) in [("13", "15"), ("15", "17")] {
        let pair = Pair::new(&format!("large-grants-{from}"), from, to);
        let old = pair.old.serve();
        old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE reader");
        old.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
        let granted = "SET ROLE app; SELECT lo_from_bytea(70001, '\\x00ff'); GRANT SELECT ON LARGE OBJECT 70001 TO reader; \
                       COMMENT ON LARGE OBJECT 70001 IS 'why'; SELECT lo_create(70002); REVOKE ALL ON LARGE OBJECT 70002 FROM app";
        old.sql("app", granted);
        let all = "SELECT string_agg(concat_ws(' ', oid, lomowner::regrole, lomacl, lo_get(oid), obj_description(oid, 'pg_largeobject')), \
                   ', ' ORDER BY oid) FROM pg_largeobject_metadata";
        let before = old.sql("app", all);
        assert_eq!(before, "70001 app {app=rw/app,reader=r/app} \\x00ff why, 70002 app {} \\x");
        let new = pair.empty();
        pair.upgraded(&[]);
        assert_eq!(pair.opened(new).sql("app", all), before, "{from}");
    }
}
