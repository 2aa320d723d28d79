//! Connects to a server, creates the tables, and explains errors.

use std::cell::Cell;
use std::fs;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Once;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{Connection, Row};
use tokio::runtime::Runtime;

/// The version of the tables that `schema.sql` creates.
const VERSION: i32 = 1;

/// The key of the advisory lock under which the tables are created: "bylb".
const LOCK: i64 = 0x6279_6c62;

const LIMIT: Duration = Duration::from_secs(15);

const ODD: &str = "its schema `bytelab` is damaged or not one of bytelab's: restore it from a copy, \
                   or name another database";

/// Connects, and creates the tables if there are none.
pub(super) fn connect(url: &str, server: &str, runtime: &Runtime) -> Result<PgConnection> {
    let options = options(url, server, |name| std::env::var(name).ok())?;
    let connected = wait(runtime, LIMIT, async {
        let mut connection = PgConnection::connect_with(&options).await?;
        create_tables(&mut connection).await?;
        Ok(connection)
    });
    connected.map_err(|error| explain(server, error))
}

/// Waits for `work` up to this limit.
pub(super) fn wait<T>(
    runtime: &Runtime,
    limit: Duration,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let limited = || runtime.block_on(async { tokio::time::timeout(limit, work).await });
    // sqlx panics at a message that is shorter than its own length, which no server sends.
    let ended = quietly(|| catch_unwind(AssertUnwindSafe(limited))).map_err(|_| {
        anyhow!("its answer is no message of PostgreSQL: check the host and the port")
    })?;
    ended
        .unwrap_or_else(|_| Err(anyhow!("no answer within {} s: try again later", limit.as_secs())))
}

thread_local! {
    /// Whether a panic of this thread becomes an error, which says it in one line.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                before(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let ended = work();
    IS_QUIET.set(false);
    ended
}

/// The options of the URL, then those of the service that `PGSERVICE` names, then the other
/// variables of libpq.
fn options(
    url: &str,
    server: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<PgConnectOptions> {
    let mut url = url.to_owned();
    if let Some(service) = variable("PGSERVICE").filter(|service| !service.is_empty()) {
        for (key, value) in service_settings(&service, &variable)? {
            url = with_setting(url, &key, &value);
        }
    }
    // Its error may quote the URL, and so a password.
    let options = PgConnectOptions::from_str(&url).ok();
    let options = options.with_context(|| {
        format!("{server}: not a URL of PostgreSQL: write postgres://USER@HOST:PORT/DATABASE")
    })?;
    let has_mode =
        names_sslmode(&url) || variable("PGSSLMODE").is_some_and(|mode| !mode.is_empty());
    let options = if has_mode || is_of_this_machine(&options) {
        options
    } else {
        // Otherwise whoever answers in place of the server asks for the password, and gets it.
        options.ssl_mode(PgSslMode::Require)
    };
    let has_name = options.get_application_name().is_some();
    Ok(if has_name { options } else { options.application_name("bytelab") })
}

fn names_sslmode(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut keys = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    keys.any(|key| ["sslmode", "ssl-mode"].contains(&key))
}

/// Whether no other machine can be on the way to the server: it is a socket, or a loopback address.
fn is_of_this_machine(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The settings of a service, from the file that `PGSERVICEFILE` names or the one of the user.
fn service_settings(
    service: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>> {
    let path = variable("PGSERVICEFILE").map(PathBuf::from);
    let path = path.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pg_service.conf")));
    let path = path.context("PGSERVICE: neither PGSERVICEFILE nor HOME is set")?;
    let text = fs::read_to_string(&path)
        .with_context(|| format!("PGSERVICE={service:?}: {}", path.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let head = format!("[{service}]");
    let mut lines = lines.skip_while(|line| *line != head);
    ensure!(lines.next().is_some(), "PGSERVICE={service:?}: {} has no {head}", path.display());
    let own = lines.take_while(|line| !line.starts_with('['));
    let setting = |line: &str| -> Option<(String, String)> {
        let (key, value) = line.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    Ok(own.filter_map(setting).collect())
}

/// The URL with a setting that it does not have itself.
fn with_setting(url: String, key: &str, value: &str) -> String {
    let (before, query) = url.split_once('?').unwrap_or((&url, ""));
    let (_, after) = before.split_once("://").unwrap_or(("", before));
    let (authority, path) = after.split_once('/').unwrap_or((after, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_set = match key {
        "host" | "hostaddr" => !host.is_empty(),
        "port" => host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']')),
        "dbname" => !path.is_empty(),
        "user" => !user.split(':').next().unwrap_or_default().is_empty(),
        "password" => user.contains(':'),
        _ => false,
    };
    let in_query = query.split('&').any(|pair| pair.split('=').next() == Some(key));
    if is_set || in_query {
        return url;
    }
    let escaped: Vec<String> = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let escaped = escaped.concat();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{key}={escaped}")
}

/// Creates the tables if there are none. Another process may be doing the same.
async fn create_tables(connection: &mut PgConnection) -> Result<()> {
    if has_tables(connection).await? {
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *transaction).await?;
    if !has_tables(&mut transaction).await? {
        sqlx::raw_sql(include_str!("schema.sql")).execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// Refuses tables of another version.
async fn has_tables(connection: &mut PgConnection) -> Result<bool> {
    // `to_regclass` may answer from a cache that is older than the lock.
    let there = sqlx::query(
        "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'bytelab' AND tablename = 'version')",
    );
    if !there.fetch_one(&mut *connection).await?.try_get::<bool, _>(0)? {
        return Ok(false);
    }
    let query = sqlx::query("SELECT max(version) FROM bytelab.version");
    let version: Option<i32> = query.fetch_one(&mut *connection).await?.try_get(0)?;
    let version = version.filter(|version| *version >= VERSION).context(ODD)?;
    ensure!(
        version == VERSION,
        "it has schema {version}, and this bytelab knows schemas up to {VERSION}: update bytelab"
    );
    Ok(true)
}

/// Explains an error and what to do about it, on one line.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn explain(server: &str, error: anyhow::Error) -> anyhow::Error {
    let text = one_line(&error);
    let Some(cause) = error.chain().find_map(|cause| cause.downcast_ref::<sqlx::Error>()) else {
        return anyhow!("{server}: {text}");
    };
    let code = cause.as_database_error().and_then(|error| Some(error.code()?.into_owned()));
    let meaning = match code.as_deref() {
        Some("28P01" | "28000") => {
            "it refuses this user or password; they come from the URL, PGUSER, PGPASSWORD, PGPASSFILE \
             or PGSERVICE"
        }
        Some("3D000") => "it has no such database: create it, `createdb NAME`",
        Some("42501") => "this role has no right to do that: docs/postgres-roles.sql has the roles",
        // No such table or column, a column of another type, a table that is there already.
        Some("42P01" | "42703" | "42804" | "42883" | "42P07") => ODD,
        Some("53100") => "no space left on its disk: make some there",
        Some("25006") => "it is read-only: name the primary server",
        Some("53300") => "it has too many connections: try again later",
        Some(code) if code.starts_with("57P") => "it is shutting down or starting: try again later",
        // One of the checks of `schema.sql`.
        Some("23514") => {
            "it refuses this run, which is larger than it may be or not one of bytelab's"
        }
        None if matches!(cause, sqlx::Error::Tls(_)) && text.contains("does not support TLS") => {
            "it has no TLS, and no password is sent to it in clear text: set up TLS there, or write \
             ?sslmode=disable behind the URL if nobody can be on the way"
        }
        None if matches!(cause, sqlx::Error::Io(_) | sqlx::Error::Tls(_)) => {
            "the connection failed: try again later, or check the host, the port and sslmode"
        }
        _ => return anyhow!("{server}: {text}"),
    };
    anyhow!("{server}: {meaning} ({text})")
}

/// The chain of an error, without repetitions and line ends.
fn one_line(error: &anyhow::Error) -> String {
    const LIMIT: usize = 300;
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let of_server =
            cause.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
        let text = of_server.map_or_else(|| cause.to_string(), |error| error.message().to_owned());
        if parts.last().is_none_or(|last| !last.contains(&text)) {
            parts.push(text);
        }
        if of_server.is_some() {
            // What follows says the same, with a line of the server's source.
            break;
        }
    }
    let text = parts.join(": ");
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_says_what_the_url_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("services");
        fs::write(
            &file,
            "[other]\nhost=x\n# [lab]\n[lab]\nhost = db.example\nport=5433\nuser=ada\n\
                          password=s e&c\ndbname=runs\n[last]\nhost=y\n",
        )
        .unwrap();
        let variable = |name: &str| match name {
            "PGSERVICE" => Some("lab".to_owned()),
            "PGSERVICEFILE" => Some(file.display().to_string()),
            _ => None,
        };
        let all = options("postgres://", "", variable).unwrap();
        assert_eq!(
            (all.get_host(), all.get_port(), all.get_username()),
            ("db.example", 5433, "ada")
        );
        assert_eq!(all.get_database(), Some("runs"));
        let own = options("postgres://eve@near:1/mine", "", variable).unwrap();
        assert_eq!((own.get_host(), own.get_port(), own.get_username()), ("near", 1, "eve"));
        assert_eq!(own.get_database(), Some("mine"));
        let missing =
            |name: &str| if name == "PGSERVICE" { Some("no".into()) } else { variable(name) };
        let error = options("postgres://", "", missing).unwrap_err().to_string();
        assert!(error.ends_with("has no [no]"), "{error}");
    }

    #[test]
    fn without_sslmode_only_a_server_of_this_machine_may_have_no_tls() {
        let mode = |url: &str, of_variable: &str| -> String {
            let variable = |name: &str| (name == "PGSSLMODE").then(|| of_variable.to_owned());
            format!("{:?}", options(url, "", variable).unwrap().get_ssl_mode())
        };
        for url in [
            "postgres://localhost/d",
            "postgres://127.0.0.9/d",
            "postgres://[::1]/d",
            "postgres:///d?host=/run/postgresql",
            "postgres://%2Frun%2Fpostgresql/d",
        ] {
            assert_eq!(mode(url, ""), "Prefer", "{url}");
        }
        for host in
            ["db.example", "10.0.0.1", "0.0.0.0", "[fe80::1]", "localhost.example", "127.example"]
        {
            assert_eq!(mode(&format!("postgres://{host}/d"), ""), "Require", "{host}");
            assert_eq!(mode(&format!("postgres:///d?host={host}"), ""), "Require", "{host}");
            assert_eq!(mode(&format!("postgres://{host}/d?sslmode=disable"), ""), "Disable");
            assert_eq!(mode(&format!("postgres://{host}/d?sslmode=verify-full"), ""), "VerifyFull");
        }
    }

    #[test]
    fn no_error_quotes_a_password() {
        for url in ["postgres://ada:secret@h:port/d", "postgres://ada:secret@h/d?sslmode=secret"] {
            let error = options(url, "", |_| None).unwrap_err();
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
