//! Pure: which places of a child are ours alone, by kind. docs/my-app.md ("What is ours") says the same in words.

use std::sync::LazyLock;

use crate::plan::meta::Kind;

/// The places of one kind, as a tree of steps.
#[derive(Debug, Default)]
pub struct Rules {
    pub(super) below: Vec<(Step, Rules)>,
    pub(super) alone: Option<Alone>,
}

/// What is here is ours alone: if it is not sent, it is to go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    /// So many of the steps that lead here must be sent for the place to be ours.
    pub(super) within: usize,
    /// The value that the API server fills in, which may stay.
    pub(super) default: Option<&'static str>,
}

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A field, as FieldsV1 writes it.
    Field(String),
    /// Any field.
    Any,
    /// Any item of a list that has these keys.
    Items(Vec<String>),
}

/// A path, and the value that the API server fills in. `[..]` is any item of a list, by its keys in alphabetical order; `*` is
/// any field. Up to the last `!` a path must be sent for the rest to be ours.
pub(super) type Line = (&'static str, Option<&'static str>);

const SERVICE: &[Line] =
    &[("spec/ports/[port,protocol]", None), ("spec/type", Some("ClusterIP")), ("spec/loadBalancerSourceRanges", None)];

/// More would be served than the spec says, or by another certificate.
const INGRESS: &[Line] = &[("spec/tls", None), ("spec/defaultBackend", None)];

/// The API server refuses both.
const DISRUPTION_BUDGET: &[Line] = &[("spec/minAvailable", None), ("spec/maxUnavailable", None)];

/// An entry that is in `data`, too: the API server refuses both.
const CONFIG_MAP: &[Line] = &[("binaryData/*", None)];

const DEPLOYMENT: &[Line] = &[
    ("spec/progressDeadlineSeconds", Some("600")),
    ("spec/minReadySeconds", None),
    ("spec/revisionHistoryLimit", Some("10")),
    ("spec/strategy!/type", Some("RollingUpdate")),
    ("spec/strategy!/rollingUpdate/maxSurge", Some("25%")),
    ("spec/strategy!/rollingUpdate/maxUnavailable", Some("25%")),
];

const POD: &[Line] = &[
    ("terminationGracePeriodSeconds", Some("30")),
    ("serviceAccountName", None),
    ("serviceAccount", None),
    // What confines pods is refused beside another system than Linux.
    ("os", None),
    ("securityContext/runAsNonRoot", None),
    ("securityContext/seccompProfile!/localhostProfile", None),
    ("volumes/[name]!/*", None),
    ("volumes/[name]!/configMap!/items", None),
    ("volumes/[name]!/configMap!/optional", None),
    ("volumes/[name]!/configMap!/defaultMode", Some("420")),
    ("volumes/[name]!/secret!/items", None),
    ("volumes/[name]!/secret!/optional", None),
    ("volumes/[name]!/secret!/defaultMode", Some("420")),
    ("volumes/[name]!/projected!/defaultMode", Some("420")),
    ("volumes/[name]!/emptyDir!/medium", None),
    ("volumes/[name]!/persistentVolumeClaim!/readOnly", None),
];

const CONTAINER: &[Line] = &[
    ("command", None),
    ("args", None),
    ("workingDir", None),
    ("ports/[containerPort,protocol]", None),
    ("ports/[containerPort,protocol]!/hostIP", None),
    ("ports/[containerPort,protocol]!/hostPort", None),
    ("env/[name]!/*", None),
    ("env/[name]!/valueFrom!/*", None),
    ("envFrom", None),
    ("resources/limits/*", None),
    ("resources/requests/*", None),
    ("lifecycle/preStop", None),
    ("lifecycle/preStop!/*", None),
    ("volumeMounts/[mountPath]!/readOnly", None),
    ("volumeMounts/[mountPath]!/recursiveReadOnly", None),
    ("volumeMounts/[mountPath]!/subPath", None),
    ("volumeMounts/[mountPath]!/subPathExpr", None),
    // A volume is not both mounted and a device.
    ("volumeDevices/[devicePath]", None),
    // Each of them is refused beside what confines a container.
    ("securityContext/privileged", None),
    ("securityContext/capabilities/add", None),
    ("securityContext/capabilities/drop", None),
];

const PROBE: &[Line] = &[
    ("", None),
    ("!/exec", None),
    ("!/grpc", None),
    ("!/grpc!/service", Some("")),
    ("!/httpGet", None),
    ("!/tcpSocket", None),
    ("!/initialDelaySeconds", None),
    ("!/timeoutSeconds", Some("1")),
    ("!/periodSeconds", Some("10")),
    ("!/successThreshold", Some("1")),
    ("!/failureThreshold", Some("3")),
];

/// Of a probe, or of what is done before a container stops.
const HANDLER: &[Line] = &[
    ("!/httpGet!/host", None),
    ("!/httpGet!/httpHeaders", None),
    ("!/httpGet!/path", Some("/")),
    ("!/httpGet!/scheme", Some("HTTP")),
    ("!/tcpSocket!/host", None),
];

/// The places of that kind.
#[must_use]
pub fn rules(kind: &Kind) -> &'static Rules {
    static NONE: Rules = Rules { below: Vec::new(), alone: None };
    static SERVICES: LazyLock<Rules> = LazyLock::new(|| Rules::default().with("", SERVICE));
    static BUDGETS: LazyLock<Rules> = LazyLock::new(|| Rules::default().with("", DISRUPTION_BUDGET));
    static INGRESSES: LazyLock<Rules> = LazyLock::new(|| Rules::default().with("", INGRESS));
    static MAPS: LazyLock<Rules> = LazyLock::new(|| Rules::default().with("", CONFIG_MAP));
    static DEPLOYMENTS: LazyLock<Rules> = LazyLock::new(|| {
        let (pod, container) = ("spec/template/spec/", "spec/template/spec/containers/[name]!/");
        let rules = Rules::default().with("", DEPLOYMENT).with(pod, POD).with(container, CONTAINER);
        let probes = ["startupProbe", "readinessProbe", "livenessProbe"];
        let rules = probes.iter().fold(rules, |rules, probe| rules.with(&format!("{container}{probe}"), PROBE));
        let handlers = probes.iter().chain(&["lifecycle/preStop"]);
        handlers.fold(rules, |rules, handler| rules.with(&format!("{container}{handler}"), HANDLER))
    });
    match kind.plural {
        "services" => &SERVICES,
        "poddisruptionbudgets" => &BUDGETS,
        "ingresses" => &INGRESSES,
        "configmaps" => &MAPS,
        "deployments" => &DEPLOYMENTS,
        _ => &NONE,
    }
}

impl Rules {
    /// The top-level fields that they speak of.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.below.iter().filter_map(|(step, _)| match step {
            Step::Field(field) => field.strip_prefix("f:"),
            _ => None,
        })
    }

    pub(super) fn with(mut self, prefix: &str, lines: &[Line]) -> Self {
        for (path, default) in lines {
            self.add(&format!("{prefix}{path}"), *default);
        }
        self
    }

    fn add(&mut self, path: &str, default: Option<&'static str>) {
        let within = path.rfind('!').map_or(0, |sent| path[..sent].split('/').count());
        let mut place = self;
        for part in path.split('/') {
            let step = Step::parse(part.trim_end_matches('!'));
            let known = place.below.iter().position(|(other, _)| *other == step);
            let next = known.unwrap_or_else(|| {
                place.below.push((step, Self::default()));
                place.below.len() - 1
            });
            place = &mut place.below[next].1;
        }
        place.alone = Some(Alone { within, default });
    }
}

impl Step {
    fn parse(part: &str) -> Self {
        match part.strip_prefix('[').and_then(|keys| keys.strip_suffix(']')) {
            Some(keys) => Self::Items(keys.split(',').map(str::to_owned).collect()),
            None if part == "*" => Self::Any,
            None => Self::Field(format!("f:{part}")),
        }
    }
}
