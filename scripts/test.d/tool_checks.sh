# shellcheck shell=bash
# Checks by other projects' programs: these are built when first needed.

# The overlays need an API server, and no node: it is one without kubelet.
manifests() { scripts/check-kustomize --self-test && scripts/check-kustomize; }

bundle() { scripts/check-bundle; }

# What shellcheck finds in their `run` lines counts too.
workflows() {
  require_programs shellcheck:shellcheck
  (ensure_tools actionlint actionlint) && "$(tool actionlint actionlint)"
}

rules() { scripts/check-alerts; }
health() { scripts/check-health; }
