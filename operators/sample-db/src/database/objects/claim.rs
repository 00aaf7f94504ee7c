//! Pure: the claims of the two volumes. Neither is the database's own, so that nothing takes them away with it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::projections::Claim;

use crate::database::record::{RECORD, Record};
use crate::operand::kinds::SampleDB;
use crate::operand::labels::free;
use crate::operand::names;

/// The claim of the data: no smaller than it is, or than the one whose data it is to hold.
pub(in crate::database) fn data_claim(db: &SampleDB, name: &str, live: Option<&Claim>) -> Apply {
    claim(db, name, never_less(db.spec.storage.size(), live), db.spec.storage.storage_class_name.as_deref())
}

/// The same, as it is made: with the record of what is latched, so that no volume is ever there without one.
pub(in crate::database) fn new_data_claim(db: &SampleDB, name: &str, before: Option<&Claim>) -> Apply {
    let mut apply = data_claim(db, name, before);
    if let Some(record) = Record::of(db) {
        apply.body["metadata"]["annotations"][RECORD] = record.text().into();
    }
    apply
}

/// The claim of the snapshots, unless it is the user's.
pub(in crate::database) fn snapshot_claim(db: &SampleDB, live: Option<&Claim>) -> Option<Apply> {
    db.spec.backup.storage.existing_claim.is_none().then(|| own_snapshot_claim(db, live))
}

/// The same, whatever the spec says of later snapshots.
pub(in crate::database) fn own_snapshot_claim(db: &SampleDB, live: Option<&Claim>) -> Apply {
    let storage = &db.spec.backup.storage;
    let size = never_less(storage.size(), live);
    claim(db, &names::own_snapshot_claim(db), size, storage.storage_class_name.as_deref())
}

/// The size to request, no less than a live claim does already.
fn never_less<'a>(wanted: &'a str, live: Option<&'a Claim>) -> &'a str {
    live.map_or(wanted, |claim| claim.never_less(wanted))
}

fn claim(db: &SampleDB, name: &str, size: &str, class: Option<&str>) -> Apply {
    let spec = PersistentVolumeClaimSpec {
        access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
        storage_class_name: class.filter(|class| !class.is_empty()).map(str::to_owned),
        resources: Some(VolumeResourceRequirements {
            requests: Some(BTreeMap::from([("storage".to_owned(), Quantity(size.to_owned()))])),
            limits: None,
        }),
        ..PersistentVolumeClaimSpec::default()
    };
    let claim = PersistentVolumeClaim { metadata: free(db), spec: Some(spec), status: None };
    Apply::new(Claim::KIND, db.meta.key.sibling(name), &claim)
}
