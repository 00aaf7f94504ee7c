//! Looks: reads the stores, and the Secrets by name.

use std::sync::Arc;

use runtime::cache::View;
use runtime::plan::Owner;

use crate::look::{self, decoded};
use crate::plan::objects::SecretOf;
use crate::plan::{Observed, names};
use crate::{SampleDB, SampleDBOperator};

impl SampleDBOperator {
    /// What can be seen of `db` now.
    pub async fn look(&self, db: &Arc<SampleDB>) -> Observed {
        let key = &db.meta.key;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        Observed {
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
            system: self.secrets.look(db, SecretOf::System).await,
            app: self.secrets.look(db, SecretOf::App).await,
            namespace_going: db.meta.deleting && look::is_going(&self.client, &key.namespace).await,
            agent_image: self.settings.agent_image.clone(),
            db: db.clone(),
        }
    }
}
