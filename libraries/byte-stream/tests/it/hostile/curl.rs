//! What curl makes of the same answers.

use std::process::Command;

use super::table::{Case, cases};
use super::{check, serve, verdict};

/// The version whose verdicts the table has.
const VERSION: &str = "curl 7.88.1 ";
/// curl's exit status when the limit of time has passed.
const TIMED_OUT: i32 = 28;

#[expect(clippy::disallowed_methods, reason = "the test waits for it, and it has a limit of time")]
fn command() -> Command {
    Command::new("curl")
}

fn curl(case: &Case) -> String {
    let server = serve(case);
    let body = tempfile::NamedTempFile::new().unwrap();
    let mut command = command();
    command.args(["--disable", "--silent", "--fail", "--location", "--http1.1", "--noproxy", "*"]);
    // Of an endless body no more than a few megabytes.
    command.args(["--max-redirs", "10", "--max-time", "2", "--limit-rate", "2M"]);
    if case.decodes {
        command.arg("--compressed");
    }
    if case.retries {
        command.args(["--retry", "3", "--retry-all-errors", "--retry-delay", "1"]);
    }
    let status = command.arg("--output").arg(body.path()).arg(server.url()).status().unwrap();
    match status.code() {
        Some(0) => verdict(&std::fs::read(body.path()).unwrap()).to_owned(),
        Some(TIMED_OUT) => "hang".to_owned(),
        _ => "error".to_owned(),
    }
}

/// All cases take minutes, so that only a few are tried unless `BYTE_STREAM_CURL` is `all`.
#[test]
fn the_verdicts_of_curl_are_those_of_the_table() {
    let version = command().arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !version.is_ok_and(|version| version.starts_with(VERSION)) {
        return;
    }
    let is_all = std::env::var("BYTE_STREAM_CURL").is_ok_and(|value| value == "all");
    let cases: Vec<Case> = cases()
        .into_iter()
        .enumerate()
        .filter(|(index, case)| is_all || index % 29 == 0 && !case.hangs() && !case.retries)
        .map(|(_, case)| case)
        .collect();
    check(&cases, |case| case.curl, curl);
}
