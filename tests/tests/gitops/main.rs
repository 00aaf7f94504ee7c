//! What Argo CD's own programs do with kustomize/, on three clusters, one per environment (`scripts/argocd up --local`). One file
//! per behavior. Tests that change dev only take turns, while another one may read staging and production.

mod actions;
mod bad_spec;
mod converges;
mod crd_kept;
mod deletion;
mod projects;
mod promotion;
mod self_heal;
mod soak;
mod stage;
mod tracking;
