//! Every field of an HTTPRoute, edited by others in each way, as `in_cluster/every_field.rs` does it for the children whose kinds
//! every cluster has.

use api::my_app::MyApp;
use e2e::sweep::{Child, of_others, swept};

use crate::stage::{gateway, my_app};

#[tokio::test]
async fn is_reverted_or_listed_as_foreign() {
    let route = my_app("web", 0, "{host: sweep.example.com, path: /shop, gateway: {name: public}}");
    let child = Child {
        group: "gateway.networking.k8s.io",
        version: "v1",
        kind: "HTTPRoute",
        manifest: format!("{}---\n{route}", gateway("{from: Same}")),
        foreign: of_others(&[]),
        ..Child::default()
    };
    swept::<MyApp>(&child).await;
}
