//! Stores with many samples.

use std::fs;
use std::path::Path;

use model::run::{Design, Run, Sample};

use super::super::{Sqlite, Store};
use crate::tests::suite;

/// A complete run with this many rounds of 20 methods.
fn run_of(rounds: u32, label: u32) -> Run {
    let mut run = suite::new_run("reading");
    run.label = Some(format!("run {label}"));
    run.started =
        format!("2026-01-02T{:02}:{:02}:{:02}Z", label / 3600, label / 60 % 60, label % 60);
    run.complete = true;
    run.plan = model::run::Plan { imported: None, design: Design::Fixed, ..run.plan };
    run.plan.sessions = rounds.div_ceil(5);
    let cell = run.cells.swap_remove(0);
    run.cells =
        (0..20).map(|i| model::run::Cell { method: format!("m{i}"), ..cell.clone() }).collect();
    for round in 0..rounds {
        for (i, cell) in run.cells.iter_mut().enumerate() {
            let session = round / 5;
            let sample = suite::new_sample(round % 2 + 5, i as u32);
            let sample = Sample { session, round: round % 5, warm_up: false, ..sample };
            // No two methods alike, and none at 0.
            let noise = (round * 7 + i as u32 * 13) % 97;
            cell.push(sample, &suite::new_values(noise + label % 7 + 1));
        }
    }
    run
}

fn check_space(store: &mut Sqlite) {
    let path = store.path.clone();
    let len = || fs::metadata(&path).unwrap().len();
    let kept = store.add(&run_of(50, 1)).unwrap();
    let one = store.add(&run_of(1, 0)).unwrap();
    store.delete(&one).unwrap();
    let before = len();
    let ids: Vec<String> = (0..5).map(|i| store.add(&run_of(100, i)).unwrap()).collect();
    let last = store.add(&run_of(50, 2)).unwrap();
    for id in ids {
        store.delete(&id).unwrap();
    }
    assert!(len() < before * 3, "{before} {}", len());
    for id in [kept, last] {
        assert_eq!(store.load(&id).unwrap().cells[19].samples.len(), 50);
        store.delete(&id).unwrap();
    }
    assert!(len() < before / 2, "{before} {}", len());
}

#[test]
fn a_deleted_run_gives_its_space_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(&directory.path().join("store")).unwrap();
    check_space(&mut store);
}

/// What the history needs of a run is equal to what it finds in all of it.
#[test]
fn a_method_is_loaded_as_it_is_in_the_whole_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(&directory.path().join("store")).unwrap();
    let mut run = run_of(20, 1);
    run.cells[3].samples.iter_mut().for_each(|sample| sample.answer = Some("wrong".into()));
    run.cells[4].samples[7].answer = Some("another".into());
    run.cells[5].samples.iter_mut().for_each(|sample| sample.answer = None);
    let id = store.add(&run).unwrap();
    let whole = [store.load(&id).unwrap()];
    for (cell, found) in [(0, 1), (2, 1), (3, 0), (4, 0), (5, 0)] {
        let method = format!("m{cell}");
        let part = [store.load_method(&id, &method, "wall_ns").unwrap()];
        assert!(part[0].cells[cell].values.len() < 4 && part[0].cells[9].values.is_empty());
        let [whole, part] = [&whole, &part].map(|run| analysis::series(run, &method, "wall_ns"));
        assert_eq!(format!("{part:?}"), format!("{whole:?}"));
        assert_eq!(whole.len(), found, "{method}");
    }
}

/// Makes the store of a measurement by hand, if these variables name it: the number of runs, and
/// that of rounds of 20 methods in each.
#[test]
fn large_store() {
    let Some(task) = std::env::var_os("BYTELAB_TEST_LARGE") else { return };
    let task = task.into_string().unwrap();
    let [runs, rounds, path] = task.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{task}")
    };
    let mut store = Sqlite::open(Path::new(path)).unwrap();
    for label in 0..runs.parse().unwrap() {
        store.add(&run_of(rounds.parse().unwrap(), label)).unwrap();
    }
}
