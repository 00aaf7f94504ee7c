//! Pure: the objects that a volume of a pod needs.

use serde::Deserialize;

/// The parts of a volume that refer to other objects.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireVolume {
    config_map: Option<WireSource>,
    secret: Option<WireSource>,
    projected: Option<WireProjected>,
    persistent_volume_claim: Option<WireClaim>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSource {
    /// In a Secret volume, the field is named `secretName`.
    #[serde(alias = "secretName")]
    name: String,
    optional: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireProjected {
    sources: Vec<WireProjection>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireProjection {
    config_map: Option<WireSource>,
    secret: Option<WireSource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireClaim {
    claim_name: String,
}

impl WireVolume {
    /// The objects that it needs.
    pub(super) fn needs(&self) -> impl Iterator<Item = String> {
        let projected = self.projected.iter().flat_map(|projected| &projected.sources);
        let projected = projected.map(|source| (&source.config_map, &source.secret));
        let sources = projected.chain([(&self.config_map, &self.secret)]).flat_map(|(config_map, secret)| {
            [("ConfigMap", config_map), ("Secret", secret)]
                .into_iter()
                .filter_map(|(kind, source)| Some((kind, source.as_ref().filter(|source| !source.optional)?)))
        });
        let claim = self.persistent_volume_claim.iter().map(|claim| ("PersistentVolumeClaim", &claim.claim_name));
        sources.map(|(kind, source)| (kind, &source.name)).chain(claim).map(|(kind, name)| format!("{kind} {name}"))
    }
}
