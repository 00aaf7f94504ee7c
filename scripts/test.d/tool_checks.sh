# shellcheck shell=bash
# Checks by other projects' programs: these are built when first needed.

# The overlays need an API server, and no node: it is one without kubelet.
manifests() { with_its_inputs manifests check_kustomize; }
check_kustomize() { scripts/check-kustomize --self-test && scripts/check-kustomize; }

bundle() { scripts/check-bundle; }

# What shellcheck finds in their `run` lines counts too.
workflows() {
  require_programs shellcheck:shellcheck
  (ensure_tools actionlint actionlint) && "$(tool actionlint actionlint)"
}

rules() { with_its_inputs rules scripts/check-alerts; }
health() { with_its_inputs health scripts/check-health; }
