//! The server that holds the runs of a team.

use std::fmt;

use anyhow::{Context, Result};

use super::Store;

/// The URL of a PostgreSQL database. It may hold a password and is never shown as it is.
#[derive(Clone)]
pub(crate) struct Server(String);

/// Names the server where no flag does.
pub(crate) const VARIABLE: &str = "BYTELAB_SERVER";

impl Server {
    pub(crate) fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
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

    /// What to tell the user if the clocks differ by minutes.
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
        let after = after.split(['?', '#']).next().unwrap_or_default();
        // A password may have an `@` that is not escaped.
        let shown = after.rsplit_once('@').map_or(after, |(_, host)| host);
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
        ] {
            let server = Server::new(url);
            assert_eq!(
                format!("{server} {server:?}"),
                "postgres://db.example/runs ".repeat(2).trim()
            );
        }
    }

    #[test]
    fn only_a_url_is_a_server() {
        assert!(Server::named(Some("runs.sqlite")).is_err());
        assert!(Server::named(Some("postgres://h/d")).is_ok());
    }
}
