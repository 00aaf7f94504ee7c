//! Each alert fires because what it is about has happened: a real Prometheus scrapes the manager and has the rules that
//! kustomize renders, with their times divided (`scripts/monitoring up --faster 20`). All run side by side, but for those
//! that stop the manager.

mod databases;
mod etcd;
mod manager;
