//! Parses URLs of HTTP and resolves redirects, both as browsers do (the URL Standard), and finds
//! the credentials for a host. Other schemes are errors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{ParseError, Position};

use crate::{Error, ErrorKind, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) secure: bool,
    /// In lower case, in ASCII (IDNA), without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// `user:password`, decoded.
    pub(crate) user: Option<Vec<u8>>,
    parsed: url::Url,
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Url> {
        // The standard removes them, as they are often copied with a URL; here they show that the
        // caller has not encoded its parts.
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(invalid("is malformed; characters such as spaces are written as %20"));
        }
        Url::from_parsed(url::Url::parse(text).map_err(|error| invalid(reason(error)))?)
    }

    fn from_parsed(parsed: url::Url) -> Result<Url> {
        let secure = match parsed.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(invalid("is neither http:// nor https://")),
        };
        let host = parsed.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Url {
            secure,
            host,
            port: parsed.port_or_known_default().unwrap_or_default(),
            target: parsed[Position::BeforePath..Position::AfterQuery].to_owned(),
            user: credentials(&parsed),
            parsed,
        })
    }

    /// Resolves a `Location`. A redirect never leads from https to http, nor to another scheme.
    pub(crate) fn redirect(&self, location: &str) -> Result<Url> {
        let refuse = |text: String| Error::new(ErrorKind::Redirect, text);
        let next = self.parsed.join(location);
        let next = next.map_err(|_| refuse("a redirect to a malformed address".to_owned()))?;
        let next = Url::from_parsed(next)
            .map_err(|error| refuse(format!("a redirect that is refused: {}", error.message())))?;
        if self.secure && !next.secure {
            return Err(refuse("a redirect from https to http is refused".to_owned()));
        }
        Ok(next)
    }

    /// The same server with this path and query, as they are sent.
    pub(crate) fn with_target(self, target: String) -> Url {
        Url { target, ..self }
    }

    /// Whether both have the same scheme, host and port: only that server may get credentials.
    pub(crate) fn same_origin(&self, other: &Url) -> bool {
        (self.secure, self.port) == (other.secure, other.port) && self.host == other.host
    }

    /// The value of `Host`.
    pub(crate) fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            _ => format!("{host}:{}", self.port),
        }
    }

    /// The URL without its credentials and its fragment.
    pub(crate) fn shown(&self) -> String {
        let before = &self.parsed[..Position::BeforeUsername];
        [before, &self.parsed[Position::BeforeHost..Position::AfterQuery]].concat()
    }

    /// The credentials of `Basic …`, if the URL has a user.
    pub(crate) fn basic(&self) -> Option<String> {
        self.user.as_deref().map(|user| STANDARD.encode(user))
    }
}

/// `user:password` of a URL, decoded. The colon is there even without a password (RFC 7617).
pub(super) fn credentials(parsed: &url::Url) -> Option<Vec<u8>> {
    let both = [parsed.username(), parsed.password().unwrap_or_default()].join(":");
    (both != ":").then(|| percent_encoding::percent_decode_str(&both).collect())
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidUse, format!("the URL {what}"))
}

fn reason(error: ParseError) -> &'static str {
    match error {
        ParseError::EmptyHost => "has no host",
        ParseError::InvalidPort => "has a port that is not a number up to 65535",
        ParseError::IdnaError | ParseError::InvalidDomainCharacter => "has an invalid host name",
        ParseError::InvalidIpv4Address | ParseError::InvalidIpv6Address => {
            "has an invalid address as its host"
        }
        _ => "is malformed",
    }
}

/// `login:password` of the first entry for this host, or of the entry `default`, in the text of a
/// `.netrc` file. It does no I/O.
pub(crate) fn find_credentials(text: &str, host: &str) -> Result<Option<Vec<u8>>> {
    let mut words = NetrcWords { text, rest: text };
    let (mut login, mut password) = (None, None);
    let mut is_ours = false;
    while let Some(word) = words.keyword() {
        match word {
            "machine" | "default" if is_ours => break,
            "machine" => is_ours = words.value(word)?.eq_ignore_ascii_case(host),
            "default" => is_ours = true,
            "login" | "password" => {
                let value = words.value(word)?;
                let known = if word == "login" { &mut login } else { &mut password };
                if is_ours {
                    *known = Some(value);
                }
            }
            "account" => drop(words.value(word)?),
            "macdef" => words.skip_macro(),
            // Other programs may add their own words.
            _ => {}
        }
    }
    let is_known = login.is_some() || password.is_some();
    let both = || [login.unwrap_or_default(), password.unwrap_or_default()].join(":");
    Ok(is_known.then(|| both().into_bytes()))
}

struct NetrcWords<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> NetrcWords<'a> {
    /// The next word outside of comments.
    fn keyword(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return Some(self.word()).filter(|word| !word.is_empty());
            }
            self.skip_line();
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// The word behind a keyword, which may stand in quotes.
    fn value(&mut self, keyword: &str) -> Result<String> {
        self.rest = self.rest.trim_start();
        if let Some(quoted) = self.rest.strip_prefix('"') {
            return self.quoted(quoted);
        }
        match self.word() {
            "" => Err(self.wrong(&format!("nothing follows `{keyword}`"))),
            word => Ok(word.to_owned()),
        }
    }

    fn quoted(&mut self, quoted: &'a str) -> Result<String> {
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            let c = match c {
                '"' => {
                    self.rest = &quoted[at + 1..];
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 'r')) => '\r',
                    Some((_, 't')) => '\t',
                    Some((_, other)) => other,
                    None => break,
                },
                c => c,
            };
            value.push(c);
        }
        Err(self.wrong("a quotation mark is not closed"))
    }

    /// A macro ends with an empty line.
    fn skip_macro(&mut self) {
        self.skip_line();
        while !self.rest.is_empty() {
            let is_last = self.rest.lines().next().is_none_or(str::is_empty);
            self.skip_line();
            if is_last {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn wrong(&self, what: &str) -> Error {
        let before = &self.text[..self.text.len() - self.rest.len()];
        let line = 1 + before.matches('\n').count();
        Error::new(ErrorKind::InvalidUse, format!("the netrc file, line {line}: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let got = match Url::parse(text) {
            Ok(url) => format!("{} {} {} {}", url.secure, url.authority(), url.port, url.target),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn a_url_is_taken_apart() {
        check("http://a", "false a 80 /");
        check("HTTPS://a:8443/b?c#d", "true a:8443 8443 /b?c");
        check("http://[::1]:80/x", "false [::1] 80 /x");
        check("http://a?q", "false a 80 /?q");
        check("http://", "the URL has no host");
        check("http://a:99999/", "the URL has a port that is not a number up to 65535");
        check("http://[::1/", "the URL has an invalid address as its host");
        check("http://a|b/", "the URL has an invalid host name");
        check("http://BÜCHER.example/ü?ß", "false xn--bcher-kva.example 80 /%C3%BC?%C3%9F");
        check("http://127.1/", "false 127.0.0.1 80 /");
        check("ftp://a/", "the URL is neither http:// nor https://");
        check("http://a/ b", "the URL is malformed; characters such as spaces are written as %20");
        check(
            "http://a/\r\nX: y",
            "the URL is malformed; characters such as spaces are written as %20",
        );
    }

    fn check_redirect(from: &str, location: &str, expected: &str) {
        let got = match Url::parse(from).unwrap().redirect(location) {
            Ok(url) => url.parsed.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{from} {location}");
    }

    #[test]
    fn a_redirect_is_relative_to_where_it_came_from_and_stays_in_http() {
        check_redirect("http://a/b/c?d", "e", "http://a/b/e");
        check_redirect("http://a/b/c", "../../e?f", "http://a/e?f");
        check_redirect("http://a/b", "//c/d", "http://c/d");
        check_redirect("http://a/", "https://b/", "https://b/");
        let text = "a redirect from https to http is refused";
        check_redirect("https://a/", "http://a/", text);
        let text = "a redirect that is refused: the URL is neither http:// nor https://";
        check_redirect("http://a/", "file:///etc/passwd", text);
        check_redirect("http://a/", "http://b:x/", "a redirect to a malformed address");
    }

    #[test]
    fn a_redirect_is_read_as_browsers_do() {
        check_redirect("http://a/b", " /c d ", "http://a/c%20d");
        check_redirect("http://a/b", "\\c\\d", "http://a/c/d");
        check_redirect("http://a/b", "/c[1]?d[2]={3}", "http://a/c[1]?d[2]={3}");
        check_redirect("http://a/b", "//b%C3%BCcher.example", "http://xn--bcher-kva.example/");
        check_redirect("http://a/b", "/%c3%bc%E9/ü", "http://a/%c3%bc%E9/%C3%BC");
        check_redirect("http://a/b/c/d", "./../%2e%2e/e#f", "http://a/e#f");
        check_redirect("http://[::1]:8080/b", "?c", "http://[::1]:8080/b?c");
    }

    #[test]
    fn credentials_are_for_one_origin() {
        let url = |text| Url::parse(text).unwrap();
        assert!(url("http://A/x").same_origin(&url("http://a:80/y")));
        assert!(!url("http://a/").same_origin(&url("https://a/")));
        assert!(!url("http://a/").same_origin(&url("http://a:8080/")));
        assert_eq!(url("http://u%40:p@a/").basic().unwrap(), "dUA6cA==");
    }

    #[test]
    fn a_user_without_a_password_has_a_colon() {
        for (text, expected) in [
            ("http://me@a/", Some("bWU6")),
            ("http://me:@a/", Some("bWU6")),
            ("http://me:pw@a/", Some("bWU6cHc=")),
            ("http://:pw@a/", Some("OnB3")),
            ("http://@a/", None),
            ("http://a/", None),
        ] {
            assert_eq!(Url::parse(text).unwrap().basic().as_deref(), expected, "{text}");
        }
    }
}

#[cfg(test)]
mod netrc_tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let got = match find_credentials(text, "host") {
            Ok(found) => found.map_or("none".to_owned(), |user| String::from_utf8(user).unwrap()),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn the_first_entry_for_the_host_or_the_default_counts() {
        check("machine host login me password pw", "me:pw");
        check("machine\nHOST\n\tpassword pw\n\tlogin me\r\n", "me:pw");
        check("machine other login x password y machine host login me password pw", "me:pw");
        check("machine host login a password b machine host login c password d", "a:b");
        check("machine other login x password y default login me password pw", "me:pw");
        check("default login a password b machine host login c password d", "a:b");
        check("machine other login x password y", "none");
        check("machine host", "none");
        check("machine host login me", "me:");
        check("", "none");
    }

    #[test]
    fn comments_macros_and_quotes_are_understood() {
        check("# machine host login x\nmachine host login me password #pw", "me:#pw");
        check("machine host login me # password x\n password pw", "me:pw");
        check("macdef m\nmachine host login x\n\nmachine host login me", "me:");
        check("machine host macdef init\ncd /\n\r\n\nlogin me password pw", "me:pw");
        check("machine host login \"a b\" password \"\\\"\\\\\\t\"", "a b:\"\\\t");
        check("machine \"host\" port 1 account x login me", "me:");
    }

    proptest! {
        #[test]
        fn a_quoted_entry_is_found_before_any_text(
            login in any::<String>(),
            password in any::<String>(),
            text in "([a-z]{0,3}|machine|default|login|macdef|host|[ \\n\"\\\\#]){0,30}",
        ) {
            let quoted = |text: &str| {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            };
            let _ = find_credentials(&text, "host");
            let [user, secret] = [&login, &password].map(|text| quoted(text));
            let entry = format!("machine host login {user} password {secret}");
            let found = find_credentials(&format!("{entry} machine x {text}"), "host").unwrap();
            prop_assert_eq!(found.unwrap(), format!("{login}:{password}").into_bytes());
        }
    }

    #[test]
    fn a_word_that_is_missing_is_an_error_with_its_line() {
        check("machine", "the netrc file, line 1: nothing follows `machine`");
        check("machine host\nlogin", "the netrc file, line 2: nothing follows `login`");
        let open = "the netrc file, line 2: a quotation mark is not closed";
        check("machine host\npassword \"x\\", open);
    }
}
