//! A writer of the team who wants to stop the others, and what the others still see.

use super::*;
use crate::{NamedRun, OmittedRuns};

/// A server with a run of ada's, and another writer, eve.
fn team() -> Option<(TestServer, Run)> {
    let server = TestServer::start()?;
    open(&server.url()).unwrap();
    server.sql("runs", include_str!("../../../../../docs/postgres-roles.sql"));
    server.sql(
        "runs",
        "CREATE USER ada IN ROLE bytelab_writer; CREATE USER eve IN ROLE bytelab_writer",
    );
    let run = of_round(1);
    assert!(open(&server.url_of("ada")).unwrap().add_once(&run).unwrap());
    Some((server, run))
}

/// A row whose columns are valid, but for these expressions.
fn row(changes: &[(&str, &str)]) -> String {
    let mut columns = vec![
        ("id", "gen_random_uuid()"),
        ("experiment", "'killed'"),
        ("label", "NULL"),
        ("started", "'2030-01-02T03:04:05Z'"),
        ("complete", "true"),
        ("fingerprint", "'x'"),
        ("cpu_model", "NULL"),
        ("cells", "1"),
        ("samples", "1"),
        ("took_ns", "NULL"),
        ("document", "'odd'::bytea"),
        ("answers", "ARRAY['[]']"),
        ("data", "ARRAY['odd'::bytea]"),
    ];
    for (name, value) in changes {
        match columns.iter_mut().find(|(known, _)| known == name) {
            Some(column) => column.1 = value,
            None => columns.push((name, value)),
        }
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| *value).collect();
    format!("INSERT INTO bytelab.run ({}) VALUES ({})", names.join(", "), values.join(", "))
}

#[test]
fn a_writer_changes_nothing_of_the_runs_of_others() {
    let Some((server, run)) = team() else { return };
    let id = format!("'{}'", run.uuid);
    for statement in [
        row(&[("id", &id)]),
        format!("{} ON CONFLICT (id) DO UPDATE SET label = 'x'", row(&[("id", &id)])),
        "UPDATE bytelab.run SET data = '{}'".to_owned(),
        "UPDATE bytelab.run SET label = 'x'".to_owned(),
        "DELETE FROM bytelab.run".to_owned(),
        "TRUNCATE bytelab.run".to_owned(),
        "DROP TABLE bytelab.run".to_owned(),
        "LOCK TABLE bytelab.run IN SHARE MODE".to_owned(),
        "SELECT FROM bytelab.run FOR UPDATE".to_owned(),
        "CREATE TABLE bytelab.mine (x integer)".to_owned(),
        "INSERT INTO bytelab.version VALUES (99)".to_owned(),
        "UPDATE bytelab.version SET version = 99".to_owned(),
        format!("INSERT INTO bytelab.baseline VALUES ('main', {id})"),
        "CREATE TRIGGER t BEFORE INSERT ON bytelab.run EXECUTE FUNCTION suppress_redundant_updates_trigger()"
            .to_owned(),
    ] {
        let tried = server.try_sql("runs", &format!("SET ROLE eve; {statement}"));
        assert_eq!(tried, None, "{statement}");
    }
    let mut store = open(&server.url_of("ada")).unwrap();
    suite::check_stored(&mut store, &Run { id: run.uuid.clone(), ..run.clone() });
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_row_that_claims_what_cannot_be_is_refused() {
    let Some((server, _)) = team() else { return };
    let long = "repeat('x', 100000000)";
    let many = "array_fill('x'::text, ARRAY[1000])";
    for change in [
        ("started", "'not a time'"),
        ("started", "''"),
        ("started", "'2030-13-02T03:04:05Z'"),
        ("started", "'99999-01-02T03:04:05Z'"),
        ("started", "'infinity'"),
        ("started", "E'2030-01-02T03:04:05Z\\n'"),
        ("added", "'2000-01-02T03:04:05Z'"),
        ("label", long),
        ("experiment", long),
        ("fingerprint", long),
        ("cpu_model", long),
        ("samples", "-1"),
        ("cells", "-1"),
        ("cells", "2"),
        ("took_ns", "-1"),
        ("document", "decode(repeat('00', (1 << 26) + 1), 'hex')"),
        ("answers", many),
        ("answers", "ARRAY[repeat('x', 1 << 27)]"),
        ("data", "'{}'"),
        ("answers", "NULL"),
    ] {
        let tried = server.try_sql("runs", &format!("SET ROLE eve; {}", row(&[change])));
        assert_eq!(tried, None, "{change:?}");
    }
    // What is stored compressed is not mistaken for something short.
    let compressed = format!(
        "SET ROLE eve; CREATE TEMP TABLE t (label text, answers text[]);
         INSERT INTO t VALUES ({long}, ARRAY[repeat('x', 1 << 27)]); "
    );
    for (column, value) in
        [("label", "(SELECT label FROM t)"), ("answers", "(SELECT answers FROM t)")]
    {
        let insert = row(&[(column, value)]);
        assert_eq!(server.try_sql("runs", &format!("{compressed}{insert}")), None, "{column}");
    }
    assert!(server.try_sql("runs", &format!("SET ROLE eve; {}", row(&[]))).is_some());
}

/// What no check of the schema finds: a row of a run that cannot be read.
#[test]
fn a_run_that_cannot_be_read_stops_none_of_the_others() {
    let Some((server, run)) = team() else { return };
    for label in ["a", "b"] {
        server.sql("runs", &format!("SET ROLE eve; {}", row(&[("label", &format!("'{label}'"))])));
    }
    // A document of another run, whose samples are missing.
    let copied = format!("(SELECT document FROM bytelab.run WHERE id = '{}')", run.uuid);
    for data in ["'odd'::bytea", "'\\x28b52ffd'::bytea", "''::bytea"] {
        let data = format!("array_fill({data}, ARRAY[2])");
        let cells = [("cells", "2"), ("answers", "ARRAY['[]', '{']"), ("data", &*data)];
        let cells = [&cells[..], &[("document", &*copied)]].concat();
        server.sql("runs", &format!("SET ROLE eve; {}", row(&cells)));
    }
    let mut store = open(&server.url_of("ada")).unwrap();
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 6);
    let mut left_out = OmittedRuns::default();
    let runs = left_out.readable(&listed, |run| store.load(&run.id)).unwrap();
    assert_eq!(runs.iter().map(|run| &run.uuid).collect::<Vec<_>>(), [&run.uuid]);
    let message = left_out.message().unwrap();
    assert!(
        message.starts_with("5 runs cannot be read and are left out, such as run "),
        "{message}"
    );
    let mut left_out = OmittedRuns::default();
    let load = |run: &&Listed| store.load_method(&run.id, "read", "wall_ns");
    let runs = left_out.readable(&listed, load).unwrap();
    assert_eq!(runs.len(), 1, "{left_out:?}");
}

#[test]
fn latest_is_the_newest_run_that_can_be_read() {
    let Some((server, run)) = team() else { return };
    let mut store = open(&server.url_of("ada")).unwrap();
    for started in ["'9999-12-31T23:59:59Z'", "'2030-01-02T03:04:05Z'"] {
        server.sql("runs", &format!("SET ROLE eve; {}", row(&[("started", started)])));
        assert_eq!(NamedRun::find(&mut store, "latest").unwrap().id, run.uuid, "{started}");
    }
    // A run of the future is the newest one until the next one comes.
    let mut next = of_round(2);
    next.started = measure::clock::utc_rfc3339();
    store.add_once(&next).unwrap();
    assert_eq!(store.newest(1).unwrap()[0].id, next.uuid);
    assert_eq!(NamedRun::find(&mut store, "latest").unwrap().id, next.uuid);
}

/// Rows of a seed's choice, of a writer who knows the schema; the others see their own run.
#[test]
fn no_row_of_a_writer_stops_the_others() {
    use proptest::prelude::*;
    let Some((server, run)) = team() else { return };
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    let text = "[ -~]{0,20}|\\PC{0,10}|(x{1000}){0,3}";
    let rows = (text, text, text, bytes.clone(), bytes, any::<i64>(), any::<i32>());
    let config = ProptestConfig::with_cases(64);
    proptest!(config, |((label, started, answers, document, data, samples, year) in rows)| {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let hex = |bytes: &[u8]| -> String {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("decode('{}', 'hex')", digits.concat())
        };
        let started = if year % 4 == 0 { started } else {
            format!("{:04}-01-02T03:04:05Z", year.unsigned_abs() % 10_000)
        };
        let (label, started) = (quoted(&label), quoted(&started));
        let answers = format!("ARRAY[{}]", quoted(&answers));
        let data = format!("ARRAY[{}]", hex(&data));
        let (document, samples) = (hex(&document), samples.to_string());
        let insert = row(&[
            ("label", &label), ("started", &started), ("answers", &answers), ("data", &data),
            ("document", &document), ("samples", &samples),
        ]);
        server.try_sql("runs", &format!("SET ROLE eve; {insert}"));
    });
    let mut store = open(&server.url_of("ada")).unwrap();
    let listed = store.list().unwrap();
    assert!(listed.len() > 5, "some rows of the hostile writer are admitted: {}", listed.len());
    let mut left_out = OmittedRuns::default();
    let runs = left_out.readable(&listed, |run| store.load(&run.id)).unwrap();
    assert_eq!(runs.iter().map(|run| &run.uuid).collect::<Vec<_>>(), [&run.uuid]);
    assert_eq!(NamedRun::find(&mut store, "latest").unwrap().id, run.uuid);
}
