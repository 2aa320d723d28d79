//! Which proxy, if any, is used for a server.

use std::net::IpAddr;

use super::settings::Proxy;
use super::url::Url;
use crate::{Error, ErrorKind, Result};

pub(crate) fn for_url(url: &Url, setting: &Proxy) -> Result<Option<Url>> {
    let text = match setting {
        Proxy::None => None,
        Proxy::Url(text) => Some(text.clone()),
        Proxy::Environment => from_variables(url, |name| std::env::var(name).ok()),
    };
    let Some(text) = text else { return Ok(None) };
    // A bare `host:port` is accepted, as curl does.
    let text = if text.contains("://") { text } else { format!("http://{text}") };
    let wrong = |what: &str| Error::new(ErrorKind::InvalidUse, format!("the proxy: {what}"));
    let proxy = Url::parse(&text).map_err(|error| wrong(error.message()))?;
    if proxy.secure {
        return Err(wrong("only http:// proxies are known"));
    }
    Ok(Some(proxy))
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
        let error = for_url(&url, &Proxy::Url("socks5://p:1080".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "the proxy: the URL is neither http:// nor https://");
        assert!(for_url(&url, &Proxy::Url("p:3128".to_owned())).unwrap().is_some());
    }
}
