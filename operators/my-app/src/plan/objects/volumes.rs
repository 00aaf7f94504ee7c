//! Pure: volumes, and their mounts in the container.
//!
//! The name of a volume consists of its kind and its mount path. So it does not depend on the other volumes, and a volume of another kind
//! has another name: if a volume changed its kind under the same name, server-side apply would keep the defaults of the previous kind,
//! and the API server rejects a volume of two kinds.

use api::my_app::{self, MyAppSpec};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::names::fnv1a;
use runtime::pod::non_empty;

use super::container::{NAME, field_ref, resource_field_ref};

/// A volume and its mount.
type MountedVolume = (core::Volume, core::VolumeMount);

/// All volumes of a pod, with their mounts.
pub(super) fn volumes(spec: &MyAppSpec) -> (Vec<core::Volume>, Vec<core::VolumeMount>) {
    let all = spec.files.iter().filter_map(files).chain(spec.scratch.iter().map(scratch));
    all.chain(spec.persistent_volume_claims.iter().map(claim)).unzip()
}

fn name(kind: &str, mount_path: &str) -> String {
    format!("{kind}-{:016x}", fnv1a(mount_path))
}

fn mount(volume: &str, mount_path: &str, sub_path: Option<&String>, read_only: bool) -> core::VolumeMount {
    core::VolumeMount {
        name: volume.to_owned(),
        mount_path: mount_path.to_owned(),
        sub_path: sub_path.cloned(),
        // The API server does not store false here.
        read_only: read_only.then_some(true),
        ..core::VolumeMount::default()
    }
}

/// `None` for files without a source, which the schema rejects.
fn files(files: &my_app::MountedFiles) -> Option<MountedVolume> {
    let path = &files.mount_path;
    let named = |kind: &str| core::Volume { name: name(kind, path), ..core::Volume::default() };
    let default_mode = files.default_mode;
    let volume = if let Some(map) = &files.config_map {
        core::Volume {
            config_map: Some(core::ConfigMapVolumeSource {
                name: map.name.clone(),
                items: items(&map.items),
                optional: map.optional,
                default_mode,
            }),
            ..named("configmap")
        }
    } else if let Some(secret) = &files.secret {
        core::Volume {
            secret: Some(core::SecretVolumeSource {
                secret_name: Some(secret.name.clone()),
                items: items(&secret.items),
                optional: secret.optional,
                default_mode,
            }),
            ..named("secret")
        }
    } else {
        let sources = Some(non_empty(files.projected.iter().map(projection).collect())?);
        let projected = Some(core::ProjectedVolumeSource { sources, default_mode });
        core::Volume { projected, ..named("projected") }
    };
    let mount = mount(&volume.name, path, files.sub_path.as_ref(), false);
    Some((volume, mount))
}

fn items(items: &[my_app::FileItem]) -> Option<Vec<core::KeyToPath>> {
    let item =
        |item: &my_app::FileItem| core::KeyToPath { key: item.key.clone(), path: item.path.clone(), mode: item.mode };
    non_empty(items.iter().map(item).collect())
}

fn projection(source: &my_app::ProjectedSource) -> core::VolumeProjection {
    core::VolumeProjection {
        config_map: source.config_map.as_ref().map(|map| core::ConfigMapProjection {
            name: map.name.clone(),
            items: items(&map.items),
            optional: map.optional,
        }),
        secret: source.secret.as_ref().map(|secret| core::SecretProjection {
            name: secret.name.clone(),
            items: items(&secret.items),
            optional: secret.optional,
        }),
        downward_api: source
            .downward_api
            .as_ref()
            .map(|api| core::DownwardAPIProjection { items: non_empty(api.items.iter().map(downward_file).collect()) }),
        service_account_token: source.service_account_token.as_ref().map(|token| core::ServiceAccountTokenProjection {
            path: token.path.clone(),
            audience: token.audience.clone(),
            // The API server's default, and part of an atomic list.
            expiration_seconds: Some(token.expiration_seconds.unwrap_or(3600)),
        }),
        ..core::VolumeProjection::default()
    }
}

fn downward_file(file: &my_app::DownwardFile) -> core::DownwardAPIVolumeFile {
    core::DownwardAPIVolumeFile {
        path: file.path.clone(),
        field_ref: file.field_ref.as_ref().map(field_ref),
        resource_field_ref: file.resource_field_ref.as_ref().map(|of| resource_field_ref(of, Some(NAME))),
        mode: None,
    }
}

fn scratch(scratch: &my_app::ScratchVolume) -> MountedVolume {
    let volume = core::Volume {
        name: name("scratch", &scratch.mount_path),
        empty_dir: Some(core::EmptyDirVolumeSource {
            size_limit: Some(Quantity(scratch.size_limit.clone())),
            medium: scratch.medium.map(|medium| match medium {
                my_app::Medium::Memory => "Memory".to_owned(),
            }),
        }),
        ..core::Volume::default()
    };
    let mount = mount(&volume.name, &scratch.mount_path, None, false);
    (volume, mount)
}

fn claim(claim: &my_app::MountedClaim) -> MountedVolume {
    let volume = core::Volume {
        name: name("claim", &claim.mount_path),
        persistent_volume_claim: Some(core::PersistentVolumeClaimVolumeSource {
            claim_name: claim.name.clone(),
            read_only: None,
        }),
        ..core::Volume::default()
    };
    let mount = mount(&volume.name, &claim.mount_path, claim.sub_path.as_ref(), claim.read_only);
    (volume, mount)
}
