//! Hundreds of hostile answers, each with the section of the RFC that it breaks or bends: what a
//! stream, the same stream in a task, a client that checks nothing, and curl make of them.

mod bare;
mod curl;
mod table;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use byte_stream::{Options, Stream};

use self::bare::Failed;
use self::table::{Answer, Case, End, cases};
use crate::kinds::reset_on_close;
use crate::server::Server;

/// The body that all servers have.
const BODY: &[u8] = b"hello";

fn serve(case: &Case) -> Server {
    let answers = case.answers.clone();
    Server::new(move |request, socket| send(&answers[request.n.min(answers.len() - 1)], socket))
}

fn send(answer: &Answer, socket: &mut TcpStream) -> std::io::Result<()> {
    if answer.end == End::Reset {
        reset_on_close(socket);
    }
    let mut bytes = answer.bytes.clone();
    if let End::Endless(more) = &answer.end {
        // Together, so that they are there as soon as the others.
        bytes.extend_from_slice(more);
    }
    socket.write_all(&bytes)?;
    match &answer.end {
        End::Close => Ok(()),
        // Without the end that `Server` would send.
        End::Reset => Err(std::io::ErrorKind::ConnectionReset.into()),
        End::Hang => socket.read_exact(&mut [0]),
        End::Endless(more) => loop {
            socket.write_all(more)?;
        },
    }
}

fn verdict(body: &[u8]) -> &'static str {
    match body {
        BODY => "ok",
        [] => "empty",
        _ => "wrong",
    }
}

fn options(case: &Case) -> Options {
    let retries = if case.retries { 5 } else { 0 };
    let options = Stream::options().proxy(None).retries(retries, Duration::ZERO);
    // The others end without a limit, and a busy machine may take its time.
    let ends = case.ours != "TimedOut";
    let idle = if ends { Duration::from_mins(5) } else { Duration::from_millis(50) };
    options.decode(case.decodes).idle_limit(idle).limit_bytes(1 << 20)
}

/// Compares the verdicts of a client with those in the table.
fn check(
    cases: &[Case],
    expected: impl Fn(&Case) -> &'static str,
    got: impl Fn(&Case) -> String + Sync,
) {
    let differing = cases.iter().filter_map(|case| {
        let (expected, got) = (expected(case), got(case));
        (got != expected).then(|| format!("{} | {got}, not {expected}\n", case.title()))
    });
    let differing: Vec<String> = differing.collect();
    assert!(differing.is_empty(), "{}", differing.concat());
}

fn check_ours(get: impl Fn(Options, &str) -> byte_stream::Result<Vec<u8>> + Sync) {
    let ours = |case: &Case| match get(options(case), &serve(case).url()) {
        Ok(body) => verdict(&body).to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    check(&cases(), |case| case.ours, ours);
}

#[test]
fn the_verdict_on_every_hostile_answer_is_that_of_the_table() {
    check_ours(crate::http::get);
}

#[cfg(feature = "async")]
#[test]
fn the_verdict_of_a_task_on_every_hostile_answer_is_the_same() {
    check_ours(crate::asynchronous::get);
}

#[test]
fn a_client_that_checks_nothing_gives_other_bytes_or_no_end() {
    let bare = |case: &Case| match bare::get(&case.answers[0]) {
        _ if case.decodes => "-".to_owned(),
        Ok(body) => verdict(&body).to_owned(),
        Err(Failed::Error) => "error".to_owned(),
        Err(Failed::NoEnd) => "hang".to_owned(),
    };
    check(&cases(), |case| case.bare, bare);
}

#[test]
fn the_table_has_many_cases_of_many_kinds_and_none_is_read_wrongly() {
    let cases = cases();
    let titles: BTreeSet<String> = cases.iter().map(Case::title).collect();
    let kinds: BTreeSet<&str> = cases.iter().map(|case| case.kind).collect();
    assert!(titles.len() == cases.len() && cases.len() >= 300 && kinds.len() >= 25);
    let count = |verdict: fn(&Case) -> &str| {
        cases.iter().filter(|case| ["wrong", "hang"].contains(&verdict(case))).count()
    };
    assert_eq!(count(|case| case.ours), 0);
    assert!(count(|case| case.bare) >= 50);
    // Each names a document and a section.
    assert!(cases.iter().all(|case| case.rfc.split(' ').count() == 3));
}
