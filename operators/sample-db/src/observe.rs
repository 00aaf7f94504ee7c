//! Looks: reads the stores, and the Secrets by name.

use std::sync::Arc;

use runtime::cache::View;
use runtime::plan::Owner;

use crate::look::{self, decoded};
use crate::plan::objects::SecretOf;
use crate::plan::{Observed, names};
use crate::{SampleDB, SampleDBOperator, Snapshot};

impl SampleDBOperator {
    /// Snapshots that a new database may be filled from.
    fn sources(&self, db: &SampleDB) -> Vec<Arc<Snapshot>> {
        let key = &db.meta.key;
        let from = db.spec.bootstrap.from_snapshot.as_ref().filter(|_| db.status.restore.completed_at.is_none());
        let Some(from) = from else { return Vec::new() };
        let name = db.status.restore.snapshot.as_deref().or(from.name.as_deref());
        match (name, &from.of_sample_db) {
            (Some(name), _) => decoded(self.snapshots.get(&key.sibling(name)).into_iter().collect()),
            (None, Some(of)) => {
                let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: of.as_str().into() };
                decoded(self.snapshots.owned(&key.namespace, &owner))
            }
            (None, None) => Vec::new(),
        }
    }

    /// What can be seen of `db` now.
    pub async fn look(&self, db: &Arc<SampleDB>) -> Observed {
        let key = &db.meta.key;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        let observed = Observed {
            catalog: Ok(Arc::default()),
            server: self.servers.child(key, &db.meta),
            peers: self.services.child(&sibling(names::peers(db)), &db.meta),
            read_write: self.services.child(&sibling(names::read_write(db)), &db.meta),
            connection: self.configs.child(&sibling(names::connection(db)), &db.meta),
            configuration: self.configs.child(&sibling(names::configuration(db)), &db.meta),
            claims: decoded(self.claims.owned(&key.namespace, &owner)),
            pods: decoded(self.pods.owned(&key.namespace, &owner)),
            jobs: decoded(self.jobs.owned(&key.namespace, &owner)),
            snapshots: decoded(self.snapshots.owned(&key.namespace, &owner)),
            sources: self.sources(db),
            system: self.secrets.look(db, SecretOf::System).await,
            app: self.secrets.look(db, SecretOf::App).await,
            namespace_going: db.meta.deleting && look::is_going(&self.client, &key.namespace).await,
            agent_image: self.settings.agent_image.clone(),
            db: db.clone(),
        };
        crate::metrics::tell(&observed);
        observed
    }
}
