//! Parses URLs of HTTP and resolves redirects. Other schemes are errors.

use iri_string::types::{UriReferenceStr, UriStr, UriString};

use super::base64::base64;
use crate::{Error, ErrorKind, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) secure: bool,
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// `user:password`, decoded.
    pub(crate) user: Option<Vec<u8>>,
    text: UriString,
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Url> {
        let invalid = |what: &str| Error::new(ErrorKind::InvalidUse, format!("the URL {what}"));
        let uri = UriStr::new(text)
            .map_err(|_| invalid("is malformed; characters such as spaces are written as %20"))?;
        let secure = match uri.scheme_str().to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(invalid("is neither http:// nor https://")),
        };
        let parts = uri.authority_components().ok_or_else(|| invalid("has no host"))?;
        let host = parts.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(invalid("has no host"));
        }
        let port = match parts.port() {
            None | Some("") => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().map_err(|_| invalid("has a port above 65535"))?,
        };
        let path = if uri.path_str().is_empty() { "/" } else { uri.path_str() };
        let query = uri.query_str().map(|query| format!("?{query}")).unwrap_or_default();
        let decode = |user: &str| percent_encoding::percent_decode_str(user).collect();
        Ok(Url {
            secure,
            host: host.to_owned(),
            port,
            target: format!("{path}{query}"),
            user: parts.userinfo().map(decode),
            text: uri.to_owned(),
        })
    }

    /// Resolves a `Location`. A redirect never leads from https to http, nor to another scheme.
    pub(crate) fn redirect(&self, location: &str) -> Result<Url> {
        let refuse = |text: String| Error::new(ErrorKind::Redirect, text);
        let reference = UriReferenceStr::new(location)
            .map_err(|_| refuse("a redirect to a malformed address".to_owned()))?;
        let base = self.text.to_absolute();
        let next = reference.resolve_against(base).to_string();
        let next = Url::parse(&next)
            .map_err(|error| refuse(format!("a redirect that is refused: {}", error.message())))?;
        if self.secure && !next.secure {
            return Err(refuse("a redirect from https to http is refused".to_owned()));
        }
        Ok(next)
    }

    /// Whether both have the same scheme, host and port: only that server may get credentials.
    pub(crate) fn same_origin(&self, other: &Url) -> bool {
        (self.secure, self.port) == (other.secure, other.port)
            && self.host.eq_ignore_ascii_case(&other.host)
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

    /// The credentials of `Basic …`, if the URL has a user.
    pub(crate) fn basic(&self) -> Option<String> {
        self.user.as_ref().map(|user| {
            let colon: &[u8] = if user.contains(&b':') { b"" } else { b":" };
            base64(&[user, colon].concat())
        })
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
        check("http:///x", "the URL has no host");
        check("http://a:99999/", "the URL has a port above 65535");
        check("ftp://a/", "the URL is neither http:// nor https://");
        check("http://a/ b", "the URL is malformed; characters such as spaces are written as %20");
        check(
            "http://a/\r\nX: y",
            "the URL is malformed; characters such as spaces are written as %20",
        );
    }

    fn check_redirect(from: &str, location: &str, expected: &str) {
        let got = match Url::parse(from).unwrap().redirect(location) {
            Ok(url) => url.text.to_string(),
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
        check_redirect("http://a/", "http://b/ c", "a redirect to a malformed address");
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
