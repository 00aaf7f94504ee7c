//! Pure: the URL of a bucket.

/// The endpoint that requests go to; `None` is AWS, by the region. Without a scheme it is https, as for AWS's own tools.
pub(super) fn endpoint(given: Option<&str>, bucket: &str, path_style: bool) -> Option<String> {
    let given = given?.trim_end_matches('/');
    let (scheme, host) = given.split_once("://").unwrap_or(("https", given));
    Some(match path_style {
        true => format!("{scheme}://{host}"),
        false => format!("{scheme}://{bucket}.{host}"),
    })
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
}
