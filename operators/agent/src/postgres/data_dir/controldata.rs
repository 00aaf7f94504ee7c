//! Pure: the output of `pg_controldata`.

/// The contents of `pg_control`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlData {
    /// Unique for each cluster, and the same for its life.
    pub(crate) system_identifier: String,
    lines: Vec<(String, String)>,
}

impl ControlData {
    /// Parses the output. The error is a message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.contains("CRC checksum does not match value stored") {
            return Err("pg_control's checksum is wrong".into());
        }
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        let lines: Vec<_> = pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect();
        let found = lines.iter().find(|(key, _)| key == "Database system identifier");
        let system_identifier = found.map(|(_, value)| value.clone()).unwrap_or_default();
        if system_identifier.is_empty() || !system_identifier.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("pg_controldata reports no system identifier".into());
        }
        Ok(Self { system_identifier, lines })
    }

    /// A setting of the last server, for the few that recovery depends on.
    pub(crate) fn setting(&self, name: &str) -> Option<u32> {
        let name = match name {
            "max_prepared_transactions" => "max_prepared_xacts",
            "max_locks_per_transaction" => "max_locks_per_xact",
            other => other,
        };
        let found = self.lines.iter().find(|(key, _)| key.strip_suffix(" setting") == Some(name));
        found.and_then(|(_, value)| value.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "pg_control version number:            1300
Catalog version number:               202209061
Database system identifier:           7443412345678901234
Database cluster state:               shut down
pg_control last modified:             Sat 21 Nov 2026 03:48:37 PM UTC
wal_level setting:                    replica
max_connections setting:              100
max_prepared_xacts setting:           3
max_locks_per_xact setting:           64
Data page checksum version:           1
";

    #[test]
    fn reads_what_is_printed() {
        let control = ControlData::parse(PRINTED).unwrap();
        assert_eq!(control.system_identifier, "7443412345678901234");
        assert_eq!(control.setting("max_connections"), Some(100));
        assert_eq!(control.setting("max_prepared_transactions"), Some(3));
        assert_eq!(control.setting("max_locks_per_transaction"), Some(64));
        assert_eq!(control.setting("wal_level"), None);
    }

    #[test]
    fn says_what_is_wrong() {
        let warned = format!("WARNING: Calculated CRC checksum does not match value stored in file.\n{PRINTED}");
        let newer = "pg_controldata: warning: calculated CRC checksum does not match value stored in control file";
        assert!(ControlData::parse(&format!("{newer}\n{PRINTED}")).is_err());
        assert!(ControlData::parse(&warned).unwrap_err().contains("checksum"));
        assert!(ControlData::parse("").is_err());
        assert!(ControlData::parse("Database system identifier: x").is_err());
    }
}
