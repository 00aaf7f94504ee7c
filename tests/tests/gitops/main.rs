//! What Argo CD's own programs make of kustomize/, on three clusters, one an environment (`scripts/argocd up --local`). One
//! file a behaviour. Tests that only touch dev take turns, while another one looks at staging and production.

mod actions;
mod bad_spec;
mod converges;
mod crd_kept;
mod deletion;
mod heal;
mod projects;
mod promotion;
mod soak;
mod stage;
mod tracking;
