//! The defaults of images.

/// The default pull policy of an image: one with a tag other than `latest`, or with a digest, need not be pulled again.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let (path, digest) = image.split_once('@').map_or((image, None), |(path, digest)| (path, Some(digest)));
    let tag = path.rsplit('/').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag);
    if tag.map_or(digest.is_none(), |tag| tag == "latest") { "Always" } else { "IfNotPresent" }
}
