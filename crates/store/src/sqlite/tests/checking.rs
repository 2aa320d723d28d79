//! When the whole of a store is read.

use std::fs;
use std::path::Path;
use std::sync::Barrier;

use super::super::{Sqlite, Store};
use super::refusals::{KILLED, STORE, damage_the_middle, put, write_three_runs};

/// Reading all of a store takes a second for a million samples.
#[test]
fn a_store_that_was_closed_properly_is_not_checked_when_it_is_opened() {
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
        assert!(text.contains(": its data is damaged ("), "{text}");
    }
    let text = format!("{:#}", store.verify().unwrap_err());
    assert!(text.contains(": its data is damaged ("), "{text}");
}

/// The check after a kill is done by one of those that open the store at once, and none of the
/// others goes on before its end.
#[test]
fn damage_that_a_kill_left_is_found_by_all_that_open_the_store_at_once() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let mut left = KILLED.clone();
        damage_the_middle(left.get_mut("store").unwrap());
        put(directory.path(), &left);
        let refused = open_at_once(&path).into_iter().filter(Result::is_err).count();
        assert_eq!(refused, 6);
        put(directory.path(), &KILLED);
        for samples in open_at_once(&path) {
            assert_eq!(samples.unwrap(), 1200);
        }
    }
}

fn open_at_once(path: &Path) -> Vec<anyhow::Result<u64>> {
    let together = Barrier::new(6);
    let samples = || {
        together.wait();
        let mut store = Sqlite::open(path)?;
        Ok(store.list()?.iter().map(|run| run.samples).sum())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(samples)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
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
