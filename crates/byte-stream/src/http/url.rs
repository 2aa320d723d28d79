//! Parses URLs of HTTP and resolves redirects, both as browsers do (the URL Standard). Other
//! schemes are errors.

use url::{ParseError, Position};

use super::base64::base64;
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
        let user = &parsed[Position::BeforeUsername..Position::AfterPassword];
        let user = (!user.is_empty()).then(|| percent_encoding::percent_decode_str(user).collect());
        Ok(Url {
            secure,
            host,
            port: parsed.port_or_known_default().unwrap_or_default(),
            target: parsed[Position::BeforePath..Position::AfterQuery].to_owned(),
            user,
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
        self.user.as_ref().map(|user| {
            let colon: &[u8] = if user.contains(&b':') { b"" } else { b":" };
            base64(&[user, colon].concat())
        })
    }
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
}
