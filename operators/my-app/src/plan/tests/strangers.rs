//! What names a Deployment or a Service goes by the name alone.

use super::autoscaling::{kinds, scaled};
use super::route::{aside, by_gateway, by_ingress, settled};
use super::*;

/// It goes by the name of the Deployment, which may be somebody else's until ours is there.
#[test]
fn nothing_is_scaled_before_the_deployment_is_ours() {
    let app = scaled(2, 5);
    let made = plan(&observed(app.clone(), Seen::Absent), NOW);
    assert_eq!(kinds(&made), ["apply Deployment"]);
    assert_eq!(made.next, Next::After(std::time::Duration::from_secs(1)), "then it is looked at again");
}

/// It leads to the Service of the name, which may be somebody else's until ours is there.
#[test]
fn no_route_leads_to_a_service_that_is_not_ours() {
    for app in [by_gateway(), by_ingress()] {
        let made = plan(&Observed { service: Seen::Absent, ..settled(&app) }, NOW);
        assert_eq!(aside(&made), [""; 0]);
        assert!(matches!(made.next, Next::After(next) if next <= super::status::LOOK_AGAIN), "{:?}", made.next);
    }
}
