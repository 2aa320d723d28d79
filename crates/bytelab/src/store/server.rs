//! The server that holds the runs of a team.

use std::ffi::{OsStr, OsString};
use std::fmt;

use anyhow::{Context, Result};

use super::Store;

/// The URL of a PostgreSQL database. It may hold a password and is never shown as it is.
#[derive(Clone)]
pub(crate) struct Server(String);

/// Names the server where no flag does.
pub(crate) const VARIABLE: &str = "BYTELAB_SERVER";

/// The variables of the environment that may hold a password of the server: of what is measured
/// none needs them. `store` is the flag `--store`, and `words` is the command line.
pub(crate) fn secret_variables(store: Option<&OsStr>, words: &[OsString]) -> Vec<&'static str> {
    let set = |name: &str| std::env::var_os(name).unwrap_or_default().into_string().ok();
    let is_url =
        |text: &str| text.contains("://") && text.to_ascii_lowercase().contains("postgres");
    let holds_url = |name: &&'static str| set(name).is_none_or(|text| is_url(&text));
    let mut found: Vec<&str> =
        ["BYTELAB_STORE", "BYTELAB_OPTIONS"].into_iter().filter(holds_url).collect();
    let is_pushed = words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--push"));
    let in_flag = store.and_then(OsStr::to_str).is_some_and(Server::is_url);
    if !found.is_empty() || is_pushed || in_flag || std::env::var_os(VARIABLE).is_some() {
        found.push("PGPASSWORD");
    }
    found.push(VARIABLE);
    found
}

impl Server {
    pub(crate) fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        matches!(scheme.as_deref(), Some("postgres" | "postgresql"))
    }

    /// Whether the text was meant as a URL, and is not a file whose name would have a password.
    pub(super) fn is_wrong_url(text: &str) -> bool {
        let Some((scheme, rest)) = text.split_once(':') else { return false };
        let is_scheme =
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_ours = matches!(&*scheme.to_ascii_lowercase(), "postgres" | "postgresql");
        !Server::is_url(text) && is_scheme && (is_ours || rest.starts_with("//"))
    }

    pub(super) fn new(url: &str) -> Server {
        Server(url.to_owned())
    }

    /// The server that a flag names, else `BYTELAB_SERVER`.
    pub(crate) fn named(flag: Option<&str>) -> Result<Server> {
        let variable = || std::env::var(VARIABLE).ok();
        let text = flag.filter(|text| !text.is_empty()).map(str::to_owned).or_else(variable);
        let text = text.filter(|text| Server::is_url(text));
        text.map(Server).with_context(|| {
            format!("name the server: postgres://HOST/DATABASE, with the flag or in {VARIABLE}")
        })
    }

    /// A message for the user if the clocks differ by minutes.
    pub(crate) fn clock_note(&self, store: &mut dyn Store) -> Option<String> {
        let ahead_s = store.clock_ahead_s().ok()?;
        let (n, unit) = match ahead_s.unsigned_abs() {
            0..300 => return None,
            s @ 300..7200 => (s / 60, "minutes"),
            s @ 7200..172_800 => (s / 3600, "hours"),
            s => (s / 86_400, "days"),
        };
        let side = if ahead_s > 0 { "ahead of" } else { "behind" };
        Some(format!(
            "this machine's clock is {n} {unit} {side} that of {self}: set it right, as runs are \
             listed by their times"
        ))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn open(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(super::postgres::Postgres::open(&self.0, self.to_string())?))
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) fn open(&self) -> Result<Box<dyn Store>> {
        anyhow::bail!(
            "{self}: this build has no PostgreSQL; take a released program, or build with --features \
             postgres"
        )
    }
}

/// Without user, password and parameters.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = self.0.split_once("://").map_or("", |(_, after)| after);
        let (place, rest) = after.split_at(after.find(['?', '#']).unwrap_or(after.len()));
        // A password may have an `@` that is not escaped, and also a `?` or a `#`: then all of it
        // would be the place.
        let shown = match place.rsplit_once('@') {
            Some((_, host)) => host,
            None if place.contains(':') && rest.contains('@') => "…",
            None => place,
        };
        write!(f, "postgres://{}", shown.escape_debug())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_password() {
        for url in [
            "postgres://ada:secret@db.example/runs?sslmode=require&password=secret",
            "postgresql://ada:se@secret@db.example/runs",
            "postgres://db.example/runs?password=secret",
            "POSTGRES://ada:se/cret@db.example/runs",
        ] {
            assert!(Server::is_url(url));
            let server = Server::new(url);
            assert_eq!(
                format!("{server} {server:?}"),
                "postgres://db.example/runs ".repeat(2).trim()
            );
        }
    }

    #[test]
    fn nothing_of_a_password_that_is_not_escaped_is_shown() {
        for url in ["postgres://ada:secret?x@h/d", "postgres://ada:secret#x@h/d"] {
            assert_eq!(Server::new(url).to_string(), "postgres://…");
        }
    }

    #[test]
    fn a_url_that_is_wrong_is_no_file() {
        for wrong in ["postgres:/a:secret@h/d", "mysql://a:secret@h/d", "PostgreSQL:h", "http://h"]
        {
            assert!(Server::is_wrong_url(wrong), "{wrong}");
        }
        for right in ["runs.sqlite", "a:b", "/a://b", "./http://x", "postgres://h/d", "a b://c"] {
            assert!(!Server::is_wrong_url(right), "{right}");
        }
    }

    #[test]
    fn only_a_url_is_a_server() {
        assert!(Server::named(Some("runs.sqlite")).is_err());
        assert!(Server::named(Some("postgres://h/d")).is_ok());
    }
}
