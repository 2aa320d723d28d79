//! The journal of a run: what remains of it wherever its process is killed.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use lab::run::{Pass, Run, Status};

use super::super::{Sqlite, Store};
use crate::store::tests::suite;

/// The store of a run, its journal as a killed process leaves it, and the run after each entry of
/// it.
struct Killed {
    store: Vec<u8>,
    journal: Vec<u8>,
    /// The end of each entry, and the run at this end.
    states: Vec<(usize, Run)>,
}

fn killed(directory: &Path) -> Killed {
    let (path, journal) = paths(directory);
    let mut run = suite::new_run("killed");
    run.uuid = crate::store::uuid_of(&run.started);
    let mut store = Sqlite::open(&path).unwrap();
    run.id = store.begin(&run).unwrap();
    // Some samples are in the store already, as those of a run that is resumed are.
    let append = |store: &mut Sqlite, run: &mut Run, round| {
        let values = suite::new_values(round);
        let cell = round as usize % 2;
        store.append(&run.id, cell, &suite::new_sample(round, 0), &values).unwrap();
        run.cells[cell].push(suite::new_sample(round, 0), &values);
    };
    for round in 0..6 {
        append(&mut store, &mut run, round);
    }
    store.finish(&run.id, false, &run.environment, &run.notes).unwrap();
    drop(store);
    let bytes = fs::read(&path).unwrap();

    let mut store = Sqlite::open(&path).unwrap();
    let mut states = vec![(0, run.clone())];
    for round in 6..30 {
        match round {
            10 => {
                run.cells[1].status = Status::Failed("it died".to_owned());
                store.put_cell(&run.id, 1, &run.cells[1]).unwrap();
            }
            15 => {
                store.set_aside(&run.id, 0, "interrupted").unwrap();
                let all = run.cells.iter_mut().flat_map(|cell| &mut cell.samples);
                for sample in all.filter(|sample| sample.pass == Pass::Timing) {
                    sample.not_counted.get_or_insert_with(|| "interrupted".to_owned());
                }
            }
            20 => {
                run.plan.looked_at = 7;
                store.put_plan(&run.id, &run.plan).unwrap();
            }
            _ => append(&mut store, &mut run, round),
        }
        states.push((fs::metadata(&journal).unwrap().len() as usize, run.clone()));
    }
    let journal = fs::read(journal).unwrap();
    Killed { store: bytes, journal, states }
}

fn paths(directory: &Path) -> (PathBuf, PathBuf) {
    (directory.join("runs.sqlite"), directory.join("runs.sqlite-run-1"))
}

fn check(path: &Path, expected: &Run) {
    let mut store = Sqlite::open(path).unwrap();
    assert_eq!(format!("{:?}", store.load("1").unwrap()), format!("{expected:?}"));
    let samples: usize = expected.cells.iter().map(|cell| cell.samples.len()).sum();
    assert_eq!(store.list().unwrap()[0].samples, samples as u64);
}

/// Each time the process is killed at another byte of its journal; sometimes the one that folds it
/// is killed as well, before it deletes it.
#[test]
fn wherever_a_process_is_killed_each_whole_entry_is_kept_once() {
    let directory = tempfile::tempdir().unwrap();
    let Killed { store, journal: bytes, states } = killed(directory.path());
    for i in 0..1000 {
        let cut = i * 7919 % (bytes.len() + 1);
        let directory = tempfile::tempdir().unwrap();
        let (path, journal) = paths(directory.path());
        fs::write(&path, &store).unwrap();
        fs::write(&journal, &bytes[..cut]).unwrap();
        let (_, expected) = states.iter().rfind(|(end, _)| *end <= cut).unwrap();
        check(&path, expected);
        assert!(!journal.exists());
        if i % 4 == 0 {
            fs::write(&journal, &bytes[..cut]).unwrap();
            check(&path, expected);
            assert!(!journal.exists());
        }
    }
}

#[test]
fn the_journal_of_a_deleted_run_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let Killed { journal: bytes, .. } = killed(directory.path());
    let (path, journal) = paths(directory.path());
    Sqlite::open(&path).unwrap().delete("1").unwrap();
    fs::write(&journal, bytes).unwrap();
    assert!(Sqlite::open(&path).unwrap().list().unwrap().is_empty());
    assert!(!journal.exists());
}

#[test]
fn a_full_disk_is_an_error_and_the_next_sample_takes_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = paths(directory.path());
    let mut store = Sqlite::open(&path).unwrap();
    let id = store.begin(&suite::new_run("full")).unwrap();
    let append = |store: &mut Sqlite, round| {
        store.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round))
    };
    append(&mut store, 0).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let own = store.journal.as_mut().unwrap().replace_file(full);
    let error = format!("{:#}", append(&mut store, 1).unwrap_err());
    assert!(error.contains("no space left on its device: make some ("), "{error}");
    assert!(error.contains("runs.sqlite-run-1 cannot be written"), "{error}");
    store.journal.as_mut().unwrap().replace_file(own);
    append(&mut store, 1).unwrap();
    let samples = &store.load(&id).unwrap().cells[0].samples;
    assert_eq!(*samples, [suite::new_sample(0, 0), suite::new_sample(1, 0)]);
}
