//! Common tools as plain commands: each is started again for every sample, and writes in its own
//! order. They support only lines.

use std::fs::File;

use anyhow::{Context, Result};
use lab::experiment::{Build, Method, Task};
use lab::param::Point;

use super::check::Promise;
use super::drawing::{DrawUsage, Drawing, Request, of_kind};
use crate::experiments::shared::command::{must_be_installed, run as run_command};

const AWK: &str = r#"BEGIN { srand(); n = ARGV[1]; ARGV[1] = "" }
NR <= n { kept[NR] = $0; next }
{ i = int(rand() * NR) + 1; if (i <= n) kept[i] = $0 }
END { for (i in kept) print kept[i] }"#;

pub(super) fn methods() -> Vec<Method> {
    vec![
        of_kind("text", "shuf", "shuf -n; text only", |point| command(point, "shuf", shuf)),
        of_kind("text", "awk", "a reservoir in awk; text only", |point| command(point, "awk", awk)),
        // These take minutes for large files.
        if_named("sort", "sort -R | head; text only", |point| command(point, "sort", sort)),
        if_named("sqlite", "sqlite3: import, order by random(); text only", |point| {
            command(point, "sqlite3", sqlite)
        }),
        if_named("duckdb", "duckdb: USING SAMPLE reservoir; text only", |point| {
            command(point, "duckdb", duckdb)
        }),
    ]
}

fn shuf(job: &Request) -> Vec<String> {
    words(["shuf", "-n", &job.samples.to_string(), &job.name()])
}

fn awk(job: &Request) -> Vec<String> {
    words(["awk", AWK, &job.samples.to_string(), &job.name()])
}

fn sort(job: &Request) -> Vec<String> {
    let script = r#"sort -R "$0" | head -n "$1""#;
    words(["/bin/sh", "-c", script, &job.name(), &job.samples.to_string()])
}

fn sqlite(job: &Request) -> Vec<String> {
    let import = format!(".import {} t", quoted(&job.name()));
    let select = format!("select line from t order by random() limit {};", job.samples);
    // Lines are read unchanged: no byte of them is a column separator.
    let separator = r#".separator "\001" "\n""#;
    words(["sqlite3", "-batch", ":memory:", ".mode ascii", separator, "create table t(line);"])
        .into_iter()
        .chain([import, ".mode list".to_owned(), select])
        .collect()
}

fn duckdb(job: &Request) -> Vec<String> {
    let query = format!(
        "select line from read_csv({}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, \
         header = false, delim = '\\x01', quote = '', escape = '') using sample reservoir({} rows)",
        quoted(&job.name()),
        job.samples
    );
    words(["duckdb", "-list", "-noheader", "-c", &query])
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Quoted for SQL and for sqlite's own commands.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

fn command(
    point: &Point,
    program: &str,
    argv: impl Fn(&Request) -> Vec<String> + 'static,
) -> Result<Box<dyn Task>> {
    must_be_installed(program)?;
    Request::from_point(point)?.must_be_plain()?;
    let draw = move |job: &Request, _seed: u64, out: &mut File| {
        let input = File::open("/dev/null").context("/dev/null")?;
        let cpu = run_command(&argv(job), input.into(), out.try_clone()?.into())?;
        Ok(DrawUsage { cpu: Some(cpu), ..DrawUsage::default() })
    };
    Drawing::task(point, Promise { is_exact: true, in_order: false }, Box::new(draw))
}

fn if_named(name: &str, about: &str, build: Build) -> Method {
    Method { default: false, ..of_kind("text", name, about, build) }
}
