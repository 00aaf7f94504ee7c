//! Pure: the PVCs of the two volumes. Neither has an owner reference, so the garbage collector does not delete them with the
//! database.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::projections::Pvc;

use crate::database::record::{RECORD, VolumeRecord};
use crate::operand::kinds::SampleDB;
use crate::operand::labels::unowned_meta;
use crate::operand::names;

/// The PVC of the data: no smaller than it is, or than the one whose data it is to hold.
pub(in crate::database) fn data_claim(db: &SampleDB, name: &str, live: Option<&Pvc>) -> Apply {
    claim(db, name, never_less(db.spec.storage.size(), live), db.spec.storage.storage_class_name.as_deref())
}

/// The same when it is created: with the record of what is latched, so no volume is ever without one.
pub(in crate::database) fn new_data_claim(db: &SampleDB, name: &str, before: Option<&Pvc>) -> Apply {
    let mut apply = data_claim(db, name, before);
    if let Some(record) = VolumeRecord::of(db) {
        apply.body["metadata"]["annotations"][RECORD] = record.text().into();
    }
    apply
}

/// The PVC of the snapshots, unless the user provides it.
pub(in crate::database) fn snapshot_claim(db: &SampleDB, live: Option<&Pvc>) -> Option<Apply> {
    db.spec.backup.storage.existing_claim.is_none().then(|| own_snapshot_claim(db, live))
}

/// The same, whatever the spec says about later snapshots.
pub(in crate::database) fn own_snapshot_claim(db: &SampleDB, live: Option<&Pvc>) -> Apply {
    let storage = &db.spec.backup.storage;
    let size = never_less(storage.size(), live);
    claim(db, &names::own_snapshot_claim(db), size, storage.storage_class_name.as_deref())
}

/// The size to request: no less than the live PVC requests already.
fn never_less<'a>(wanted: &'a str, live: Option<&'a Pvc>) -> &'a str {
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
    let claim = PersistentVolumeClaim { metadata: unowned_meta(db), spec: Some(spec), status: None };
    Apply::new(Pvc::KIND, db.meta.key.sibling(name), &claim)
}
