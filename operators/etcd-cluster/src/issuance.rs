//! Writes the Secrets with the certificates that the operator issues.
//!
//! What the Secrets hold now decides what is due ([`issuance`]): a manager that takes over, or that was interrupted, continues there.
//! Each write names the version that was read, so two managers do not overwrite each other's.

use std::collections::BTreeMap;

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use runtime::Error;
use runtime::cache::Projection as _;
use runtime::plan::meta::{child_meta, field_manager};

use crate::EtcdCluster;
use crate::certificates::generated::{self, GeneratedKeyPair};
use crate::certificates::issuance::{
    self, AuthorityState, AuthorityStep, CERTIFICATE, CertificateStep, Files, KEY, NEXT_CERTIFICATE, NEXT_KEY,
    NEXT_SINCE, REQUEST, TRUSTED,
};
use crate::kind::CONTROLLER;
use crate::plan::MembersKnow;
use crate::plan::effective_tls::fingerprint;
use crate::plan::issued_tls::{self, IssuedCertificate, IssuingAuthority, authorities};

/// Issues for one cluster.
pub(crate) struct Issuance<'a> {
    secrets: Api<Secret>,
    cluster: &'a EtcdCluster,
    domain: &'a str,
    now: Timestamp,
}

/// A Secret, and the texts in it.
struct Stored {
    object: Secret,
    files: BTreeMap<String, String>,
}

impl<'a> Issuance<'a> {
    /// For the cluster as it is planned, with what it has of `spec.TLS.issued`.
    pub(crate) fn new(client: &Client, cluster: &'a EtcdCluster, domain: &'a str, now: Timestamp) -> Self {
        let secrets = Api::namespaced(client.clone(), &cluster.meta.key.namespace);
        Self { secrets, cluster, domain, now }
    }

    /// Issues all that is due.
    ///
    /// # Errors
    /// If a Secret cannot be read or written, or belongs to someone else.
    pub(crate) async fn run(&self, members: &MembersKnow) -> Result<(), Error> {
        let mut groups = Vec::new();
        for authority in authorities(self.cluster) {
            let mut certificates = Vec::new();
            for of in authority.certificates() {
                certificates.push((*of, self.read(&of.secret(self.cluster)).await?));
            }
            groups.push((authority, self.read(&authority.secret(self.cluster)).await?, certificates));
        }
        let of_members = groups.iter().flat_map(|(.., certificates)| certificates);
        let of_members = of_members.filter(|(of, _)| of.is_of_server()).filter_map(|(_, stored)| stored.as_ref());
        let known = of_members.map(|stored| stored.files.get(TRUSTED).map_or("", |text| text.trim()));
        let known = fingerprint(&known.collect::<Vec<_>>().join("\n"));
        for (authority, stored, certificates) in groups {
            self.issue_by(authority, stored, certificates, members, &known).await?;
        }
        Ok(())
    }

    async fn issue_by(
        &self,
        authority: IssuingAuthority,
        stored: Option<Stored>,
        certificates: Vec<(IssuedCertificate, Option<Stored>)>,
        members: &MembersKnow,
        known: &str,
    ) -> Result<(), Error> {
        let name = authority.secret(self.cluster);
        let signed: Vec<Files<'_>> = certificates.iter().map(|(_, of)| of.as_ref().map(|of| &of.files)).collect();
        let own = stored.as_ref().map(|stored| &stored.files);
        let request = issued_tls::request(self.cluster);
        let state = AuthorityState {
            secret: &name,
            files: own,
            signed: &signed,
            request,
            rolled: members.all_know(known),
            in_use: *members != MembersKnow::None,
        };
        let step = issuance::authority_step(&state, self.now).map_err(invalid)?;
        let changed = match step {
            None => None,
            Some(AuthorityStep::Promote) => own.and_then(|own| issuance::promoted(own, request)),
            Some(step) => Some(self.authority(step, own, &signed, request)?),
        };
        let files = match changed {
            Some(files) => {
                tracing::info!(secret = %name, ?step, "the authority is written");
                self.write(&name, stored, files).await?.files
            }
            None => stored.map(|stored| stored.files).unwrap_or_default(),
        };
        for (of, stored) in certificates {
            self.issue(&files, of, stored).await?;
        }
        Ok(())
    }

    /// The files of a new authority, or of one that has a successor.
    fn authority(
        &self,
        step: AuthorityStep,
        own: Files<'_>,
        signed: &[Files<'_>],
        request: Option<&str>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let GeneratedKeyPair { certificate, key } = generated::authority(self.now).map_err(failed)?;
        let trusted = issuance::trusted_with(own, signed, &certificate);
        let mut files = own.cloned().unwrap_or_default();
        let names = if step == AuthorityStep::Create {
            (CERTIFICATE, KEY)
        } else {
            files.insert(NEXT_SINCE.to_owned(), self.now.to_string());
            (NEXT_CERTIFICATE, NEXT_KEY)
        };
        files.extend(
            [(names.0, certificate), (names.1, key), (TRUSTED, trusted)].map(|(name, text)| (name.to_owned(), text)),
        );
        files.extend(request.map(|request| (REQUEST.to_owned(), request.to_owned())));
        Ok(files)
    }

    async fn issue(
        &self,
        authority: &BTreeMap<String, String>,
        of: IssuedCertificate,
        stored: Option<Stored>,
    ) -> Result<(), Error> {
        let dns_names = of.dns_names(self.cluster, self.domain);
        let own = stored.as_ref().map(|stored| &stored.files);
        let Some(step) = issuance::certificate_step(authority, own, of, &dns_names, self.now) else { return Ok(()) };
        let mut files = own.cloned().unwrap_or_default();
        let trusted = authority.get(TRUSTED).cloned().unwrap_or_default();
        files.insert(TRUSTED.to_owned(), trusted);
        if step == CertificateStep::Issue {
            let signer = authority.get(KEY).map_or("", String::as_str);
            let GeneratedKeyPair { certificate, key } =
                generated::certificate(signer, of, &dns_names, self.now).map_err(failed)?;
            files.extend([(CERTIFICATE.to_owned(), certificate), (KEY.to_owned(), key)]);
        }
        let name = of.secret(self.cluster);
        tracing::info!(secret = %name, ?step, "the certificate is written");
        self.write(&name, stored, files).await.map(drop)
    }

    /// The Secret of that name, if it exists.
    async fn read(&self, name: &str) -> Result<Option<Stored>, Error> {
        let Some(object) = self.secrets.get_opt(name).await? else { return Ok(None) };
        let owners = object.metadata.owner_references.iter().flatten();
        if !{ owners }.any(|owner| owner.controller == Some(true) && *owner.uid == *self.cluster.meta.uid) {
            return Err(invalid(foreign(name)));
        }
        let text =
            |(name, bytes): (&String, &ByteString)| Some((name.clone(), String::from_utf8(bytes.0.clone()).ok()?));
        let files = object.data.iter().flatten().filter_map(text).collect();
        Ok(Some(Stored { object, files }))
    }

    fn params(&self) -> PostParams {
        PostParams { field_manager: Some(field_manager(CONTROLLER)), ..PostParams::default() }
    }

    async fn write(
        &self,
        name: &str,
        stored: Option<Stored>,
        files: BTreeMap<String, String>,
    ) -> Result<Stored, Error> {
        let data = files.iter().map(|(name, text)| (name.clone(), ByteString(text.clone().into_bytes()))).collect();
        let object = match stored {
            Some(stored) => {
                let object = Secret { data: Some(data), ..stored.object };
                self.secrets.replace(name, &self.params(), &object).await?
            }
            None => {
                let metadata =
                    ObjectMeta { name: Some(name.to_owned()), ..child_meta(&EtcdCluster::KIND, &self.cluster.meta) };
                let object = Secret { metadata, data: Some(data), ..Secret::default() };
                self.secrets.create(&self.params(), &object).await?
            }
        };
        Ok(Stored { object, files })
    }
}

/// That a Secret with a name of ours is not ours.
pub(crate) fn foreign(name: &str) -> String {
    format!(
        "the Secret {name} exists and does not belong to this EtcdCluster: if it is of no use, delete it, and the operator issues one; or name \
         your own Secrets in TLS.static"
    )
}

fn invalid(why: String) -> Error {
    Error::Transient { reason: EtcdClusterReason::TLSSecretInvalid.into(), message: why, stalled: true }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: rcgen::Error) -> Error {
    invalid(format!("a certificate cannot be issued: {error}"))
}
