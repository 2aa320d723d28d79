mod checking;
mod flips;
mod journals;
mod large;
mod measuring;
mod refusals;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use model::run::Environment;

use super::*;
use crate::tests::suite;

#[test]
fn it_is_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/deep/runs.sqlite");
    suite::all(&mut Sqlite::open(&path).unwrap());
    measuring::all(&mut Sqlite::open(&path).unwrap());
    // The second pass runs on the content of the first, through another connection.
    suite::all(&mut Sqlite::open(&path).unwrap());
    measuring::all(&mut Sqlite::open(&path).unwrap());
}

#[test]
fn a_store_that_is_named_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("named.sqlite");
    super::super::open(Some(path.clone().into())).unwrap().add(&suite::new_run("first")).unwrap();
    assert_eq!(Sqlite::open(&path).unwrap().list().unwrap().len(), 1);
}

#[test]
fn a_run_that_is_measured_can_be_read_by_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let (mut writer, mut reader) = (Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap());
    let id = writer.begin(&suite::new_run("shared")).unwrap();
    for round in 0..10 {
        writer.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round)).unwrap();
        assert_eq!(reader.list().unwrap()[0].samples, u64::from(round) + 1);
        check_samples(&reader.load(&id).unwrap(), round as usize + 1);
    }
    let error = reader.delete(&id).unwrap_err();
    assert!(format!("{error:#}").ends_with("is being measured: stop that first"), "{error:#}");
    writer.finish(&id, false, &Environment::default(), &[]).unwrap();
    check_samples(&reader.load(&id).unwrap(), 10);
    reader.delete(&id).unwrap();
    let error = writer.append(&id, 0, &suite::new_sample(0, 0), &[]).unwrap_err();
    assert!(format!("{error:#}").contains("no run \"1\""), "{error:#}");
}

#[test]
fn two_processes_do_not_measure_one_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let (mut first, mut second) = (Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap());
    let id = first.begin(&suite::new_run("contested")).unwrap();
    let append = |store: &mut Sqlite, round| {
        store.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round))
    };
    append(&mut first, 0).unwrap();
    let error = format!("{:#}", append(&mut second, 1).unwrap_err());
    assert!(error.contains("run 1 is being measured by another process: stop"), "{error}");
    drop(first);
    append(&mut second, 1).unwrap();
    check_samples(&second.load(&id).unwrap(), 2);
}

#[test]
fn a_store_that_is_locked_or_full_says_so_and_goes_on_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let (mut store, other) = (Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap());
    let id = store.begin(&suite::new_run("hindered")).unwrap();
    let append_100 = |store: &mut Sqlite, from: u32| {
        for round in from..from + 100 {
            store.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round)).unwrap();
        }
    };
    let finish = |store: &mut Sqlite| {
        let result = store.finish(&id, true, &Environment::default(), &[]);
        result.map_err(|error| format!("{error:#}"))
    };
    store.set_lock_limit(Duration::ZERO).unwrap();
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    append_100(&mut store, 0);
    let error = finish(&mut store).unwrap_err();
    assert!(error.contains("another program keeps it locked: try again"), "{error}");
    check_samples(&store.load(&id).unwrap(), 100);
    other.connection.execute_batch("COMMIT").unwrap();
    finish(&mut store).unwrap();

    store.connection.pragma_update(None, "max_page_count", 1).unwrap();
    append_100(&mut store, 100);
    let error = finish(&mut store).unwrap_err();
    assert!(error.contains("no space left on its device: make some"), "{error}");
    store.connection.pragma_update(None, "max_page_count", 1000).unwrap();
    finish(&mut store).unwrap();
    check_samples(&store.load(&id).unwrap(), 200);
    assert_eq!(store.list().unwrap()[0].samples, 200);
}

#[test]
fn threads_that_make_one_store_at_once_all_keep_their_samples() {
    const SAMPLES: usize = 50;
    for _ in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/runs.sqlite");
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| write_run(&path, SAMPLES, |_| ()));
            }
        });
        let mut store = Sqlite::open(&path).unwrap();
        let list = store.list().unwrap();
        assert_eq!(list.len(), 6);
        for listed in list {
            check_samples(&store.load(&listed.id).unwrap(), SAMPLES);
        }
        drop(store);
        // Neither unfinished stores nor logs remain.
        assert_eq!(std::fs::read_dir(directory.path().join("new")).unwrap().count(), 1);
    }
}

#[test]
fn processes_that_make_one_store_at_once_all_keep_their_samples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/runs.sqlite");
    let writers: Vec<_> = (0..4).map(|_| start_writer(&path, 300)).collect();
    let said: Vec<_> = writers.into_iter().map(|child| Said::until_end(child, None)).collect();
    let mut store = Sqlite::open(&path).unwrap();
    assert_eq!(store.list().unwrap().len(), 4);
    for said in said {
        assert_eq!(said.samples, 300);
        check_samples(&store.load(&said.run.unwrap()).unwrap(), 300);
    }
}

/// Each writer is killed some time after it has reported a given number of stored samples; the
/// first ones while they create or open the store.
#[test]
fn a_killed_process_loses_no_finished_sample() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    let mut all = Vec::new();
    for i in 0..25 {
        let writer = start_writer(&path, usize::MAX);
        let bystander = (i % 5 == 4).then(|| start_writer(&path, 20));
        all.push(Said::until_end(writer, Some(i * 7919 % 211 * usize::from(i > 2))));
        all.extend(bystander.map(|child| Said::until_end(child, None)));
    }
    let mut store = Sqlite::open(&path).unwrap();
    let mut found = 0;
    for said in all {
        let Some(run) = said.run else { continue };
        let run = store.load(&run).unwrap();
        let stored = run.cells[0].samples.len();
        // One more sample may be stored that the writer had no time to report.
        assert!((said.samples..=said.samples + 1).contains(&stored), "{} {stored}", said.samples);
        check_samples(&run, stored);
        assert_eq!(run.complete, !said.killed);
        found += 1;
    }
    assert!(found >= 22, "{found}");
}

/// Begins a run, adds samples to its first cell, reports each once it is stored, and ends the run.
fn write_run(path: &Path, samples: usize, mut print: impl FnMut(String)) {
    let mut store = Sqlite::open(path).unwrap();
    let run = suite::new_run("written");
    let id = store.begin(&run).unwrap();
    print(format!("run {id}"));
    for round in (0..u32::MAX).take(samples) {
        store.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round)).unwrap();
        print(format!("sample {round}"));
        store.put_cell(&id, 1, &run.cells[1]).unwrap();
    }
    store.finish(&id, true, &run.environment, &[]).unwrap();
}

/// Whether the first cell has exactly the given number of first samples of `write_run`.
fn check_samples(run: &Run, samples: usize) {
    let mut expected = suite::new_run("").cells.swap_remove(0);
    for round in 0..samples as u32 {
        expected.push(suite::new_sample(round, 0), &suite::new_values(round));
    }
    assert_eq!(run.cells[0], expected);
}

const WRITER: &str = "BYTELAB_TEST_WRITER";

/// Not a test by itself: `start_writer` starts it.
#[test]
fn writer() {
    let Some(task) = std::env::var_os(WRITER) else { return };
    let task = task.into_string().unwrap();
    let (samples, path) = task.split_once(' ').unwrap();
    write_run(Path::new(path), samples.parse().unwrap(), |line| {
        // The text is on its own line, whatever the test runner prints, and is written immediately,
        // whatever it buffers.
        writeln!(std::io::stdout(), "\n{line}").unwrap();
    });
}

#[expect(clippy::disallowed_methods, reason = "the writer is this test again, to be killed")]
fn start_writer(path: &Path, samples: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::tests::writer", "--nocapture"])
        .env(WRITER, format!("{samples} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a writer reported until its end.
#[derive(Default)]
struct Said {
    run: Option<String>,
    samples: usize,
    killed: bool,
}

impl Said {
    /// Kills the writer as soon as it has reported this many samples; at the start if that is 0.
    fn until_end(mut writer: Child, kill_after: Option<usize>) -> Said {
        let mut said = Said { killed: kill_after.is_some(), ..Said::default() };
        let output = BufReader::new(writer.stdout.take().unwrap());
        let lines = output.lines().map(Result::unwrap);
        if kill_after == Some(0) {
            writer.kill().unwrap();
        }
        for line in lines {
            match line.split_once(' ') {
                Some(("run", id)) => said.run = Some(id.to_owned()),
                Some(("sample", _)) => said.samples += 1,
                _ => {}
            }
            if Some(said.samples) == kill_after {
                writer.kill().unwrap();
            }
        }
        assert_eq!(writer.wait().unwrap().success(), !said.killed);
        said
    }
}
