# shellcheck shell=bash
# shellcheck disable=SC2016
# That a check can fail: a copy is broken in each way that has a message, and that message has to appear.

BROKEN=0

# broken MESSAGE FILE SED: with FILE of kustomize/ changed so, its directory is rejected with the message.
broken() {
  local message=$1 file=$2 change=$3 copy=$WORK/broken said
  rm -rf "$copy"
  mkdir "$copy"
  cp -r config kustomize "$copy/"
  sed -i "$change" "$copy/kustomize/$file"
  ! diff -q "kustomize/$file" "$copy/kustomize/$file" >/dev/null || die "the self-test changes nothing in $file: $change"
  ! said=$(structure "$copy" "kustomize/${file%/*}" 2>&1) || die "with $file broken there is no finding: $change; expected was: $message"
  grep -qE -- "$message" <<<"$said" || die "with $file broken ($change) the finding is not '$message': $said"
  BROKEN=$((BROKEN + 1))
}

broken_copies() {
  local overlay=overlays/staging/kustomization.yaml other=sha256:1111111111111111111111111111111111111111111111111111111111111111
  structure . >/dev/null || die "the unchanged kustomizations have faults: see above"
  broken 'names the component ../../components/monitorin, and there is none: there are .*monitoring' $overlay 's|components/monitoring|components/monitorin|'
  broken 'names ../../watched-namespace as a component, and it is none' $overlay 's|components/monitoring|watched-namespace|'
  broken 'names the resource ../../bases, and there is no such' $overlay 's|../../base$|../../bases|'
  broken 'the image is still "multi-operator", which stands for one' $overlay 's|name: multi-operator$|name: multi-operater|'
  broken 'the image registry.exmaple.com/multi-operator@.* is not the manager.s' $overlay 's|registry.example.com|registry.exmaple.com|'
  broken 'has no digest: what runs there has to be what was tried' $overlay 's|digest: .*|newTag: 0.1.0|'
  broken "the digest $other was never staging's" overlays/production/kustomization.yaml "s|digest: .*|digest: $other|"
  broken 'a replacement is for Deployment managr, and the build has no such object: it is not resolved' $overlay \
    '$a replacements:\n- source: {kind: Service, name: multi-operator-metrics, fieldPath: metadata.name}\n  targets:\n  - select: {kind: Deployment, name: managr}\n    fieldPaths: [metadata.annotations.service]\n    options: {create: true}'
  broken 'does not build: .*nothing selected' $overlay \
    '$a replacements:\n- source: {kind: Service, name: metrix, fieldPath: metadata.name}\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: [metadata.name]'
  broken 'has "REPLACE_ME" at spec.template.spec.priorityClassName: a replacement that is not resolved' overlays/production/manager_patch.yaml 's|value: multi-operator$|value: REPLACE_ME|'
  broken 'a patch is for Deployment managr, and the build has no such object' overlays/production/kustomization.yaml 's|    name: multi-operator-manager|    name: managr|'
  broken 'Deployment multi-operator-system/multi-operator-manager: at .*additional properties .replica. not allowed' components/high-availability/manager_patch.yaml 's|replicas:|replica:|'
  broken 'SampleDB dev/orders: at .*/spec/deletion/policy' instances/dev/small_patch.yaml 's|policy: Delete|policy: Deleted|'
  broken 'sets LOG_FORMT, and the manager has no such variable' $overlay 's|LOG_FORMAT|LOG_FORMT|'
  broken 'Subscription .* sets LOG_FORMT' olm/overlays/staging/subscription_patch.yaml 's|LOG_FORMAT|LOG_FORMT|'
  broken 'takes variables from the ConfigMap "multi-operator-trace", which the build' components/tracing/kustomization.yaml 's|            name: multi-operator-tracing|            name: multi-operator-trace|'
  broken 'grants permissions to the account multi-operator-system/multi-operator-manger, which the build does not have' watched-namespace/role_binding.yaml '/subjects/,$s|multi-operator-manager|multi-operator-manger|'
  broken 'is in a foreign namespace' components/high-availability/disruption_budget.yaml 's|namespace: .*|namespace: multi-operator|'
  broken 'Namespace production is not annotated argocd.argoproj.io/sync-options' instances/production/namespace.yaml 's|,Delete=false||'
  broken 'Namespace multi-operator-system is not annotated kustomize.toolkit.fluxcd.io/prune' olm/base/namespace.yaml 's|prune: disabled|prune: enabled|'
  broken 'Namespace staging has no label pod-security.kubernetes.io/enforce' instances/staging/namespace.yaml '/enforce:/d'
  broken 'selects by the label version, which changes' components/high-availability/disruption_budget.yaml '$a \      version: v1'
  broken 'has data: a secret has no place in git' components/external-secrets/pull_secret.yaml \
    '$a ---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: multi-operator-system}\nstringData: {password: hunter2}'
  broken 'secretGenerator would put a secret into git: \[login\]' $overlay '$a secretGenerator:\n- name: login\n  literals: [password=hunter2]'
  broken 'the field commonLabels is deprecated: labels takes its place' $overlay '$a commonLabels:\n  a: b'
}
