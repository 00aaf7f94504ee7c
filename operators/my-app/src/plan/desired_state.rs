//! Pure: the desired Deployment of a MyApp, with everything that its pod template is made of.
//!
//! What a manager gives to pods by default (a default container, pods spread over zones and nodes) comes with a Deployment that
//! is made, or with a template that changes anyway: no pod is started again because a manager of another version runs.

use api::{Reason, ReconcileReason};
use runtime::plan::Apply;
use runtime::plan::meta::CONTENTS;
use runtime::projections::{Deployment, Template};
use runtime::status::conditions::Summary;
use serde_json::{Value, json};

use super::overrides::{self, Rejection};
use super::{DryRunFailure, Observed, objects};

/// The desired state of the Deployment.
pub(super) struct Desired<'a> {
    observed: &'a Observed,
    overrides: Result<Option<Value>, Rejection>,
    contents: Option<&'a str>,
}

impl<'a> Desired<'a> {
    pub(super) fn of(observed: &'a Observed) -> Self {
        let app = &observed.app;
        let live = observed.live_deployment().and_then(|live| live.template.contents.as_deref());
        // While content cannot be read, the pods keep what they were started with.
        let contents = observed.contents.digest.as_deref().or(live).filter(|_| !app.spec.restart_on.is_empty());
        Self { observed, overrides: overrides::of(app, observed.limit), contents }
    }

    /// Why the Deployment is not changed: whether the user has to act, a condition's reason, and a message.
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

    /// The object of `restartOn` that the Deployment waits for, since its pods would be replaced again in a moment.
    pub(super) fn pending_source(&self) -> Option<&str> {
        let app = &self.observed.app;
        let unread = self.observed.contents.unread.as_ref().filter(|unread| unread.is_awaited)?;
        let edited = app.status.contract.observed_generation < app.meta.generation;
        let waits = match self.observed.live_deployment() {
            None => true,
            // Pods that have been started with content most likely keep it.
            Some(live) => edited && live.template.contents.is_none(),
        };
        waits.then_some(&*unread.source)
    }

    /// The Deployment, with that image.
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
            objects::give_defaults(app, template);
        }
        apply
    }

    /// Whether that Deployment, whose template is without defaults, has no other reason to change it.
    fn stays_plain(&self, live: &Deployment, plain: &Apply) -> bool {
        let seen = self.observed.deployment.owned().map_or(live.fingerprint, |live| live.fingerprint);
        // With an unchanged desired state, a template that differs has been edited: it is restored.
        plain.has_made(seen, &live.additions)
            || live.template.made.is_made_of(&Template::rendered(&plain.body))
            || self.is_reported(live)
    }

    /// Whether the status has reported the desired state of pods, so that nothing of it is new.
    fn is_reported(&self, live: &Deployment) -> bool {
        let app = &self.observed.app;
        let same = |wanted: Option<&str>, live: Option<&str>| wanted.is_none() || wanted == live;
        app.status.contract.observed_generation == app.meta.generation
            && same(app.restarted_at.as_deref(), live.template.restarted_at.as_deref())
            && same(self.contents, live.template.contents.as_deref())
    }
}
