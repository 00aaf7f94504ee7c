//! A real server in a directory of its own, prepared as the agent prepares it for the manager.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use real_postgres::trees;

pub(super) const PASSWORD: &str = "super's \\ secret";

pub(super) struct RealServer {
    directory: PathBuf,
    pub(super) host: String,
    tree: String,
    child: Option<Child>,
}

impl RealServer {
    /// Starts a server of this run's tree.
    pub(super) fn start(name: &str) -> Self {
        Self::start_with(name, "")
    }

    /// Starts one with more lines in its configuration.
    pub(super) fn start_with(name: &str, configuration: &str) -> Self {
        let id = std::process::id();
        // Tests of one process run side by side: the last number is of the name.
        let last = name.bytes().fold(1_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)).clamp(1, 254);
        let host = format!("127.{}.{}.{last}", 1 + (id >> 8) % 250, id % 256);
        let directory = PathBuf::from(format!("/tmp/{name}-pg-{id}"));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let mut server = Self { directory, host, tree: trees::chosen(), child: None };
        server.write("password", PASSWORD);
        let (data, password) = (server.text("data"), server.text("password"));
        let initialized = server
            .program("initdb")
            .args(["--pgdata", &data, "--username=postgres", "--pwfile", &password, "--auth=scram-sha-256"])
            .args(["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"])
            .output();
        succeeded(&initialized.unwrap());
        // As the agent writes them (`operators/agent/src/postgres/data_dir/hba.rs`).
        for (rules_name, who) in [("open", "all"), ("closed", "\"postgres\"")] {
            let rules = format!("# multi-operator: {rules_name}\nhost all {who} all scram-sha-256\n");
            server.write(&format!("data/pg_hba.{rules_name}.conf"), &rules);
        }
        fs::copy(server.path("data/pg_hba.open.conf"), server.path("data/pg_hba.conf")).unwrap();
        server.write("data/postgresql.auto.conf", configuration);
        server.run();
        server
    }

    fn run(&mut self) {
        let log = fs::File::create(self.path("log")).unwrap();
        let (data, sockets) = (self.text("data"), self.text(""));
        let mut command = self.program("postgres");
        command.args(["-D", &data, "-c", &format!("listen_addresses={}", self.host), "-c", "fsync=off"]);
        command.args(["-c", &format!("unix_socket_directories={sockets}"), "-c", "password_encryption=scram-sha-256"]);
        self.child = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let since = Instant::now();
        while !self.psql("postgres", PASSWORD, "template1", "SELECT 1").status.success() {
            assert!(since.elapsed() < Duration::from_secs(60), "{}", fs::read_to_string(self.path("log")).unwrap());
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub(super) fn major(&self) -> &str {
        trees::major(&self.tree)
    }

    fn program(&self, name: &str) -> Command {
        trees::command(&self.tree, &trees::program(&self.tree, name))
    }

    pub(super) fn path(&self, part: &str) -> PathBuf {
        self.directory.join(part)
    }

    pub(super) fn text(&self, part: &str) -> String {
        self.path(part).to_str().unwrap().to_owned()
    }

    /// Writes a file that the server can read.
    pub(super) fn write(&self, part: &str, text: &str) {
        fs::write(self.path(part), text).unwrap();
        fs::set_permissions(self.path(part), fs::Permissions::from_mode(0o666)).unwrap();
    }

    fn psql(&self, user: &str, password: &str, database: &str, sql: &str) -> Output {
        let mut command = self.program("psql");
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", &self.host, "-U", user, "-d", database, "-c", sql]);
        // The tests' own statements are not to be attacked.
        let options = "-c statement_timeout=0 -c lock_timeout=0 -c default_transaction_read_only=off";
        let options =
            if user == "postgres" { format!("{options} -c role=none -c search_path=") } else { options.into() };
        command.env("PGPASSWORD", password).env("PGOPTIONS", options).output().unwrap()
    }

    /// Output or error for a superuser who sets no options.
    pub(super) fn plain(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut command = self.program("psql");
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", &self.host, "-U", "postgres", "-d", database, "-c", sql]);
        let output = command.env("PGPASSWORD", PASSWORD).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub(super) fn sql(&self, database: &str, sql: &str) -> String {
        self.sql_as("postgres", PASSWORD, database, sql)
    }

    pub(super) fn sql_as(&self, user: &str, password: &str, database: &str, sql: &str) -> String {
        let output = self.psql(user, password, database, sql);
        succeeded(&output);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for RealServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Stops it at once, together with its children.
            let _ = Command::new("sh").args(["-c", &format!("kill -QUIT {}", child.id())]).status();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}
