//! The journal of a run: what remains of it wherever its process is killed.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use model::run::{Pass, Run, Status};

use super::super::{Sqlite, Store, journal};
use crate::tests::suite;

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
    run.uuid = crate::uuid_of(&run.started);
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
                    sample.not_counted.get_or_insert_with(|| "interrupted".into());
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

/// A copy of the file alone is complete, unless a reader needs what was there before.
#[test]
fn a_run_that_has_ended_is_in_the_file_before_the_store_is_closed() {
    for is_read in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (path, journal) = paths(directory.path());
        let mut run = suite::new_run("ended");
        run.uuid = crate::uuid_of(&run.started);
        let mut store = Sqlite::open(&path).unwrap();
        run.id = store.begin(&run).unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        if is_read {
            other.execute_batch("BEGIN; SELECT * FROM run").unwrap();
        }
        run.complete = true;
        store.finish(&run.id, true, &run.environment, &run.notes).unwrap();
        assert!(!journal.exists());
        let copy = directory.path().join("copy.sqlite");
        fs::copy(&path, &copy).unwrap();
        let is_whole = Sqlite::open(&copy).unwrap().load("1").is_ok_and(|copied| copied.complete);
        assert_eq!(is_whole, !is_read);
        check(&path, &run);
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

/// A process that was just forked has the files of its parent until it is another program.
#[test]
fn a_run_can_be_deleted_while_a_new_process_still_has_the_file_of_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (path, journal) = paths(directory.path());
    let mut store = Sqlite::open(&path).unwrap();
    let id = store.begin(&suite::new_run("forked")).unwrap();
    store.append(&id, 0, &suite::new_sample(0, 0), &suite::new_values(0)).unwrap();
    let of_child = store.journal.as_ref().unwrap().file().try_clone().unwrap();
    store.delete(&id).unwrap();
    assert!(!journal.exists());
    drop(of_child);
}

#[test]
fn a_journal_that_was_looked_at_is_free_while_a_new_process_still_has_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, place) = paths(directory.path());
    fs::write(&place, "").unwrap();
    let taken = journal::take_abandoned(&path, 1).unwrap().unwrap();
    let of_child = taken.file().try_clone().unwrap();
    drop(taken);
    assert!(!journal::is_measured(&path, 1).unwrap());
    assert!(journal::take_abandoned(&path, 1).unwrap().is_some());
    drop(of_child);
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

/// What a store with this journal shows of its run, twice: the second time the journal is folded.
fn shown(store: &[u8], journal: &[u8], at: &str) -> (Run, Vec<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let (path, place) = paths(directory.path());
    fs::write(&path, store).unwrap();
    fs::write(&place, journal).unwrap();
    let run = Sqlite::open(&path).unwrap().load("1").unwrap();
    assert!(!place.exists(), "{at}");
    // A process that folds it may be killed before it renames it.
    if journal.len().is_multiple_of(2) {
        let kept = directory.path().join("runs.sqlite-run-1.damaged");
        if kept.exists() {
            fs::rename(kept, &place).unwrap();
        }
    }
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(format!("{:?}", store.load("1").unwrap()), format!("{run:?}"), "{at}");
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    assert_eq!(store.list().unwrap()[0].samples, samples as u64, "{at}");
    let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.filter(|path| path.to_string_lossy().contains(".damaged"));
    (run, kept.map(|path| fs::read(path).unwrap()).collect())
}

fn rounds(run: &Run) -> Vec<u32> {
    let samples = run.cells.iter().flat_map(|cell| &cell.samples);
    let mut rounds: Vec<u32> = samples.map(|sample| sample.round).collect();
    rounds.sort_unstable();
    rounds
}

#[test]
fn behind_a_damaged_entry_reading_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let Killed { store, journal: bytes, states } = killed(directory.path());
    let (_, whole) = states.last().unwrap();
    let all = rounds(whole);
    for (i, entry) in states.windows(2).enumerate() {
        let [(start, before), (end, after)] = entry else { unreachable!() };
        let lost = rounds(after).into_iter().find(|round| !rounds(before).contains(round));
        let expected: Vec<u32> = all.iter().copied().filter(|round| Some(*round) != lost).collect();
        // The length, the checksum, the beginning and the end of the text.
        for bit in [0, 7, 8, 17, 31, 32, 63, 64, 8 * (end - start) - 1] {
            let mut bytes = bytes.clone();
            bytes[start + bit / 8] ^= 1 << (bit % 8);
            let at = format!("bit {bit} of entry {i}");
            let (run, kept) = shown(&store, &bytes, &at);
            assert_eq!(rounds(&run), expected, "{at}");
            assert_eq!(kept, [bytes], "{at}");
            let notes: Vec<_> = run.notes.iter().map(|note| note.detail.as_str()).collect();
            let missing = match lost {
                Some(_) if *end < states.last().unwrap().0 => {
                    "1 sample, and perhaps other entries,"
                }
                _ => "samples or other entries",
            };
            let note = format!(
                "the journal of this run is damaged in a place: {missing} are missing; it is kept as \
                 runs.sqlite-run-1.damaged"
            );
            assert_eq!(notes, [note], "{at}");
        }
    }
}

#[test]
fn zeros_in_a_journal_are_damage_and_at_its_end_a_lost_end() {
    let directory = tempfile::tempdir().unwrap();
    let Killed { store, journal: bytes, states } = killed(directory.path());
    let ends: Vec<usize> = states.iter().map(|(end, _)| *end).collect();
    for i in 0..ends.len() - 1 {
        let mut bytes = bytes.clone();
        bytes[ends[i]..ends[i + 1]].fill(0);
        let (run, kept) = shown(&store, &bytes, "zeros");
        assert_eq!(kept.len(), usize::from(i + 2 < ends.len()), "entry {i}");
        assert_eq!(run.notes.len(), kept.len());
        assert!(rounds(&run).len() + 1 >= rounds(&states.last().unwrap().1).len());

        let mut cut = bytes[..ends[i + 1]].to_vec();
        cut.resize(ends[i + 1] + 3000, 0);
        let (run, kept) = shown(&store, &cut, "zeros at the end");
        assert_eq!(format!("{run:?}"), format!("{:?}", states[i].1), "entry {i}");
        assert!(kept.is_empty(), "entry {i}");
    }
}

#[test]
fn many_wrong_bits_cost_the_entries_that_have_them_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let Killed { store, journal: bytes, states } = killed(directory.path());
    let (_, whole) = states.last().unwrap();
    let mut next = super::flips::numbers(5);
    for case in 0..300 {
        let mut damaged = bytes.clone();
        let mut hit = std::collections::BTreeSet::new();
        for _ in 0..=case % 8 {
            let at = next(damaged.len());
            damaged[at] ^= 1 << next(8);
            hit.insert(states.iter().position(|(end, _)| at < *end).unwrap());
        }
        // A piece that is written to another place.
        if case % 3 == 0 {
            let (i, j) = (next(10), 11 + next(5));
            let (from, to) = (states[i].0, states[j].0);
            let len = (states[i + 1].0 - from).min(states[j + 1].0 - to);
            damaged.copy_within(from..from + len, to);
            hit.extend([j, j + 1]);
        }
        let (run, kept) = shown(&store, &damaged, "many");
        assert_eq!(kept.len(), usize::from(damaged != bytes), "case {case}");
        assert!(rounds(&run).len() + hit.len() >= rounds(whole).len(), "case {case}");
        for (cell, whole) in run.cells.iter().zip(&whole.cells) {
            for (i, sample) in cell.samples.iter().enumerate() {
                let same = whole.samples.iter().position(|known| known.round == sample.round);
                let (_, values) = whole.nth(same.unwrap()).unwrap();
                assert_eq!(cell.nth(i).unwrap().1, values, "case {case}");
            }
        }
    }
}
