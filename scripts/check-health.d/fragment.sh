# shellcheck shell=bash
# Writes kustomize/argocd/health/argocd-cm.yaml, a part of Argo CD's ConfigMap, from the Lua files.

CUSTOMIZATIONS=kustomize/argocd/resource_customizations
# shellcheck disable=SC2034 # of scripts/check-health
FRAGMENT=kustomize/argocd/health/argocd-cm.yaml

# Lines of a file as a block of YAML, indented by this many spaces; empty ones stay empty.
block() { sed -E "s/^(.)/$(printf '%*s' "$2" '')\1/" "$1"; }

# GROUP_KIND of each CRD, as Argo CD's keys name a kind.
kinds() { awk '/^  group: / { group = $2 } /^    kind: / { print group "_" $2 }' config/crd/bases/*.yaml | LC_ALL=C sort; }

# actions_of DISCOVERY: the names of the actions that the Lua lists.
actions_of() { sed -nE 's/^actions\["([^"]+)"\] = .*/\1/p' "$1" | LC_ALL=C sort; }

fragment() {
  local key discovery action
  cat <<'HEAD'
# Made by `scripts/check-health --write` from ../resource_customizations; how to include it: docs/health.md.
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
data:
HEAD
  for key in $(kinds); do
    printf '  resource.customizations.health.%s: |\n' "$key"
    block "$CUSTOMIZATIONS/health.lua" 4
    discovery=$CUSTOMIZATIONS/discovery/${key##*_}.lua
    [[ -f $discovery ]] || continue
    printf '  resource.customizations.actions.%s: |\n    discovery.lua: |\n' "$key"
    block "$discovery" 6
    printf '    definitions:\n'
    for action in $(actions_of "$discovery"); do
      printf '      - name: %s\n        action.lua: |\n' "$action"
      block "$CUSTOMIZATIONS/actions/$action.lua" 10
    done
  done
}

# Lua files that the fragment leaves out: of no kind, or of an action that no kind has.
unused_lua() {
  local file name
  for file in "$CUSTOMIZATIONS"/{discovery,actions}/*.lua; do
    name=$(basename "$file" .lua)
    case $file in
      */discovery/*) kinds | grep "_$name\$" >/dev/null || printf '%s\n' "$file" ;;
      *) cat "$CUSTOMIZATIONS"/discovery/*.lua | actions_of - | grep -x -- "$name" >/dev/null || printf '%s\n' "$file" ;;
    esac
  done
}
