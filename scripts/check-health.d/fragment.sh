# shellcheck shell=bash
# kustomize/argocd/health/argocd-cm.yaml, made of the Lua files: a part of Argo CD's ConfigMap.

CUSTOMIZATIONS=kustomize/argocd/resource_customizations
# shellcheck disable=SC2034 # of scripts/check-health
FRAGMENT=kustomize/argocd/health/argocd-cm.yaml

# Lines of a file as a block of YAML, so far in; empty ones stay empty.
block() { sed -E "s/^(.)/$(printf '%*s' "$2" '')\1/" "$1"; }

fragment() {
  local kind group key action
  cat <<'HEAD'
# Made by `scripts/check-health --write` from ../resource_customizations; how to include it: docs/health.md.
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
data:
HEAD
  for kind in "$CUSTOMIZATIONS"/*/*; do
    group=$(basename "$(dirname "$kind")")
    key=${group}_$(basename "$kind")
    printf '  resource.customizations.health.%s: |\n' "$key"
    block "$kind/health.lua" 4
    [[ -d $kind/actions ]] || continue
    printf '  resource.customizations.actions.%s: |\n    discovery.lua: |\n' "$key"
    block "$kind/actions/discovery.lua" 6
    printf '    definitions:\n'
    for action in "$kind"/actions/*/action.lua; do
      printf '      - name: %s\n        action.lua: |\n' "$(basename "$(dirname "$action")")"
      block "$action" 10
    done
  done
}
