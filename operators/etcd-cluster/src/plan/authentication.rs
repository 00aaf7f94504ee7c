//! Pure: the authentication of etcd: turned on or off as the spec says, while all members are healthy.

use api::etcd_cluster::EtcdClusterReason;

use super::member_set::MemberSet;
use super::membership::EtcdStep;
use super::{Authentication, Explanation, Observed};

/// The field that gives the operator the password of `root`.
pub const ROOT_SECRET: &str = "spec.authentication.rootSecret";

/// The key of the Secret with the password, and the one with the user: those of the type kubernetes.io/basic-auth.
pub const PASSWORD: &str = "password";
const USERNAME: &str = "username";
/// The only user that the operator can be.
const ROOT: &str = "root";

/// The password in the Secret of that name, which has these texts.
///
/// # Errors
/// Why it cannot be used.
pub fn password<'s>(name: &str, text: impl Fn(&str) -> Option<&'s str>) -> Result<&'s str, String> {
    if let Some(user) = text(USERNAME).filter(|user| *user != ROOT) {
        return Err(format!(
            "the Secret {name} of {ROOT_SECRET} is for the user {user:?}: its username must be {ROOT}, or missing"
        ));
    }
    match text(PASSWORD) {
        None | Some("") => Err(format!("the Secret {name} of {ROOT_SECRET} has no {PASSWORD}: set that key")),
        Some(password) if password.contains(['\n', '\r']) => Err(format!(
            "the {PASSWORD} of the Secret {name} of {ROOT_SECRET} has a line break, which no client would send: create it with kubectl \
             create secret generic {name} --from-literal={PASSWORD}=..."
        )),
        Some(password) => Ok(password),
    }
}

/// The part of the spec that the operator cannot carry out, or why it cannot reach etcd as it should.
pub(super) fn refusal(observed: &Observed) -> Option<Explanation> {
    let wanted = observed.cluster.spec.authentication.as_ref()?;
    if let Authentication::RootRejected(why) = &observed.etcd.authentication {
        let message = format!(
            "etcd {why}: correct the Secret {}, or change the password of root in etcd (etcdctl user passwd root)",
            wanted.root_secret
        );
        return Some((EtcdClusterReason::AuthenticationRequired, message));
    }
    let is_needed = wanted.enabled || observed.etcd.authentication == Authentication::On;
    let unusable = observed.root_unusable.clone().filter(|_| is_needed)?;
    Some((EtcdClusterReason::RootSecretInvalid, unusable))
}

/// Why members that require a user report nothing to the operator.
pub(super) fn required(observed: &Observed) -> String {
    let unusable = observed.root_unusable.clone();
    let why = match refusal(observed).map(|(_, why)| why).or(unusable) {
        Some(why) => why,
        None => format!("etcd requires authentication: give the operator the password of root with {ROOT_SECRET}"),
    };
    format!("the state of the members is unknown, so the operator only recreates deleted pods on their volumes; {why}")
}

/// Turns authentication on or off. All members are as desired here.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    let on = observed.cluster.spec.authentication.as_ref()?.enabled;
    let is_due = match observed.etcd.authentication {
        Authentication::Off => on,
        Authentication::On => !on,
        Authentication::Unknown | Authentication::RootRejected(_) => false,
    };
    let is_possible = observed.root_unusable.is_none()
        && observed.etcd.alarms.is_empty()
        && members.listed().all(|member| member.is_healthy() && member.ready);
    (is_due && is_possible).then_some(EtcdStep::SetAuthentication { on })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &'static str)]) -> Result<&'static str, String> {
        password("web-root", |key| files.iter().find(|(name, _)| *name == key).map(|(_, text)| *text))
    }

    #[test]
    fn a_secret_has_the_password_of_root() {
        assert_eq!(of(&[("password", "a:b c")]), Ok("a:b c"));
        assert_eq!(of(&[("username", "root"), ("password", "secret")]), Ok("secret"));
        for (files, why) in [
            (&[][..], "has no password"),
            (&[("password", "")], "has no password"),
            (&[("username", "admin"), ("password", "secret")], "is for the user \"admin\""),
            (&[("password", "secret\n")], "has a line break"),
        ] {
            let refused = of(files).unwrap_err();
            assert!(
                refused.contains(why) && refused.contains("web-root") && !refused.contains("secret\n"),
                "{refused}"
            );
        }
    }
}
