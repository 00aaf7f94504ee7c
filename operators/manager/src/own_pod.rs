//! The Pod that this process runs in.

use runtime::plan::Key;

/// The environment variables that contain a pod's own namespace and name.
const OWN_POD: [(&str, &str); 2] = [("POD_NAMESPACE", "POD_NAME"), ("MY_POD_NAMESPACE", "MY_POD_NAME")];

/// Its namespace and name, if the environment has them.
pub fn key(environment: impl Fn(&str) -> Option<String>) -> Option<Key> {
    let variable = |name| environment(name).filter(|value| !value.is_empty());
    let (namespace, name) = OWN_POD.iter().find_map(|(namespace, name)| variable(namespace).zip(variable(name)))?;
    Some(Key::new(&namespace, &name))
}

/// Its namespace, if the environment has it.
pub fn namespace(environment: impl Fn(&str) -> Option<String>) -> Option<String> {
    OWN_POD.iter().find_map(|(namespace, _)| environment(namespace).filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_known_by_either_pair_of_variables() {
        let own = |variables: &[(&str, &str)]| {
            key(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        let old = [("MY_POD_NAMESPACE", "a"), ("MY_POD_NAME", "b")];
        assert_eq!(own(&old), Some(Key::new("a", "b")));
        let both = [("POD_NAMESPACE", "c"), ("POD_NAME", "d"), old[0], old[1]];
        assert_eq!(own(&both), Some(Key::new("c", "d")));
        assert_eq!(own(&[("POD_NAMESPACE", "c"), ("POD_NAME", ""), old[1]]), None);
    }
}
