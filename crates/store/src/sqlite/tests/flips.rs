//! Damage on the device: what a store that has a wrong bit still shows.

use std::fs;
use std::path::Path;

use model::run::Run;
use rusqlite::Connection;

use super::super::{Sqlite, Store};
use super::refusals::STORE;
use crate::tests::suite;

const IDS: [&str; 3] = ["1", "2", "3"];

fn loaded(path: &Path) -> Vec<Result<Run, String>> {
    let store = Sqlite::open(path).map_err(|error| format!("{error:#}"));
    let Ok(mut store) = store else {
        return IDS.map(|_| Err(String::new())).into();
    };
    IDS.map(|id| store.load(id).map_err(|error| format!("{error:#}"))).into()
}

/// Numbers that look random, and are the same each time.
pub(super) fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn a_flipped_bit_changes_no_run_unseen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, &*STORE).unwrap();
    let whole = loaded(&path).into_iter().map(|run| format!("{:?}", run.unwrap()));
    let whole: Vec<String> = whole.collect();
    let mut next = numbers(3);
    let (mut refused, mut unchanged) = (0, 0);
    for _ in 0..600 {
        let mut bytes = STORE.clone();
        let (at, bit) = (next(bytes.len()), next(8));
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        for (run, expected) in loaded(&path).into_iter().zip(&whole) {
            match run {
                Ok(run) => {
                    assert_eq!(&format!("{run:?}"), expected, "bit {bit} of byte {at}");
                    unchanged += 1;
                }
                Err(text) => {
                    assert!(!text.contains('\n'), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300 && unchanged > 300, "{refused} refused, {unchanged} unchanged");
}

#[test]
fn damage_is_named_and_the_other_runs_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, &*STORE).unwrap();
    let connection = Connection::open(&path).unwrap();
    let (metric, _) = suite::new_values(0)[0];
    let flipped = "UPDATE cell_metric SET data = CAST(substr(data, 1, 9) || x'01' || substr(data, 11) AS BLOB)
                   WHERE run = 2 AND cell = 0 AND name = ?1";
    assert_eq!(connection.execute(flipped, [metric]).unwrap(), 1);
    drop(connection);
    let expected = format!(
        "store {}: run 2: its data is damaged (cell 0: the checksum of {} is wrong); restore the \
         store from a copy, or delete the run",
        path.display(),
        metric
    );
    let errors: Vec<_> = loaded(&path).into_iter().map(Result::err).collect();
    assert_eq!(errors, [None, Some(expected.clone()), None]);

    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(format!("{:#}", store.verify().unwrap_err()), expected);
    assert_eq!(store.list().unwrap().len(), 3);
    store.delete("2").unwrap();
    store.verify().unwrap();
}

/// A row that is not found, as its key or the index is damaged, is missing without a wrong
/// checksum.
#[test]
fn what_is_missing_is_damage() {
    let lost = [
        ("DELETE FROM cell_metric WHERE run = 2 AND name = 'wall_ns'", "cell 0 has lost wall_ns"),
        ("DELETE FROM cell_samples WHERE run = 2 AND cell = 1", "cell 1 has lost its samples"),
        ("DELETE FROM cell WHERE run = 2 AND position = 1", "it has 1 of 2 cells"),
        ("DELETE FROM cell WHERE run = 2 AND position = 0", "cell 0 is missing"),
        ("UPDATE cell SET answers = NULL WHERE run = 2", "the checksum of cell 0 is wrong"),
        ("UPDATE run SET label = 'x' WHERE id = 2", "its checksum is wrong"),
        ("UPDATE run SET samples = 199 WHERE id = 2", "its checksum is wrong"),
    ];
    for (statement, expected) in lost {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        fs::write(&path, &*STORE).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        assert!(connection.execute(statement, []).unwrap() > 0);
        drop(connection);
        let mut store = Sqlite::open(&path).unwrap();
        let error = format!("{:#}", store.load("2").unwrap_err());
        assert!(error.contains(&format!("run 2: its data is damaged ({expected})")), "{error}");
        store.load("1").unwrap();
        // A label gives the run no new checksum.
        if expected == "its checksum is wrong" {
            store.set_label("2", Some("y")).unwrap_err();
            store.load_plan("2").map(drop).unwrap_err();
        }
    }
}

#[test]
fn a_damaged_baseline_names_no_other_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, &*STORE).unwrap();
    let mut store = Sqlite::open(&path).unwrap();
    store.set_baseline("main", "2").unwrap();
    store.connection.execute("UPDATE baseline SET run = 3", []).unwrap();
    let error = format!("{:#}", store.baselines().unwrap_err());
    assert!(error.contains("the baseline \"main\" is damaged"), "{error}");
    store.delete_baseline("main").unwrap();
    store.set_baseline("main", "2").unwrap();
    assert_eq!(store.baselines().unwrap()[0].id, "2");
}
