//! `agent pg-run` and `agent pg-ready`: settings that a server does not start with.

use std::fs;

use crate::support::{Fixture, Server};

/// What PostgreSQL takes by ALTER SYSTEM, and does not start with.
const FATAL: [(&str, &str); 3] =
    [("shared_preload_libraries", "nothere"), ("huge_pages", "on"), ("max_prepared_transactions", "0")];

impl Fixture {
    /// The settings of a spec, in a file of their own, as the kubelet brings them.
    fn spec(&self, settings: &str) {
        self.write("conf/z.conf", settings);
    }

    /// The same, and another pod, whose init step has run.
    fn another_pod(&self, settings: &str) {
        self.spec(settings);
        self.prepared(&[]);
    }

    /// The probe succeeds; returns what is recorded afterward.
    fn probed(&self, server: &Server<'_>) -> serde_json::Value {
        self.is_ready("--reserve=0");
        self.recorded(server)
    }

    /// The record for the manager.
    fn recorded(&self, server: &Server<'_>) -> serde_json::Value {
        let sql = "SELECT pg_read_file(current_setting('data_directory') || '.attempt', 0, 200000, true)";
        serde_json::from_str(&server.sql("postgres", sql)).unwrap_or_default()
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn it_serves_on_with_the_settings_of_before() {
    let fixture = Fixture::new("proven");
    fixture.prepared(&["--initialise"]);
    fixture.spec("work_mem = '5MB'\nmax_prepared_transactions = '5'\n");
    let server = fixture.start();
    assert_eq!(fixture.recorded(&server)["fallenBack"], false);
    assert!(fixture.probed(&server).is_null(), "it serves with these");
    // Without which the last of the three starts.
    server.sql("postgres", "CREATE TABLE t (a int); BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'one'");
    server.stop();
    for (name, value) in FATAL {
        // Another pod, of which the first container does not come up; what was set over a connection goes with it.
        let new = format!("work_mem = '6MB'\n{name} = '{value}'\n");
        fixture.another_pod(&new);
        let output = fixture.does_not_start(&[]);
        assert!(output.contains("FATAL"), "{name}: {output}");
        fs::write(fixture.path("volume/data/postgresql.auto.conf"), format!("{name} = '{value}'\n")).unwrap();
        let server = fixture.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "5MB", "{name}");
        let recorded = fixture.recorded(&server);
        assert!(recorded["fallenBack"] == true && recorded["settings"].as_str().unwrap().ends_with(&new), "{recorded}");
        assert_eq!(fixture.probed(&server)["fallenBack"], true, "it did not start with them");
        // It is started with those that it served with, however often it crashes.
        drop(server);
        let server = fixture.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "5MB", "{name}");
        // Mended: it reads what is mounted from now on.
        fixture.spec("work_mem = '7MB'\nmax_prepared_transactions = '5'\n");
        assert!(fixture.probed(&server).is_null());
        server.sql("postgres", "SELECT pg_reload_conf()");
        let reads = "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%/z.conf'";
        assert_eq!(server.sql("postgres", reads), "2");
        server.stop();
        fixture.prepared(&[]);
        let server = fixture.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "7MB");
        assert_eq!(fixture.recorded(&server)["fallenBack"], false);
        server.stop();
        fixture.another_pod("work_mem = '5MB'\nmax_prepared_transactions = '5'\n");
        let server = fixture.start();
        assert!(fixture.probed(&server).is_null());
        server.stop();
    }
    assert_eq!(fixture.start().sql("postgres", "SELECT count(*) FROM pg_prepared_xacts"), "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_ends_it_once_it_has_begun_is_not_laid_to_its_settings() {
    let fixture = Fixture::new("innocent");
    fixture.prepared(&["--initialise"]);
    fixture.spec("work_mem = '5MB'\n");
    let server = fixture.start();
    fixture.is_ready("--reserve=0");
    server.stop();
    fixture.another_pod("work_mem = '6MB'\n");
    // Killed before the first probe, as by a node that goes; and once more while it recovers.
    for _ in 0..2 {
        drop(fixture.start());
    }
    let server = fixture.start();
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "6MB");
    assert!(fixture.probed(&server).is_null());
    // A data directory with which no settings work.
    drop(server);
    fixture.spec("work_mem = '7MB'\n");
    let control = fixture.path("volume/data/global/pg_control");
    let (complete, missing) = (fs::read(&control).unwrap(), fixture.path("volume/data/pg_xact"));
    fs::rename(&missing, fixture.path("volume/data/away")).unwrap();
    for _ in 0..3 {
        fixture.does_not_start(&[]);
    }
    fs::rename(fixture.path("volume/data/away"), &missing).unwrap();
    fs::write(&control, complete).unwrap();
    fixture.prepared(&[]);
    assert_eq!(fixture.start().sql("postgres", "SHOW work_mem"), "7MB");
}
