//! The claims of the two volumes. Neither is the database's own, so that nothing takes them away with it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::View;
use runtime::plan::{Apply, quantity};
use runtime::views::Claim;

use super::free;
use crate::SampleDB;
use crate::plan::names;
use crate::plan::record::{RECORD, Record};

/// The claim of the data: no smaller than it is, or than the one whose data it is to hold.
pub(in crate::plan) fn data_claim(db: &SampleDB, name: &str, live: Option<&Claim>) -> Apply {
    claim(db, name, never_less(db.spec.storage.size(), live), db.spec.storage.storage_class_name.as_deref())
}

/// The same, as it is made: with the record of what is latched, so that no volume is ever there without one.
pub(in crate::plan) fn new_data_claim(db: &SampleDB, name: &str, before: Option<&Claim>) -> Apply {
    let mut apply = data_claim(db, name, before);
    if let Some(record) = Record::of(db) {
        apply.body["metadata"]["annotations"][RECORD] = record.text().into();
    }
    apply
}

/// The claim of the snapshots, unless it is the user's.
pub(in crate::plan) fn snapshot_claim(db: &SampleDB, live: Option<&Claim>) -> Option<Apply> {
    let storage = &db.spec.backup.storage;
    let (ours, size) = (storage.existing_claim.is_none(), never_less(storage.size(), live));
    ours.then(|| claim(db, &names::snapshot_claim(db), size, storage.storage_class_name.as_deref()))
}

/// Whether a claim asks for more than the spec does now.
pub(in crate::plan) fn is_larger(wanted: &str, live: &Claim) -> bool {
    let held = live.requested.as_deref().and_then(quantity::whole);
    held.zip(quantity::whole(wanted)).is_some_and(|(has, asked)| has > asked)
}

/// The size to ask for, but never less than a claim asks for already: volumes only grow, and a spec that is set back after a
/// growth that its class refused must not be refused as well.
fn never_less<'a>(wanted: &'a str, live: Option<&'a Claim>) -> &'a str {
    let larger = live.filter(|claim| is_larger(wanted, claim));
    larger.and_then(|claim| claim.requested.as_deref()).unwrap_or(wanted)
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
