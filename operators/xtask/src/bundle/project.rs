//! The names of a release, from `scripts/names.env`, which scripts read too.

/// The constants of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// The package's name in a catalog.
    pub package: String,
    /// The manager's image, without its tag.
    pub image: String,
    /// The architectures of the image, by Go's names.
    pub architectures: Vec<String>,
    /// The URL of the project.
    pub url: String,
    /// The name of the provider.
    pub provider: String,
    /// The name of the maintainer.
    pub maintainer: String,
    /// The address of the maintainer.
    pub email: String,
}

impl Project {
    /// Reads lines such as `NAME=value` and `NAME="a value"`.
    ///
    /// # Errors
    /// If a name is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"').to_owned());
            found.filter(|value| !value.is_empty()).ok_or_else(|| format!("scripts/names.env: {name} is missing"))
        };
        Ok(Self {
            package: value("PACKAGE")?,
            image: value("RELEASE_IMAGE")?,
            architectures: value("RELEASE_ARCHITECTURES")?.split_whitespace().map(str::to_owned).collect(),
            url: value("PROJECT_URL")?,
            provider: value("PROVIDER")?,
            maintainer: value("MAINTAINER_NAME")?,
            email: value("MAINTAINER_EMAIL")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_name_is_reported_and_quotes_are_removed() {
        let text = "# names\nPACKAGE=p\nRELEASE_IMAGE=r.example.com/p\nRELEASE_ARCHITECTURES=\"amd64 arm64\"\n\
                    PROJECT_URL=https://p.example.com\nPROVIDER=p\nMAINTAINER_NAME=\"P and Q\"\n";
        assert!(Project::parse(text).unwrap_err().contains("MAINTAINER_EMAIL"));
        let project = Project::parse(&format!("{text}MAINTAINER_EMAIL=p@p.example.com\n")).unwrap();
        assert_eq!(project.architectures, ["amd64", "arm64"]);
        assert_eq!(project.maintainer, "P and Q");
    }
}
