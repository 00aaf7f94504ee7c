//! The way of a catalog that is published: its image runs as a pod, and names bundles by their images, which Jobs unpack.

use e2e::cluster;
use e2e::olm::{Approval, CATALOG_OF_IMAGES, Install, OLM, condition, list, versions};
use serde_json::Value;

#[tokio::test]
async fn a_catalog_that_is_an_image_installs_bundles_that_are_images() {
    let _alone = cluster::alone().await;
    let versions = versions();
    let mut install = Install::for_all_namespaces().await.from_images();
    install.subscribe(Approval::Automatic, None).await;
    let took = install.succeeds(&versions.current).await;
    println!("images: Succeeded {took:.1?} after the Subscription, unpacked by a Job");

    let pods = list("pods", OLM).await;
    let serves = |pod: &&Value| pod["metadata"]["labels"]["olm.catalogSource"] == CATALOG_OF_IMAGES;
    let pod = pods.iter().find(serves).expect("the catalog is a pod");
    assert_eq!(condition(pod, "Ready"), "True", "{}", pod["status"]);

    let plans = list("installplans.operators.coreos.com", &install.namespace).await;
    let lookups = plans.iter().flat_map(|plan| plan["status"]["bundleLookups"].as_array().into_iter().flatten());
    let of_image = |lookup: &&Value| lookup["path"].as_str().is_some_and(|path| path.contains("-bundle@sha256:"));
    let lookup = lookups.filter(of_image).find(|lookup| lookup["identifier"] == *versions.current);
    assert!(lookup.is_some(), "the plan unpacked an image: {plans:?}");

    let jobs = list("jobs", OLM).await;
    let unpacked = |job: &&Value| {
        let image = &job["spec"]["template"]["spec"]["initContainers"][1]["image"];
        lookup.is_some_and(|lookup| *image == lookup["path"])
    };
    let job = jobs.iter().find(unpacked).expect("a Job for that image");
    assert_eq!(condition(job, "Complete"), "True", "{}", job["status"]);
    install.manager().await;
    install.nothing_was_forbidden().await;
    install.remove().await;
}
