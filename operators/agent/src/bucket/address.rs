//! Pure: the URL of a bucket or account.

/// Where OSS is without an endpoint, as the archived coreos/etcd-operator has it, but with TLS.
const OSS: &str = "https://oss-cn-hangzhou.aliyuncs.com";
/// The domain of OSS's own hosts.
const OSS_DOMAIN: &str = ".aliyuncs.com";
/// The clouds of Azure by the names that the Secret of the archived operator has, with the domains of their blobs.
const CLOUDS: [(&str, &str); 4] = [
    ("AzurePublicCloud", "core.windows.net"),
    ("AzureChinaCloud", "core.chinacloudapi.cn"),
    ("AzureUSGovernmentCloud", "core.usgovcloudapi.net"),
    ("AzureGermanCloud", "core.cloudapi.de"),
];

/// The endpoint that requests go to; `None` is AWS, by the region. Without a scheme it is https, as for AWS's own tools.
pub(super) fn endpoint(given: Option<&str>, bucket: &str, path_style: bool) -> Option<String> {
    let given = given?.trim_end_matches('/');
    let (scheme, host) = given.split_once("://").unwrap_or(("https", given));
    Some(match path_style {
        true => format!("{scheme}://{host}"),
        false => format!("{scheme}://{bucket}.{host}"),
    })
}

/// The endpoint of OSS's S3-compatible API, with the bucket in the host, and the region. OSS serves it at its hosts `oss-REGION`, with `s3.`
/// before their names. Hosts of other domains are taken as they are.
pub(super) fn oss(given: Option<&str>, bucket: &str) -> Result<(String, String), String> {
    let given = given.unwrap_or(OSS).trim_end_matches('/');
    let (scheme, address) = given.split_once("://").unwrap_or(("https", given));
    let host = address.split(':').next().unwrap_or_default();
    let Some(name) = host.strip_suffix(OSS_DOMAIN) else {
        return Ok((format!("{scheme}://{bucket}.{address}"), "us-east-1".to_owned()));
    };
    let region = name.trim_start_matches("s3.").strip_prefix("oss-").map(|name| name.trim_end_matches("-internal"));
    match region.filter(|region| region.contains('-') && !region.contains('.')) {
        Some(region) => {
            Ok((format!("{scheme}://{bucket}.s3.{}", address.trim_start_matches("s3.")), region.to_owned()))
        }
        None => Err(format!(
            "oss.endpoint {given:?} is no endpoint of a region with OSS's S3-compatible API: use one such as \
             https://oss-eu-central-1.aliyuncs.com"
        )),
    }
}

/// The endpoint of an account's blobs in that cloud of Azure.
pub(super) fn azure(account: &str, cloud: Option<&str>) -> Result<String, String> {
    let cloud = cloud.unwrap_or(CLOUDS[0].0);
    let known = CLOUDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(cloud));
    let known = known
        .ok_or_else(|| format!("{cloud:?} is an unknown cloud; known are {}", CLOUDS.map(|(name, _)| name).join(", ")));
    known.map(|(_, domain)| format!("https://{account}.blob.{domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_is_part_of_the_host_or_of_the_path() {
        assert_eq!(endpoint(None, "b", false), None);
        assert_eq!(endpoint(Some("http://s:9000/"), "b", true).as_deref(), Some("http://s:9000"));
        assert_eq!(endpoint(Some("s3.example.com"), "b", false).as_deref(), Some("https://b.s3.example.com"));
    }

    #[test]
    fn oss_is_reached_by_its_hosts_for_the_api_of_s3() {
        let is = |given, url: &str, region: &str| assert_eq!(oss(given, "b"), Ok((url.to_owned(), region.to_owned())));
        is(None, "https://b.s3.oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou");
        is(Some("http://oss-eu-central-1.aliyuncs.com/"), "http://b.s3.oss-eu-central-1.aliyuncs.com", "eu-central-1");
        is(
            Some("oss-cn-beijing-internal.aliyuncs.com"),
            "https://b.s3.oss-cn-beijing-internal.aliyuncs.com",
            "cn-beijing",
        );
        is(Some("https://s3.oss-us-west-1.aliyuncs.com"), "https://b.s3.oss-us-west-1.aliyuncs.com", "us-west-1");
        is(Some("https://oss-eu-west-1.aliyuncs.com:443"), "https://b.s3.oss-eu-west-1.aliyuncs.com:443", "eu-west-1");
        is(Some("http://store:7070"), "http://b.store:7070", "us-east-1");
        for other in ["https://oss-accelerate.aliyuncs.com", "https://cn-hangzhou.oss.aliyuncs.com"] {
            assert!(oss(Some(other), "b").is_err_and(|why| why.contains("no endpoint of a region")), "{other}");
        }
    }

    #[test]
    fn an_account_of_azure_is_in_a_cloud() {
        assert_eq!(azure("a", None).as_deref(), Ok("https://a.blob.core.windows.net"));
        assert_eq!(azure("a", Some("AzureChinaCloud")).as_deref(), Ok("https://a.blob.core.chinacloudapi.cn"));
        assert!(azure("a", Some("cloud9")).is_err_and(|why| why.contains("AzurePublicCloud")));
    }
}
