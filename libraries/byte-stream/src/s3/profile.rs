//! Parses the files `credentials` and `config` that AWS's programs share. It does no I/O.

/// One line: its section, its key and its value. A key below another one is `above.below`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProfileLine {
    section: String,
    key: String,
    value: String,
}

/// The profiles of both files.
#[derive(Clone, Default)]
pub(crate) struct Profiles {
    credentials: Vec<ProfileLine>,
    config: Vec<ProfileLine>,
}

impl Profiles {
    pub(crate) fn new(credentials: &str, config: &str) -> Profiles {
        Profiles { credentials: lines(credentials), config: lines(config) }
    }

    /// Whether one of the files has this profile.
    pub(crate) fn has(&self, profile: &str) -> bool {
        let in_config = section_of(profile);
        self.credentials.iter().any(|line| line.section == profile)
            || self.config.iter().any(|line| line.section == in_config)
    }

    /// The value of a key of a profile: that of `credentials`, else that of `config`.
    pub(crate) fn value(&self, profile: &str, key: &str) -> Option<&str> {
        find(&self.credentials, profile, key)
            .or_else(|| find(&self.config, &section_of(profile), key))
    }

    /// The value of a key of another section of `config`, such as `services NAME`.
    pub(crate) fn section_value(&self, section: &str, key: &str) -> Option<&str> {
        find(&self.config, section, key)
    }
}

/// The section of a profile in `config`.
fn section_of(profile: &str) -> String {
    if profile == "default" { profile.to_owned() } else { format!("profile {profile}") }
}

/// The last value counts.
fn find<'a>(lines: &'a [ProfileLine], section: &str, key: &str) -> Option<&'a str> {
    let found = lines.iter().rfind(|line| line.section == section && line.key == key)?;
    Some(found.value.as_str()).filter(|value| !value.is_empty())
}

fn lines(text: &str) -> Vec<ProfileLine> {
    let mut found: Vec<ProfileLine> = Vec::new();
    let mut section = String::new();
    // The key that indented lines belong to.
    let mut above: Option<String> = None;
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[') {
            let name = name.split_once(']').map_or(name, |(name, _)| name);
            section =
                name.replace(['"', '\''], " ").split_whitespace().collect::<Vec<_>>().join(" ");
            above = None;
            let line =
                ProfileLine { section: section.clone(), key: String::new(), value: String::new() };
            found.push(line);
            continue;
        }
        let Some((key, value)) = content.split_once('=') else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().to_owned());
        let is_indented = line.starts_with([' ', '\t']);
        let key = if let Some(above) = above.as_ref().filter(|_| is_indented) {
            format!("{above}.{key}")
        } else {
            above = value.is_empty().then(|| key.clone());
            key
        };
        found.push(ProfileLine { section: section.clone(), key, value });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_in_both_files() {
        let credentials = "[default]\naws_access_key_id = A\n# a comment\n; another\n\n\
                           [ x ]\naws_access_key_id=B\naws_secret_access_key = a=b \n";
        let config = "[default]\nregion = eu-west-1\naws_access_key_id = C\n\
                      [profile x]\nREGION = eu-west-2\nregion = eu-west-3\ns3 =\n  \
                      addressing_style = virtual\n\tother = 1\noutput = json\nservices = local\n\
                      [profile \"a b\"]\nregion = r\n\
                      [services local]\ns3 =\n  endpoint_url = http://h\n";
        let profiles = Profiles::new(credentials, config);
        let check = |profile: &str, key: &str, expected: Option<&str>| {
            assert_eq!(profiles.value(profile, key), expected, "{profile} {key}");
        };
        check("default", "aws_access_key_id", Some("A"));
        check("default", "region", Some("eu-west-1"));
        check("x", "aws_access_key_id", Some("B"));
        check("x", "aws_secret_access_key", Some("a=b"));
        check("x", "region", Some("eu-west-3"));
        check("x", "s3.addressing_style", Some("virtual"));
        check("x", "s3.other", Some("1"));
        check("x", "output", Some("json"));
        check("x", "s3", None);
        check("a b", "region", Some("r"));
        check("y", "region", None);
        assert!(profiles.has("x") && profiles.has("a b") && !profiles.has("y"));
        let endpoint = profiles.section_value("services local", "s3.endpoint_url");
        assert_eq!(endpoint, Some("http://h"));
    }

    #[test]
    fn any_text_is_read() {
        let profiles = Profiles::new("a = b\n[x\nc\n=d\n[]\n", "\u{feff}");
        assert!(profiles.has("x") && !profiles.has("profile x"));
        assert_eq!(Profiles::default().value("default", "region"), None);
    }
}
