//! Pure: the desired Deployment of a MyApp, with all that its pod template is built from.
//!
//! The defaults that a manager adds to pods (a default container, pods spread over zones and nodes) are added to a new Deployment, or to
//! a template that changes anyway, so that an upgrade of the manager does not restart pods.

use api::{Reason, ReconcileReason};
use runtime::plan::Apply;
use runtime::plan::meta::CONTENTS;
use runtime::projections::{Deployment, Template};
use runtime::status::conditions::Summary;
use serde_json::{Value, json};

use super::overrides::{self, Rejection};
use super::{DryRunFailure, Observed, objects};

/// The desired state of the Deployment.
pub(super) struct DesiredDeployment<'a> {
    observed: &'a Observed,
    overrides: Result<Option<Value>, Rejection>,
    contents: Option<&'a str>,
}

impl<'a> DesiredDeployment<'a> {
    pub(super) fn of(observed: &'a Observed) -> Self {
        let app = &observed.app;
        let live = observed.live_deployment().and_then(|live| live.template.contents.as_deref());
        // While the content cannot be read, the template keeps the digest that the pods were started with.
        let contents = observed.contents.digest.as_deref().or(live).filter(|_| !app.spec.restart_on.is_empty());
        Self { observed, overrides: overrides::of(app, observed.limit), contents }
    }

    /// Why the operator does not change the Deployment: whether the user has to act, a condition's reason, and a message.
    pub(super) fn rejection(&self) -> Option<(Summary, Reason, String)> {
        if let Err(rejection) = &self.overrides {
            return Some((Summary::Stalled, rejection.reason.into(), rejection.message.clone()));
        }
        let DryRunFailure { is_transient, message, .. } = self.observed.dry_run_failure.as_ref()?;
        Some(if *is_transient {
            let message = format!("cannot check pods with spec.podOverrides: {message}");
            (Summary::Reconciling, ReconcileReason::APIServerError.into(), message)
        } else {
            let message = format!("the API server rejects pods with spec.podOverrides: {message}");
            (Summary::Stalled, ReconcileReason::Rejected.into(), message)
        })
    }

    /// The object of `restartOn` that the Deployment waits for, because its content would replace the pods again shortly afterward.
    pub(super) fn pending_source(&self) -> Option<&str> {
        let app = &self.observed.app;
        let unread = self.observed.contents.unread.as_ref().filter(|unread| unread.is_awaited)?;
        let edited = app.status.contract.observed_generation < app.meta.generation;
        let waits = match self.observed.live_deployment() {
            None => true,
            // The content of pods that were started with it has probably not changed.
            Some(live) => edited && live.template.contents.is_none(),
        };
        waits.then_some(&*unread.source)
    }

    /// The Deployment with that image.
    pub(super) fn deployment(&self, image: &str) -> Apply {
        let plain = self.observed.live_deployment().filter(|live| !live.template.has_defaults);
        let plain = plain.map(|live| (live, self.rendered(image, false)));
        match plain.filter(|(live, plain)| self.stays_plain(live, plain)) {
            Some((_, plain)) => plain,
            None => self.rendered(image, true),
        }
    }

    fn rendered(&self, image: &str, with_defaults: bool) -> Apply {
        let app = &*self.observed.app;
        let mut apply = objects::deployment(app, image);
        let template = &mut apply.body["spec"]["template"];
        if let Some(contents) = self.contents {
            template["metadata"]["annotations"][CONTENTS] = json!(contents);
        }
        if let Ok(Some(over)) = &self.overrides {
            overrides::merge(template, over);
        }
        if with_defaults {
            objects::add_defaults(app, template);
        }
        apply
    }

    /// Whether nothing changes the template of that Deployment, which has no defaults.
    fn stays_plain(&self, live: &Deployment, plain: &Apply) -> bool {
        let seen = self.observed.deployment.owned().map_or(live.fingerprint, |live| live.fingerprint);
        // If the desired state is unchanged, another client has edited the template, and the operator restores it.
        plain.matches(seen, &live.additions)
            || live.template.created.is_created_from(&Template::rendered(&plain.body))
            || self.is_reported(live)
    }

    /// Whether the desired state of pods is unchanged since the last status.
    fn is_reported(&self, live: &Deployment) -> bool {
        let app = &self.observed.app;
        let same = |desired: Option<&str>, live: Option<&str>| desired.is_none() || desired == live;
        app.status.contract.observed_generation == app.meta.generation
            && same(app.restarted_at.as_deref(), live.template.restarted_at.as_deref())
            && same(self.contents, live.template.contents.as_deref())
    }
}
