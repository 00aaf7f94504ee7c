//! Routes of MyApps, by requests through a real controller of Ingresses and Gateways (`scripts/gateways up`), which is Traefik.
//! All run side by side: each has hosts of its own.

mod cert;
mod consent;
mod every_field;
mod gateway;
mod hosts;
mod ingress;
mod requests;
mod stage;
mod traffic;
