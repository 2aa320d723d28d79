//! When the whole of a store is read.

use std::fs;

use super::super::{Sqlite, Store};
use super::refusals::{STORE, damage_the_middle, write_three_runs};

/// Reading all of a store takes a second for a million samples.
#[test]
fn what_was_closed_is_not_read_before_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut bytes = STORE.clone();
    damage_the_middle(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.list().unwrap().len(), 3);
    let loaded: Vec<_> = ["1", "2", "3"].map(|id| store.load(id)).into_iter().collect();
    let errors: Vec<_> = loaded.iter().filter_map(|run| run.as_ref().err()).collect();
    assert!(!errors.is_empty());
    for error in errors {
        let text = format!("{error:#}");
        assert!(text.contains("store: damaged; restore it from a copy"), "{text}");
    }
    let text = format!("{:#}", store.verify().unwrap_err());
    assert!(text.contains("store: damaged ("), "{text}");
}

#[test]
fn a_store_that_another_process_writes_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut first = Sqlite::open(&path).unwrap();
    write_three_runs(&mut first);
    assert!(path.with_file_name("store-wal").exists());
    assert_eq!(Sqlite::open(&path).unwrap().list().unwrap().len(), 3);
    write_three_runs(&mut first);
    assert_eq!(Sqlite::open(&path).unwrap().list().unwrap().len(), 6);
}
