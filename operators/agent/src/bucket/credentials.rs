//! Pure: credentials as AWS's own tools write them, in profiles of `key = value` lines.

/// The profile that is used.
const PROFILE: &str = "default";

/// The credentials for a store, and its region. There is no `Debug`, so that no log has them.
#[derive(PartialEq, Eq)]
pub(super) struct BucketCredentials {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: String,
    pub(super) session_token: Option<String>,
    pub(super) region: Option<String>,
}

/// The credentials in the files `credentials` and `config`.
pub(super) fn parse(credentials: Option<&str>, config: Option<&str>) -> Result<BucketCredentials, String> {
    let credentials = credentials.ok_or(
        "there is no file `credentials`: the Secret does not exist, or has no such key; it needs one with a file as \
         AWS's tools write it",
    )?;
    let required = |key: &str| {
        value(credentials, key).ok_or_else(|| format!("the file `credentials` has no {key} in its profile [{PROFILE}]"))
    };
    Ok(BucketCredentials {
        access_key_id: required("aws_access_key_id")?,
        secret_access_key: required("aws_secret_access_key")?,
        session_token: value(credentials, "aws_session_token"),
        region: config.and_then(|config| value(config, "region")).or_else(|| value(credentials, "region")),
    })
}

/// A value of the profile.
fn value(text: &str, key: &str) -> Option<String> {
    let mut profile = String::new();
    let mut found = None;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            profile = name.trim().trim_start_matches("profile ").trim().to_owned();
        } else if let Some((name, value)) = line.split_once('=').filter(|_| profile == PROFILE)
            && name.trim() == key
        {
            found = Some(value.trim().to_owned());
        }
    }
    found.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# mine\n[other]\naws_access_key_id = no\n[default]\naws_access_key_id=AK\naws_secret_access_key = s/e=c\n";

    #[test]
    fn the_default_profile_has_the_credentials() {
        let read = parse(Some(FILE), Some("[default]\nregion = eu-west-1\noutput = json\n")).ok().unwrap();
        assert!(read.session_token.is_none() && read.region.as_deref() == Some("eu-west-1"));
        assert!(read.access_key_id == "AK" && read.secret_access_key == "s/e=c");
        let with_token = format!("{FILE}aws_session_token = t\n");
        let read = parse(Some(&with_token), Some("[profile default]\nregion=r")).ok().unwrap();
        assert!(read.session_token.as_deref() == Some("t") && read.region.as_deref() == Some("r"));
    }

    #[test]
    fn what_is_missing_is_named_and_no_value_is() {
        let why = |credentials| parse(credentials, None).err().unwrap();
        assert!(why(None).contains("no file `credentials`"));
        let why = why(Some("[default]\naws_access_key_id = AK\naws_secret_access_key =\n"));
        assert!(why.contains("no aws_secret_access_key") && !why.contains("AK"), "{why}");
    }
}
