//! Pure: the exclusive places of a child, by kind: only we may fill them. docs/my-app.md ("Field ownership") describes them.

use std::sync::LazyLock;

use crate::plan::meta::ResourceKind;

/// The places of one kind, as a tree of steps.
#[derive(Debug, Default)]
pub struct FieldRules {
    pub(super) below: Vec<(RuleStep, FieldRules)>,
    pub(super) exclusive: Option<Exclusive>,
}

/// Marks a place as exclusive: a value that is not sent is removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exclusive {
    /// How many of the steps to this place must be sent for it to be exclusive.
    pub(super) within: usize,
    /// The value that the API server fills in, which may stay.
    pub(super) default: Option<&'static str>,
}

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleStep {
    /// A field, as FieldsV1 writes it.
    Field(String),
    /// Any field.
    Any,
    /// Any item of a list that has these keys.
    Items(Vec<String>),
}

/// A path, and the value that the API server fills in. `[..]` is any item of a list, by its keys in alphabetical order; `*` is
/// any field. The path up to the last `!` must be sent for the rest to be exclusive.
pub(super) type RuleLine = (&'static str, Option<&'static str>);

const SERVICE: &[RuleLine] =
    &[("spec/ports/[port,protocol]", None), ("spec/type", Some("ClusterIP")), ("spec/loadBalancerSourceRanges", None)];

/// Otherwise, an Ingress would serve more than the spec says, or with another certificate.
const INGRESS: &[RuleLine] = &[("spec/tls", None), ("spec/defaultBackend", None)];

/// The API server rejects both together.
const DISRUPTION_BUDGET: &[RuleLine] = &[("spec/minAvailable", None), ("spec/maxUnavailable", None)];

/// An entry that is in `data`, too: the API server rejects both together.
const CONFIG_MAP: &[RuleLine] = &[("binaryData/*", None)];

const DEPLOYMENT: &[RuleLine] = &[
    ("spec/progressDeadlineSeconds", Some("600")),
    ("spec/minReadySeconds", None),
    ("spec/revisionHistoryLimit", Some("10")),
    ("spec/strategy!/type", Some("RollingUpdate")),
    ("spec/strategy!/rollingUpdate/maxSurge", Some("25%")),
    ("spec/strategy!/rollingUpdate/maxUnavailable", Some("25%")),
];

const POD: &[RuleLine] = &[
    ("terminationGracePeriodSeconds", Some("30")),
    ("serviceAccountName", None),
    ("serviceAccount", None),
    // The security settings are rejected for an operating system other than Linux.
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

const CONTAINER: &[RuleLine] = &[
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
    // Each of them is rejected together with our security settings.
    ("securityContext/privileged", None),
    ("securityContext/capabilities/add", None),
    ("securityContext/capabilities/drop", None),
];

const PROBE: &[RuleLine] = &[
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

/// Fields of the handler of a probe or of `preStop`.
const HANDLER: &[RuleLine] = &[
    ("!/httpGet!/host", None),
    ("!/httpGet!/httpHeaders", None),
    ("!/httpGet!/path", Some("/")),
    ("!/httpGet!/scheme", Some("HTTP")),
    ("!/tcpSocket!/host", None),
];

/// The places of that kind.
#[must_use]
pub fn rules(kind: &ResourceKind) -> &'static FieldRules {
    static NONE: FieldRules = FieldRules { below: Vec::new(), exclusive: None };
    static SERVICES: LazyLock<FieldRules> = LazyLock::new(|| FieldRules::default().with("", SERVICE));
    static BUDGETS: LazyLock<FieldRules> = LazyLock::new(|| FieldRules::default().with("", DISRUPTION_BUDGET));
    static INGRESSES: LazyLock<FieldRules> = LazyLock::new(|| FieldRules::default().with("", INGRESS));
    static MAPS: LazyLock<FieldRules> = LazyLock::new(|| FieldRules::default().with("", CONFIG_MAP));
    static DEPLOYMENTS: LazyLock<FieldRules> = LazyLock::new(|| {
        let (pod, container) = ("spec/template/spec/", "spec/template/spec/containers/[name]!/");
        let rules = FieldRules::default().with("", DEPLOYMENT).with(pod, POD).with(container, CONTAINER);
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

impl FieldRules {
    /// The top-level fields that the rules name.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.below.iter().filter_map(|(step, _)| match step {
            RuleStep::Field(field) => field.strip_prefix("f:"),
            _ => None,
        })
    }

    pub(super) fn with(mut self, prefix: &str, lines: &[RuleLine]) -> Self {
        for (path, default) in lines {
            self.add(&format!("{prefix}{path}"), *default);
        }
        self
    }

    fn add(&mut self, path: &str, default: Option<&'static str>) {
        let within = path.rfind('!').map_or(0, |sent| path[..sent].split('/').count());
        let mut place = self;
        for part in path.split('/') {
            let step = RuleStep::parse(part.trim_end_matches('!'));
            let known = place.below.iter().position(|(other, _)| *other == step);
            let next = known.unwrap_or_else(|| {
                place.below.push((step, Self::default()));
                place.below.len() - 1
            });
            place = &mut place.below[next].1;
        }
        place.exclusive = Some(Exclusive { within, default });
    }
}

impl RuleStep {
    fn parse(part: &str) -> Self {
        match part.strip_prefix('[').and_then(|keys| keys.strip_suffix(']')) {
            Some(keys) => Self::Items(keys.split(',').map(str::to_owned).collect()),
            None if part == "*" => Self::Any,
            None => Self::Field(format!("f:{part}")),
        }
    }
}
