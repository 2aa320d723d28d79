//! A server of the tests' own, with writers who mean well and others.

mod hostile;
mod tls;

use super::connecting;
use super::*;
use crate::tests::server::TestServer;
use crate::tests::suite;

fn open(url: &str) -> Result<Postgres> {
    Postgres::open(url, "postgres:///runs".to_owned())
}

#[test]
fn it_is_a_store() {
    let Some(server) = TestServer::start() else { return };
    let url = server.url();
    suite::all(&mut open(&url).unwrap());
    // The second pass runs on the content of the first, through another connection.
    suite::all(&mut open(&url).unwrap());
}

#[test]
fn the_tables_are_made_once_and_those_of_tomorrow_are_refused() {
    let Some(server) = TestServer::start() else { return };
    let url = server.url();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| open(&url).unwrap().list().unwrap());
        }
    });
    assert_eq!(server.sql("runs", "SELECT version FROM bytelab.version"), "1");
    server.sql("runs", "UPDATE bytelab.version SET version = 2");
    let error = format!("{:#}", open(&url).err().unwrap());
    assert!(
        error.contains("it has schema 2, and this bytelab knows schemas up to 1: up"),
        "{error}"
    );
}

#[test]
fn a_server_that_is_not_there_is_one_line() {
    for url in ["postgres:///runs?host=/nonexistent", "postgres://127.0.0.1:1/runs"] {
        let error = format!("{:#}", open(url).err().unwrap());
        assert!(error.contains("the connection failed: try again later"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_error_of_the_server_is_explained() {
    let error =
        connecting::explain("postgres://h/d", sqlx::Error::Protocol("odd\nline".into()).into());
    assert!(!format!("{error:#}").contains('\n'), "{error:#}");
}

/// The server is killed again and again while runs are added; a client tries again until it knows
/// that its run is there.
#[test]
fn whatever_dies_each_run_is_there_once_and_whole() {
    const WRITERS: usize = 4;
    const RUNS: usize = 10;
    let Some(mut server) = TestServer::start() else { return };
    let url = server.url();
    let runs: Vec<Run> = (0..WRITERS * RUNS).map(|i| of_round(i as u32)).collect();
    std::thread::scope(|scope| {
        let url = &url;
        for own in runs.chunks(RUNS) {
            scope.spawn(move || {
                for run in own {
                    while open(url).and_then(|mut s| s.add_once(run)).is_err() {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            });
        }
        for _ in 0..3 {
            server.kill_and_restart();
        }
    });
    let mut store = open(&url).unwrap();
    assert_eq!(store.list().unwrap().len(), runs.len());
    for run in &runs {
        suite::check_stored(&mut store, &Run { id: run.uuid.clone(), ..run.clone() });
    }
}

fn of_round(round: u32) -> Run {
    let mut run = suite::new_run("killed");
    run.uuid = crate::uuid_of(&run.started);
    run.complete = true;
    run.cells[0].push(suite::new_sample(round, 0), &suite::new_values(round));
    run
}

#[test]
fn a_role_has_the_rights_that_the_documentation_gives_it() {
    let Some(server) = TestServer::start() else { return };
    open(&server.url()).unwrap();
    server.sql("runs", include_str!("../../../../../docs/postgres-roles.sql"));
    server.sql(
        "runs",
        "CREATE USER ada IN ROLE bytelab_writer; CREATE USER eve IN ROLE bytelab_reader;
         CREATE USER bob; CREATE USER eli PASSWORD 'secret'",
    );
    server.allow_first("local all eli scram-sha-256");
    let open = |user| open(&server.url_of(user));
    let run = of_round(1);
    let mut writer = open("ada").unwrap();
    assert!(writer.add_once(&run).unwrap());
    assert!(!writer.add_once(&run).unwrap());
    let mut reader = open("eve").unwrap();
    suite::check_stored(&mut reader, &Run { id: run.uuid.clone(), ..run.clone() });
    let refused = [
        writer.delete(&run.uuid),
        writer.set_label(&run.uuid, Some("x")),
        reader.add_once(&of_round(2)).map(drop),
        reader.delete(&run.uuid),
        open("bob").map(drop),
    ];
    for error in refused.map(|result| format!("{:#}", result.unwrap_err())) {
        assert!(error.contains("this role has no right to do that"), "{error}");
    }
    for user in ["eli", "eli&password=wrong"] {
        let error = format!("{:#}", open(user).err().unwrap());
        assert!(error.contains("refuses this user or password"), "{error}");
        assert!(!error.contains("wrong"), "{error}");
    }
}

#[test]
fn invalid_rows_are_reported_with_their_run() {
    let Some(server) = TestServer::start() else { return };
    let mut store = open(&server.url()).unwrap();
    let run = of_round(1);
    store.add_once(&run).unwrap();
    let mut refused = |change: &str, expected: &str| {
        server.sql("runs", change);
        let error = format!("{:#}", store.load(&run.uuid).unwrap_err());
        assert!(error.contains(&run.uuid) && error.contains(expected), "{error}");
        let listed = store.list().unwrap();
        assert!(listed[0].samples <= 1, "{listed:?}");
    };
    refused("UPDATE bytelab.run SET samples = 0", "it has 1 of 0 samples");
    // An owner may drop checks.
    let unchecked = "ALTER TABLE bytelab.run DROP CONSTRAINT run_check;
                     ALTER TABLE bytelab.run DROP CONSTRAINT run_document_check;
                     ALTER TABLE bytelab.run DROP CONSTRAINT run_samples_check";
    server.sql("runs", unchecked);
    refused("UPDATE bytelab.run SET samples = -1, cells = -1", "it has 1 of 0 samples");
    let none = "UPDATE bytelab.run SET samples = 1, data = array_fill(''::bytea, ARRAY[2])";
    refused(none, "0 of 1 samples");
    refused("UPDATE bytelab.run SET data = '{}'", "it has 0 cells");
    let large = "UPDATE bytelab.run SET document = decode(repeat('00', (1 << 26) + 1), 'hex')";
    refused(large, "its data is damaged");
}

#[test]
fn tables_that_are_not_ours_are_one_line() {
    let Some(server) = TestServer::start() else { return };
    let url = server.url();
    let check = |change: &str| {
        server.sql("runs", change);
        let refused = open(&url).and_then(|mut store| store.add_once(&of_round(1)));
        let error = format!("{:#}", refused.unwrap_err());
        assert!(error.contains("damaged or not one of bytelab's"), "{change}: {error}");
        assert!(!error.contains("at line"), "{error}");
        server.sql("runs", "DROP SCHEMA bytelab CASCADE");
    };
    check("CREATE SCHEMA bytelab; CREATE TABLE bytelab.run (id integer)");
    check("CREATE SCHEMA bytelab; CREATE TABLE bytelab.version (version integer)");
    for change in [
        "ALTER TABLE bytelab.run DROP COLUMN data",
        "ALTER TABLE bytelab.run DROP COLUMN label",
        "ALTER TABLE bytelab.run ALTER COLUMN complete TYPE integer USING 1",
        "UPDATE bytelab.version SET version = -1",
    ] {
        open(&url).unwrap();
        check(change);
    }
}
