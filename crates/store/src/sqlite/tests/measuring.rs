//! What a run needs while it is measured.

use model::run::{Measure, Pass, Run, Sample, Status, Warning};

use super::super::{Sqlite, Store};
use crate::tests::suite::{check_stored, environment, new_cell, new_run, new_sample, new_values};

pub(super) fn all(store: &mut Sqlite) {
    a_run_grows_while_it_is_measured(store);
    samples_keep_the_order_in_which_they_were_taken(store);
    a_stopped_run_can_be_continued(store);
    an_interrupted_session_is_set_aside(store);
    what_is_not_there_is_an_error(store);
    a_run_waits_for_the_server(store);
}

fn append(store: &mut Sqlite, run: &mut Run, cell: usize, round: u32, values: &[(&str, f64)]) {
    let sample = new_sample(round, cell as u32);
    store.append(&run.id, cell, &sample, values).unwrap();
    run.cells[cell].push(sample, values);
}

fn begin(store: &mut Sqlite, experiment: &str) -> Run {
    let mut run = new_run(experiment);
    run.uuid = crate::uuid_of(&run.started);
    run.id = store.begin(&run).unwrap();
    run
}

fn a_run_grows_while_it_is_measured(store: &mut Sqlite) {
    let mut run = begin(store, "growing");
    check_stored(store, &run);
    run.environment = environment("early");
    store.put_state(&run.id, false, &run.environment, &run.notes).unwrap();
    check_stored(store, &run);
    append(store, &mut run, 0, 0, &new_values(0));

    let point = run.points[0].clone();
    run.cells.push(new_cell("late", &point));
    store.put_cell(&run.id, 2, &run.cells[2]).unwrap();
    run.cells[0].language = Some("rust".to_owned());
    run.cells[0].digest = Some("d1".to_owned());
    let calls = [("read".to_owned(), 2049.0), ("close".to_owned(), 0.5)];
    run.cells[0].syscalls_by_name = Some(calls.into());
    run.cells[0].status = Status::Failed("it died".to_owned());
    store.put_cell(&run.id, 0, &run.cells[0]).unwrap();
    run.cells[1].status = Status::Skipped("no io_uring".to_owned());
    store.put_cell(&run.id, 1, &run.cells[1]).unwrap();
    append(store, &mut run, 2, 1, &new_values(1));
    check_stored(store, &run);

    let why = "nothing waited".to_owned();
    let (metric, by_wall) = ("wall_ns".to_owned(), vec!["read".to_owned()]);
    run.plan.measures = vec![Measure { metric, why, by_wall }];
    store.put_plan(&run.id, &run.plan).unwrap();
    check_stored(store, &run);

    run.complete = true;
    run.environment = environment("late");
    let point = Some(run.points[0].clone());
    run.notes = vec![Warning { point, ..Warning::noted("drift").of_method("late") }];
    store.finish(&run.id, true, &run.environment, &run.notes).unwrap();
    check_stored(store, &run);
}

fn samples_keep_the_order_in_which_they_were_taken(store: &mut Sqlite) {
    let mut run = begin(store, "order");
    for round in [5, 3, 4, 0, 0, 9] {
        append(store, &mut run, 1, round, &new_values(round));
        append(store, &mut run, 0, 10 - round, &[]);
    }
    check_stored(store, &run);
}

fn a_stopped_run_can_be_continued(store: &mut Sqlite) {
    let mut run = begin(store, "continued");
    append(store, &mut run, 0, 0, &new_values(0));
    store.finish(&run.id, true, &run.environment, &[]).unwrap();
    store.finish(&run.id, false, &run.environment, &run.notes).unwrap();
    append(store, &mut run, 0, 1, &new_values(1));
    check_stored(store, &run);
}

fn an_interrupted_session_is_set_aside(store: &mut Sqlite) {
    let mut run = begin(store, "interrupted");
    for session in 0..2 {
        for pass in [Pass::Timing, Pass::Counting] {
            let sample = Sample { pass, session, ..new_sample(session, 0) };
            store.append(&run.id, 0, &sample, &new_values(0)).unwrap();
            run.cells[0].push(sample, &new_values(0));
        }
    }
    store.set_aside(&run.id, 1, "interrupted").unwrap();
    let samples = run.cells[0].samples.iter_mut();
    for sample in samples.filter(|s| s.session == 1 && s.pass == Pass::Timing) {
        sample.not_counted = Some("interrupted".into());
    }
    check_stored(store, &run);
}

fn what_is_not_there_is_an_error(store: &mut Sqlite) {
    let run = begin(store, "known");
    let gone = begin(store, "gone").id;
    store.delete(&gone).unwrap();
    for id in [&*gone, "", "x", "-1", "1 OR 1", "99999999999999999999", "\0"] {
        let errors = [
            store.finish(id, true, &run.environment, &[]),
            store.put_cell(id, 0, &run.cells[0]),
            store.append(id, 0, &new_sample(0, 0), &[]),
        ];
        for error in errors.map(Result::unwrap_err) {
            let text = format!("{error:#}");
            assert!(text.contains("no run") || text.contains("deleted"), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
    let error = store.put_cell(&run.id, 3, &run.cells[0]).unwrap_err();
    assert!(format!("{error:#}").contains("has 2 cells"), "{error:#}");
    let error = store.append(&run.id, 2, &new_sample(0, 0), &[]).unwrap_err();
    assert!(format!("{error:#}").contains("has no cell 2"), "{error:#}");
    check_stored(store, &run);
}

fn a_run_waits_for_the_server(store: &mut Sqlite) {
    let before = store.unsent().unwrap();
    let run = begin(store, "unsent");
    assert_eq!(store.unsent().unwrap(), before);
    store.set_unsent(&run.id, true).unwrap();
    assert_eq!(store.unsent().unwrap().last(), Some(&run.id));
    store.set_unsent(&run.id, false).unwrap();
    assert_eq!(store.unsent().unwrap(), before);
}
