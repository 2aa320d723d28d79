//! Which proxy, if any, is used for a server.

use std::net::IpAddr;

use super::url::{Url, credentials};
use crate::{Error, ErrorKind, Result};

/// The proxy setting of the caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Proxy {
    Environment,
    None,
    Url(String),
}

/// A proxy, by the protocol that it is requested with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProxyServer {
    Http(Url),
    Socks(Socks),
}

/// A SOCKS5 proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Socks {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `user:password`.
    pub(crate) user: Option<Vec<u8>>,
    /// Whether the proxy looks names up.
    pub(crate) looks_up: bool,
}

/// RFC 1928.
const SOCKS_PORT: u16 = 1080;

pub(crate) fn for_url(url: &Url, setting: &Proxy) -> Result<Option<ProxyServer>> {
    let text = match setting {
        Proxy::None => None,
        Proxy::Url(text) => Some(text.clone()),
        Proxy::Environment => from_variables(url, |name| std::env::var(name).ok()),
    };
    let Some(text) = text else { return Ok(None) };
    // A bare `host:port` is accepted, as curl does.
    let text = if text.contains("://") { text } else { format!("http://{text}") };
    if let Some(socks) = socks(&text)? {
        return Ok(Some(ProxyServer::Socks(socks)));
    }
    let proxy = Url::parse(&text).map_err(|error| wrong(error.message()))?;
    if proxy.secure {
        return Err(wrong("only http:// and socks5:// proxies are known"));
    }
    Ok(Some(ProxyServer::Http(proxy)))
}

/// The SOCKS proxy of such a URL; `None` for another URL.
fn socks(text: &str) -> Result<Option<Socks>> {
    let scheme = text.split("://").next().unwrap_or_default().to_ascii_lowercase();
    // As for curl, the `h` says that the proxy looks names up.
    let looks_up = match scheme.as_str() {
        "socks5" => false,
        "socks5h" => true,
        _ => return Ok(None),
    };
    let malformed = || wrong("the URL is malformed");
    let parsed = url::Url::parse(text).map_err(|_| malformed())?;
    let host = parsed.host_str().filter(|host| !host.is_empty()).ok_or_else(malformed)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = parsed.port().unwrap_or(SOCKS_PORT);
    Ok(Some(Socks { host, port, user: credentials(&parsed), looks_up }))
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidUse, format!("the proxy: {what}"))
}

fn from_variables(url: &Url, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &str| read(name).filter(|value| !value.is_empty());
    let either = |name: &str| set(name).or_else(|| set(&name.to_ascii_uppercase()));
    // HTTP_PROXY in upper case is ignored, because a CGI program gets the header `Proxy` of its
    // client under that name.
    let proxy = if url.secure { either("https_proxy") } else { set("http_proxy") };
    let proxy = proxy.or_else(|| either("all_proxy"))?;
    let exempt = either("no_proxy").unwrap_or_default();
    (!exempt.split(',').any(|rule| is_exempt(&url.host, rule.trim()))).then_some(proxy)
}

/// `example.org` and `.example.org` match the domain and all its subdomains, `10.0.0.0/8` the
/// addresses of that network, `*` everything.
fn is_exempt(host: &str, rule: &str) -> bool {
    if let Ok(host) = host.parse::<IpAddr>() {
        let rule = rule.trim_start_matches('[').trim_end_matches(']');
        return rule == "*" || is_in_network(host, rule);
    }
    let rule = rule.trim_start_matches('.');
    if rule.is_empty() || rule == "*" {
        return rule == "*";
    }
    let (host, rule) = (host.to_ascii_lowercase(), rule.to_ascii_lowercase());
    host.strip_suffix(&rule).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// An address without a prefix length matches itself.
fn is_in_network(host: IpAddr, rule: &str) -> bool {
    // Both as 128-bit numbers, the first bit of the address at the front.
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let (network, len) = rule.split_once('/').unwrap_or((rule, ""));
    let Ok(network) = network.parse::<IpAddr>() else { return false };
    let ((host, width), (network, of)) = (bits(host), bits(network));
    let len = if len.is_empty() { Some(width) } else { len.parse::<u32>().ok() };
    let Some(len) = len.filter(|len| width == of && *len <= width) else { return false };
    len == 0 || (host ^ network) >> (128 - len) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, variables: &[(&str, &str)], expected: Option<&str>) {
        let read = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let url = Url::parse(url).unwrap();
        assert_eq!(from_variables(&url, read).as_deref(), expected, "{variables:?}");
    }

    #[test]
    fn the_variables_choose_the_proxy() {
        check("http://a/", &[("http_proxy", "p")], Some("p"));
        check("http://a/", &[("HTTP_PROXY", "p")], None);
        check("https://a/", &[("HTTPS_PROXY", "p"), ("http_proxy", "q")], Some("p"));
        check("https://a/", &[("all_proxy", "p")], Some("p"));
        check("http://a.b/", &[("http_proxy", "p"), ("no_proxy", "x, .b")], None);
        check("http://ab/", &[("http_proxy", "p"), ("NO_PROXY", "b")], Some("p"));
        check("http://ab/", &[("http_proxy", "p"), ("NO_PROXY", "*")], None);
        check("http://127.0.0.1:80/", &[("http_proxy", "p"), ("no_proxy", "127.0.0.1")], None);
        check("http://10.1.2.3/", &[("http_proxy", "p"), ("no_proxy", "10.0.0.0/8")], None);
        check("http://11.1.2.3/", &[("http_proxy", "p"), ("no_proxy", "10.0.0.0/8")], Some("p"));
        check(
            "http://1.2.3.4/",
            &[("http_proxy", "p"), ("no_proxy", "3.4, 0::/0, 1.2.3.4/33")],
            Some("p"),
        );
        check("http://[::1]/", &[("http_proxy", "p"), ("no_proxy", "[::1]")], None);
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused() {
        let url = Url::parse("http://a/").unwrap();
        let via = |text: &str| for_url(&url, &Proxy::Url(text.to_owned()));
        let error = |text: &str| via(text).unwrap_err().to_string();
        assert_eq!(error("ftp://p"), "the proxy: the URL is neither http:// nor https://");
        assert_eq!(error("https://p"), "the proxy: only http:// and socks5:// proxies are known");
        assert_eq!(error("socks5://"), "the proxy: the URL is malformed");
        assert_eq!(error("socks5://p:x"), "the proxy: the URL is malformed");
        assert!(matches!(via("p:3128").unwrap(), Some(ProxyServer::Http(_))));
    }

    #[test]
    fn a_socks_proxy_has_a_port_credentials_and_perhaps_names() {
        let url = Url::parse("https://a/").unwrap();
        let socks = |text: &str| match for_url(&url, &Proxy::Url(text.to_owned())).unwrap() {
            Some(ProxyServer::Socks(socks)) => socks,
            other => panic!("{other:?}"),
        };
        let plain = socks("socks5://p");
        assert_eq!((plain.host.as_str(), plain.port, plain.looks_up), ("p", 1080, false));
        let all = socks("SOCKS5H://u:p%3a@[::1]:80/");
        assert_eq!((all.host.as_str(), all.port, all.looks_up), ("::1", 80, true));
        assert_eq!(all.user.as_deref(), Some(b"u:p:".as_slice()));
    }
}
