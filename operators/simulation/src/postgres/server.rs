//! Servers: each runs in a pod, on the data of one volume.

use std::collections::BTreeMap;

use super::model::{DataDirectory, PostgresServer, PostgresServers, RunningServer};

impl PostgresServers {
    /// Creates data on a volume, as initdb does. Data that is there already stays, and is returned.
    pub fn initialize(&self, volume: &str, superuser_password: &str) -> DataDirectory {
        let mut state = self.lock();
        if let Some(present) = state.data.get(volume) {
            return present.clone();
        }
        state.created += 1;
        let data = DataDirectory {
            system_identifier: (7_000_000_000 + state.created).to_string(),
            superuser_password: superuser_password.to_owned(),
            ..DataDirectory::default()
        };
        state.data.insert(volume.to_owned(), data.clone());
        data
    }

    /// The data on a volume.
    #[must_use]
    pub fn data(&self, volume: &str) -> Option<DataDirectory> {
        self.lock().data.get(volume).cloned()
    }

    /// Changes the data on a volume, as a program of the agent does. Returns whether there is any.
    pub fn edit(&self, volume: &str, edit: impl FnOnce(&mut DataDirectory)) -> bool {
        self.lock().data.get_mut(volume).map(edit).is_some()
    }

    /// The volume is gone, with its data.
    pub fn lose(&self, volume: &str) {
        let mut state = self.lock();
        state.data.remove(volume);
        state.servers.retain(|_, running| running.server.volume != volume);
    }

    /// Starts a server in a pod. Returns false if its volume has no data, or another server runs on it.
    pub fn start(&self, pod: &str, server: PostgresServer) -> bool {
        let mut state = self.lock();
        let is_taken = state.servers.iter().any(|(of, running)| of != pod && running.server.volume == server.volume);
        let Some(data) = state.data.get(&server.volume).filter(|_| !is_taken) else { return false };
        let started = effective(&server, data);
        state.servers.insert(pod.to_owned(), RunningServer { server, started });
        true
    }

    /// The kubelet has written the file of a server's parameters.
    pub fn mount(&self, pod: &str, parameters: BTreeMap<String, String>) {
        if let Some(running) = self.lock().servers.get_mut(pod) {
            running.server.mounted = parameters;
        }
    }

    /// Stops the server of a pod.
    pub fn stop(&self, pod: &str) {
        self.lock().servers.remove(pod);
    }

    /// Kills the server of that number, modulo their count. Returns the uid of its pod.
    pub fn kill(&self, number: u64) -> Option<String> {
        let mut state = self.lock();
        let count = u64::try_from(state.servers.len()).unwrap_or_default();
        let place = usize::try_from(number.checked_rem(count)?).unwrap_or_default();
        let pod = state.servers.keys().nth(place)?.clone();
        state.killed.insert(pod.clone());
        Some(pod)
    }
}

/// The parameters of a server: those set over a connection have precedence.
pub(super) fn effective(server: &PostgresServer, data: &DataDirectory) -> BTreeMap<String, String> {
    server.mounted.iter().chain(&data.settings).map(|(name, value)| (name.clone(), value.clone())).collect()
}
