//! Where runs are stored: the `Store` trait, which store a command uses, and the server of a team.
//! A store contains what was measured and nothing derived from it.

mod interface;
mod packed;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use model::path_text::to_path;
use model::pattern;
use model::run::{Listed, Run};

pub use self::interface::{
    Baseline, LOCK_LIMIT, Locked, NoRun, OmittedRuns, Store, StoredPlan, TOOK, Unreadable,
    is_imported, mark_imported, took_ns, uuid_of,
};
pub use self::sqlite::Sqlite;

/// Opens the store that `--store` names, else `BYTELAB_STORE`, else the one in the user's data
/// directory. A store that does not exist is created.
pub fn open(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    match locate(flag, |name| std::env::var_os(name))? {
        Location::File(path) => Ok(Box::new(Sqlite::open(&path)?)),
        Location::Server(server) => server.open(),
    }
}

/// Opens the store that [`open`] would open; one that does not exist is not created.
pub fn open_existing(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    if let Location::File(path) = locate(flag.clone(), |name| std::env::var_os(name))? {
        ensure!(path.exists(), "store {} does not exist", path.display());
    }
    open(flag)
}

/// Reads the whole store that a command would open; one that does not exist is not created.
pub fn verify(flag: Option<OsString>) -> Result<()> {
    match locate(flag, |name| std::env::var_os(name))? {
        Location::File(path) if path.exists() => Sqlite::open(&path)?.verify(),
        Location::File(_) => Ok(()),
        Location::Server(server) => {
            let mut store = server.open()?;
            store.list()?.iter().try_for_each(|run| store.load(&run.id).map(drop))
        }
    }
}

/// This word stands for the run that started last, wherever the id of a run may stand.
pub const LATEST: &str = "latest";

/// The run that a text names.
pub struct NamedRun {
    pub id: String,
    /// The run that started last, if it cannot be read: this one is the newest that can.
    pub unreadable: Option<String>,
}

impl NamedRun {
    /// Finds the run that the text names: by its id, the start of its UUID, its label if no other
    /// run has it, or [`LATEST`].
    pub fn find(store: &mut dyn Store, text: &str) -> Result<NamedRun> {
        if text != LATEST {
            let id = match store.find(text) {
                Err(error) if error.is::<NoRun>() => labelled(store, text)?.ok_or(error)?,
                found => found?,
            };
            return Ok(NamedRun { id, unreadable: None });
        }
        let newest = store.newest(1)?.pop();
        let newest = newest.context("the store is empty: nothing was measured yet")?.id;
        if is_readable(store, &newest)? {
            return Ok(NamedRun { id: newest, unreadable: None });
        }
        for before in store.newest(LATEST_TRIED)?.into_iter().rev().skip(1) {
            if is_readable(store, &before.id)? {
                return Ok(NamedRun { id: before.id, unreadable: Some(newest) });
            }
        }
        Ok(NamedRun { id: newest, unreadable: None })
    }
}

/// The id of the run with this label, if there is one. What has several is an error: a command may
/// delete the run.
fn labelled(store: &mut dyn Store, label: &str) -> Result<Option<String>> {
    let mut runs = store.list()?;
    runs.retain(|run| run.label.as_deref() == Some(label));
    if runs.len() > 1 {
        let n = runs.len();
        let newest = runs.iter().rev().take(NAMED_MAX).map(|run| run.id.as_str());
        let ids = newest.collect::<Vec<_>>().join(", ");
        let more = if n > NAMED_MAX { ", …" } else { "" };
        let text = format!("{n} runs have the label {label:?}: name one by its id: {ids}{more}");
        return Err(NoRun(text).into());
    }
    Ok(runs.pop().map(|run| run.id))
}

/// More runs with the same label are not named.
const NAMED_MAX: usize = 5;

/// The number of runs among which the newest one is that can be read.
const LATEST_TRIED: usize = 100;

fn is_readable(store: &mut dyn Store, id: &str) -> Result<bool> {
    match store.load_plan(id) {
        Ok(_) => Ok(true),
        Err(error) if error.is::<Unreadable>() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the run has a label that matches (`*` stands for any text).
pub fn has_label(run: &Listed, label: &str) -> bool {
    pattern::matches(label, run.label.as_deref().unwrap_or_default())
}

/// Whether the run is from the machine: by the start of its fingerprint, or by words of its CPU's
/// name.
pub fn is_machine(run: &Listed, text: &str) -> bool {
    let model = run.machine.cpu_model.as_deref().unwrap_or_default().to_lowercase();
    !text.is_empty()
        && (run.machine.fingerprint.starts_with(text) || model.contains(&text.to_lowercase()))
}

/// The location of a store.
enum Location {
    File(PathBuf),
    Server(Server),
}

fn locate(flag: Option<OsString>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Location> {
    // An empty variable means an unset one; an empty flag is a mistake.
    let of_user = variable("BYTELAB_STORE").filter(|value| !value.is_empty());
    let Some(named) = flag.or(of_user) else { return Ok(Location::File(of_data_dir(variable)?)) };
    let text = named.to_string_lossy();
    if text.is_empty() {
        bail!("--store is empty: name a file");
    }
    if Server::is_url(&text) {
        return Ok(Location::Server(Server::new(&text)));
    }
    if Server::is_wrong_url(&text) {
        // It is not quoted: it may have a password.
        bail!("the store is neither a file nor postgres://HOST/DATABASE");
    }
    Ok(Location::File(named.to_str().map_or_else(|| PathBuf::from(&named), to_path)))
}

/// The store in the user's data directory.
fn of_data_dir(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    // The XDG specification requires that a relative path is ignored.
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let data = data.context(
        "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
    )?;
    Ok(data.join("bytelab/runs.sqlite"))
}

/// The store of this machine, into which every run is measured, and the server to which it is
/// pushed when it has ended.
pub struct LocalStore {
    pub sqlite: Sqlite,
    server: Option<Server>,
}

impl LocalStore {
    /// Opens the store for a command that measures. If `--store` names a server, that is where its
    /// runs are pushed, and the store is the one in the user's data directory.
    pub fn open(flag: Option<OsString>, push_to: Option<Server>) -> Result<LocalStore> {
        let variable = |name: &str| std::env::var_os(name);
        let (path, server) = match locate(flag, variable)? {
            Location::File(path) => (path, push_to),
            Location::Server(server) => (of_data_dir(variable)?, Some(push_to.unwrap_or(server))),
        };
        Ok(LocalStore { sqlite: Sqlite::open(&path)?, server })
    }

    /// The server to which runs are pushed.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Stores a run that begins. If it is to be pushed, it waits for that from now on.
    pub fn begin(&mut self, run: &Run) -> Result<String> {
        let id = self.sqlite.begin(run)?;
        if self.server.is_some() {
            self.sqlite.set_unsent(&id, true)?;
        }
        Ok(id)
    }

    /// Pushes a run that is complete, as `redacted` returns it; returns a message for the user.
    /// Without a server, nothing is done.
    pub fn push(
        &mut self,
        id: &str,
        now: &str,
        redacted: impl FnOnce(Run) -> Result<Run>,
    ) -> Result<Vec<String>> {
        let Some(server) = &self.server else { return Ok(Vec::new()) };
        let run = redacted(self.sqlite.load(id)?)?;
        let mut remote = server.open()?;
        remote.add_once(&run)?;
        self.sqlite.set_unsent(id, false)?;
        let pushed = format!("run {id} was pushed to {server}");
        Ok([Some(pushed), server.clock_note(remote.as_mut(), now)].into_iter().flatten().collect())
    }
}

/// The server that holds the runs of a team: the URL of a PostgreSQL database. It may contain a
/// password and is never shown unchanged.
#[derive(Clone)]
pub struct Server(String);

/// The environment variable that names the server if no flag does.
pub const VARIABLE: &str = "BYTELAB_SERVER";

/// The variables of the environment that may hold a password of the server: of what is measured
/// none needs them. `store` is the flag `--store`, and `words` is the command line.
pub fn secret_variables(store: Option<&OsStr>, words: &[OsString]) -> Vec<&'static str> {
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
    fn is_wrong_url(text: &str) -> bool {
        let Some((scheme, rest)) = text.split_once(':') else { return false };
        let is_scheme =
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_ours = matches!(&*scheme.to_ascii_lowercase(), "postgres" | "postgresql");
        !Server::is_url(text) && is_scheme && (is_ours || rest.starts_with("//"))
    }

    fn new(url: &str) -> Server {
        Server(url.to_owned())
    }

    /// The server that a flag names, else `BYTELAB_SERVER`.
    pub fn named(flag: Option<&str>) -> Result<Server> {
        let variable = || std::env::var(VARIABLE).ok();
        let text = flag.filter(|text| !text.is_empty()).map(str::to_owned).or_else(variable);
        let text = text.filter(|text| Server::is_url(text));
        text.map(Server).with_context(|| {
            format!("name the server: postgres://HOST/DATABASE, with the flag or in {VARIABLE}")
        })
    }

    /// A message for the user if the clocks differ by minutes.
    pub fn clock_note(&self, store: &mut dyn Store, now: &str) -> Option<String> {
        let ahead_s = store.clock_ahead_s(now).ok()?;
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
    pub fn open(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(postgres::Postgres::open(&self.0, self.to_string())?))
    }

    #[cfg(not(feature = "postgres"))]
    pub fn open(&self) -> Result<Box<dyn Store>> {
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
pub mod tests;

#[cfg(test)]
mod server_tests {
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
