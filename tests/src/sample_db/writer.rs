//! A writer: a pod that inserts numbered rows through the Service, one connection each, and logs which of them were
//! acknowledged, and when.

use std::time::Duration;

use super::Database;
use crate::wait::wait_until;

/// It continues whatever happens; a row that was rejected, or that was not acknowledged, gets another number.
const SCRIPT: &str = r#"i=0
until psql --quiet --command "create table if not exists written (n int primary key)" >/dev/null 2>&1; do sleep 0.1; done
while true; do
  i=$((i + 1))
  if psql --quiet --command "insert into written values ($i)" >/dev/null 2>&1; then echo "$(date +%s%3N) $i"; fi
  sleep 0.05
done"#;

/// A pod that writes into a database.
pub struct Writer<'a> {
    db: Database<'a>,
    name: String,
}

impl<'a> Writer<'a> {
    /// Starts one, and waits until it has written some rows.
    pub async fn start(db: Database<'a>) -> Self {
        let writer = Self { db, name: format!("{}-writer", db.name) };
        let script = SCRIPT.replace('\n', "\n      ");
        db.ns
            .apply(&format!(
                r#"apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  securityContext: {{runAsNonRoot: true, runAsUser: 999, runAsGroup: 999, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: writer
    image: docker.io/library/postgres:17.12
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
    envFrom: [{{configMapRef: {{name: {db}-connection}}}}]
    env:
    - {{name: PGUSER, value: app}}
    - {{name: PGCONNECT_TIMEOUT, value: "2"}}
    - {{name: PGPASSWORD, valueFrom: {{secretKeyRef: {{name: {db}-app, key: password}}}}}}
    command:
    - bash
    - -c
    - |
      {script}
"#,
                name = writer.name,
                db = db.name,
            ))
            .await;
        writer.writes(5).await;
        writer
    }

    /// Waits until it has written so many more rows.
    pub async fn writes(&self, more: usize) {
        let before = self.acknowledged().await.len();
        wait_until("more rows to be written", Duration::from_secs(120), async || {
            let now = self.acknowledged().await.len();
            if now >= before + more { Ok(()) } else { Err(format!("{now} rows, {before} before")) }
        })
        .await;
    }

    /// The rows that were acknowledged: when, in milliseconds, and which.
    async fn acknowledged(&self) -> Vec<(u64, u64)> {
        let logs = self.db.ns.kubectl(&["logs", &self.name, "--tail=-1"]).await;
        let row = |line: &str| {
            let (at, number) = line.split_once(' ')?;
            Some((at.parse().ok()?, number.parse().ok()?))
        };
        logs.stdout.lines().filter_map(row).collect()
    }

    /// Searches every acknowledged row; returns how many there are, and the longest time without one.
    pub async fn verdict(&self) -> (usize, Duration) {
        let rows = self.acknowledged().await;
        let last = rows.last().map_or(0, |(_, number)| *number);
        let found = self.db.asks(&format!("select n from written where n <= {last} order by n")).await;
        let found: Vec<u64> = found.lines().filter_map(|line| line.parse().ok()).collect();
        let lost: Vec<u64> =
            rows.iter().map(|(_, number)| *number).filter(|number| found.binary_search(number).is_err()).collect();
        assert!(lost.is_empty(), "acknowledged rows are lost: {lost:?}");
        let pause = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap_or(0);
        (rows.len(), Duration::from_millis(pause))
    }
}
