//! `agent pg-run` and `agent pg-ready`: settings that a server does not start with.

use std::fs;

use crate::support::{Place, Server};

/// What PostgreSQL takes by ALTER SYSTEM, and does not start with.
const FATAL: [(&str, &str); 3] =
    [("shared_preload_libraries", "nothere"), ("huge_pages", "on"), ("max_prepared_transactions", "0")];

impl Place {
    /// The settings of a spec, in a file of their own, as the kubelet brings them.
    fn spec(&self, settings: &str) {
        self.write("conf/z.conf", settings);
    }

    /// The same, and another pod, whose init step has run.
    fn another_pod(&self, settings: &str) {
        self.spec(settings);
        self.prepared(&[]);
    }

    /// The probe finds that it serves; what is noted afterwards.
    fn probed(&self, server: &Server<'_>) -> serde_json::Value {
        self.is_ready("--reserve=0");
        self.noted(server)
    }

    /// The note for the manager.
    fn noted(&self, server: &Server<'_>) -> serde_json::Value {
        let sql = "SELECT pg_read_file(current_setting('data_directory') || '.attempt', 0, 200000, true)";
        serde_json::from_str(&server.sql("postgres", sql)).unwrap_or_default()
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn it_serves_on_with_the_settings_of_before() {
    let place = Place::new("proven");
    place.prepared(&["--initialise"]);
    place.spec("work_mem = '5MB'\nmax_prepared_transactions = '5'\n");
    let server = place.start();
    assert_eq!(place.noted(&server)["fallenBack"], false);
    assert!(place.probed(&server).is_null(), "it serves with these");
    // Without which the last of the three starts.
    server.sql("postgres", "CREATE TABLE t (a int); BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'one'");
    server.stop();
    for (name, value) in FATAL {
        // Another pod, of which the first container does not come up; what was set over a connection goes with it.
        let new = format!("work_mem = '6MB'\n{name} = '{value}'\n");
        place.another_pod(&new);
        let said = place.does_not_start(&[]);
        assert!(said.contains("FATAL"), "{name}: {said}");
        fs::write(place.path("volume/data/postgresql.auto.conf"), format!("{name} = '{value}'\n")).unwrap();
        let server = place.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "5MB", "{name}");
        let noted = place.noted(&server);
        assert!(noted["fallenBack"] == true && noted["settings"].as_str().unwrap().ends_with(&new), "{noted}");
        assert_eq!(place.probed(&server)["fallenBack"], true, "it did not start with them");
        // It is started with those that it served with, however often it crashes.
        drop(server);
        let server = place.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "5MB", "{name}");
        // Mended: it reads what is mounted from now on.
        place.spec("work_mem = '7MB'\nmax_prepared_transactions = '5'\n");
        assert!(place.probed(&server).is_null());
        server.sql("postgres", "SELECT pg_reload_conf()");
        let reads = "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%/z.conf'";
        assert_eq!(server.sql("postgres", reads), "2");
        server.stop();
        place.prepared(&[]);
        let server = place.start();
        assert_eq!(server.sql("postgres", "SHOW work_mem"), "7MB");
        assert_eq!(place.noted(&server)["fallenBack"], false);
        server.stop();
        place.another_pod("work_mem = '5MB'\nmax_prepared_transactions = '5'\n");
        let server = place.start();
        assert!(place.probed(&server).is_null());
        server.stop();
    }
    assert_eq!(place.start().sql("postgres", "SELECT count(*) FROM pg_prepared_xacts"), "1");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_ends_it_once_it_has_begun_is_not_laid_to_its_settings() {
    let place = Place::new("innocent");
    place.prepared(&["--initialise"]);
    place.spec("work_mem = '5MB'\n");
    let server = place.start();
    place.is_ready("--reserve=0");
    server.stop();
    place.another_pod("work_mem = '6MB'\n");
    // Killed before the first probe, as by a node that goes; and once more while it recovers.
    for _ in 0..2 {
        drop(place.start());
    }
    let server = place.start();
    assert_eq!(server.sql("postgres", "SHOW work_mem"), "6MB");
    assert!(place.probed(&server).is_null());
    // A data folder that cannot be served with any settings.
    drop(server);
    place.spec("work_mem = '7MB'\n");
    let control = place.path("volume/data/global/pg_control");
    let (whole, gone) = (fs::read(&control).unwrap(), place.path("volume/data/pg_xact"));
    fs::rename(&gone, place.path("volume/data/away")).unwrap();
    for _ in 0..3 {
        place.does_not_start(&[]);
    }
    fs::rename(place.path("volume/data/away"), &gone).unwrap();
    fs::write(&control, whole).unwrap();
    place.prepared(&[]);
    assert_eq!(place.start().sql("postgres", "SHOW work_mem"), "7MB");
}
