//! What every store must do, whatever the storage.

use lab::param::Point;
use lab::run::Threshold;
use lab::run::{
    CacheState, Cell, Definition, Design, Environment, Imported, Machine, Measure, Pass, Plan,
    Role, Run, SCHEMA, Sample, Status, Warning,
};

use crate::store::Store;

/// Tests every operation of one store with one user. The store may already contain runs.
pub(crate) fn all(store: &mut dyn Store) {
    a_run_comes_back_whole(store);
    a_run_grows_while_it_is_measured(store);
    samples_keep_the_order_in_which_they_were_taken(store);
    unusual_texts_and_numbers_come_back(store);
    the_list_tells_what_there_is(store);
    a_stopped_run_can_be_continued(store);
    an_interrupted_session_is_set_aside(store);
    a_deleted_run_is_gone_and_its_id_is_not_given_again(store);
    what_is_not_there_is_an_error(store);
    a_baseline_is_a_name_for_a_run(store);
    a_label_is_changed_and_removed(store);
}

/// A run before anything is measured.
pub(crate) fn new_run(experiment: &str) -> Run {
    let mut point = Point::default();
    point.set("size", 1 << 27_u64);
    point.set("file", "a b");
    let plan = Plan {
        rounds: 100,
        time_limit_ns: 30_000_000_000,
        warm_up: 2,
        sessions: 1,
        design: Design::Sequential,
        seed: u64::MAX,
        cache: CacheState::AsIs,
        sample_limit_ns: 1,
        data_dir: None,
        counting: 5,
        fresh: true,
        definition: Some(Definition {
            file: "/x/my.toml".to_owned(),
            text: "name = \"ä\"\n".to_owned(),
            thresholds: vec![Threshold {
                methods: vec!["read".to_owned()],
                metric: "wall_ns".to_owned(),
                max: 0.1,
            }],
        }),
        metric_versions: lab::metric::versions(),
        measures: Vec::new(),
        limits_all: true,
        looked_at: 6,
        margin_percent: Some(2.5),
        imported: Some(Imported { tool: "fio 3.33".to_owned(), file: "a b.json".to_owned() }),
    };
    Run {
        schema: SCHEMA,
        id: String::new(),
        experiment: experiment.to_owned(),
        question: "Which way?".to_owned(),
        label: None,
        started: "2026-01-02T03:04:05Z".to_owned(),
        complete: false,
        environment: environment("early"),
        plan,
        points: vec![point.clone(), Point::default()],
        cells: vec![new_cell("read", &point), new_cell("mmap", &point)],
        notes: Vec::new(),
    }
}

fn environment(kernel: &str) -> Environment {
    let facts = [
        ("cpu_model", "Some CPU".into()),
        ("kernel", kernel.into()),
        ("load", 0.1.into()),
        ("mitigations", serde_json::json!({"a": [1, null, true]})),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    Environment { fingerprint: "f1".to_owned(), facts: facts.into() }
}

fn new_cell(method: &str, point: &Point) -> Cell {
    Cell {
        method: method.to_owned(),
        about: format!("what {method} does"),
        role: Role::Contender,
        language: None,
        point: point.clone(),
        status: Status::Measured,
        digest: None,
        syscalls_by_name: None,
        samples: Vec::new(),
        values: std::collections::BTreeMap::new(),
    }
}

pub(crate) fn new_sample(round: u32, slot: u32) -> Sample {
    Sample {
        pass: if round == 4 { Pass::Counting } else { Pass::Timing },
        session: 0,
        round,
        slot,
        warm_up: round < 2,
        not_counted: (round == 3).then(|| "not cold".to_owned()),
        ops: 7,
        bytes: 1 << 27,
        answer: Some("9f1c".to_owned()),
    }
}

/// The values of a sample with thirteen metrics, as many as a timing pass takes.
pub(crate) fn new_values(round: u32) -> Vec<(&'static str, f64)> {
    lab::metric::METRICS
        .iter()
        .filter(|metric| metric.pass == Pass::Timing)
        .enumerate()
        .map(|(i, metric)| (metric.name, f64::from(round) * 1000.1 + i as f64 / 3.0))
        .collect()
}

fn append(store: &mut dyn Store, run: &mut Run, cell: usize, round: u32, values: &[(&str, f64)]) {
    let sample = new_sample(round, cell as u32);
    store.append(&run.id, cell, &sample, values).unwrap();
    run.cells[cell].push(sample, values);
}

fn begin(store: &mut dyn Store, experiment: &str) -> Run {
    let mut run = new_run(experiment);
    run.id = store.begin(&run).unwrap();
    run
}

fn check_stored(store: &mut dyn Store, expected: &Run) {
    // NaN is not equal to itself, but its text is; no two numbers have the same text.
    let got = store.load(&expected.id).unwrap();
    assert_eq!(format!("{got:#?}"), format!("{expected:#?}"));
}

fn a_run_comes_back_whole(store: &mut dyn Store) {
    let mut run = new_run("whole");
    run.label = Some("before".to_owned());
    run.notes = vec![Warning::noted("a doubt")];
    run.cells[1].role = Role::Yardstick;
    for round in 0..5 {
        run.cells[0].push(new_sample(round, 0), &new_values(round));
        run.cells[1].push(new_sample(round, 1), &new_values(round)[1..]);
    }
    run.id = store.begin(&run).unwrap();
    check_stored(store, &run);
    for complete in [true, false] {
        run.complete = complete;
        run.id = store.add(&run).unwrap();
        check_stored(store, &run);
    }
}

fn a_run_grows_while_it_is_measured(store: &mut dyn Store) {
    let mut run = begin(store, "growing");
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
    run.plan.measures = vec![Measure { metric: "wall_ns".to_owned(), why }];
    store.put_plan(&run.id, &run.plan).unwrap();
    check_stored(store, &run);

    run.complete = true;
    run.environment = environment("late");
    let point = Some(run.points[0].clone());
    run.notes = vec![Warning { point, ..Warning::noted("drift").of_method("late") }];
    store.finish(&run.id, true, &run.environment, &run.notes).unwrap();
    check_stored(store, &run);
}

fn samples_keep_the_order_in_which_they_were_taken(store: &mut dyn Store) {
    let mut run = begin(store, "order");
    for round in [5, 3, 4, 0, 0, 9] {
        append(store, &mut run, 1, round, &new_values(round));
        append(store, &mut run, 0, 10 - round, &[]);
    }
    check_stored(store, &run);
}

fn unusual_texts_and_numbers_come_back(store: &mut dyn Store) {
    let mut run = new_run("un'usual\"; DROP TABLE run; --");
    let texts = ["", "NUL \0 inside", "\u{1f9ea} λ \u{202e}", "\r\n\t\\", "$1 ?1 :a %s"];
    run.label = Some(texts[1].to_owned());
    run.notes = texts.map(Warning::noted).into();
    run.points[0].set(texts[2], texts[1]);
    for text in texts {
        let mut cell = new_cell(text, &run.points[0]);
        cell.status = Status::Failed(text.to_owned());
        run.cells.push(cell);
    }
    run.cells[0].status = Status::Skipped("é".repeat(500_000));
    run.id = store.begin(&run).unwrap();

    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE / 2.0];
    let numbers =
        numbers.into_iter().chain([f64::MAX, f64::MIN, 0.1 + 0.2, 9_007_199_254_740_993.0]);
    for (round, number) in (0..).zip(numbers) {
        let values = texts.map(|text| (text, number));
        append(store, &mut run, 1, round, &values);
    }
    let sample = Sample { ops: u64::MAX, bytes: u64::MAX, round: u32::MAX, ..new_sample(0, 0) };
    store.append(&run.id, 1, &sample, &[]).unwrap();
    run.cells[1].push::<&str>(sample, &[]);
    check_stored(store, &run);
}

fn the_list_tells_what_there_is(store: &mut dyn Store) {
    let mut run = begin(store, "listed");
    append(store, &mut run, 0, 0, &new_values(0));
    append(store, &mut run, 1, 0, &new_values(0));
    append(store, &mut run, 0, 1, &new_values(1));
    let second = begin(store, "listed too");
    store.finish(&second.id, true, &Environment::default(), &[]).unwrap();

    let list = store.list().unwrap();
    let [.., first, last] = &list[..] else { panic!("{list:?}") };
    let machine = Machine { fingerprint: "f1".to_owned(), cpu_model: Some("Some CPU".to_owned()) };
    assert_eq!((&first.id, &last.id), (&run.id, &second.id));
    assert_eq!((first.cells, first.samples, first.complete), (2, 3, false));
    assert_eq!((last.cells, last.samples, last.complete), (2, 0, true));
    assert_eq!((&*first.experiment, &first.label), ("listed", &None));
    assert_eq!((&first.machine, &*first.started), (&machine, &*run.started));
    assert_eq!(last.machine, Machine { fingerprint: String::new(), cpu_model: None });
}

fn a_stopped_run_can_be_continued(store: &mut dyn Store) {
    let mut run = begin(store, "continued");
    append(store, &mut run, 0, 0, &new_values(0));
    store.finish(&run.id, true, &run.environment, &[]).unwrap();
    store.finish(&run.id, false, &run.environment, &run.notes).unwrap();
    append(store, &mut run, 0, 1, &new_values(1));
    check_stored(store, &run);
}

fn an_interrupted_session_is_set_aside(store: &mut dyn Store) {
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
        sample.not_counted = Some("interrupted".to_owned());
    }
    check_stored(store, &run);
}

fn a_deleted_run_is_gone_and_its_id_is_not_given_again(store: &mut dyn Store) {
    let kept = begin(store, "kept");
    let mut run = begin(store, "deleted");
    append(store, &mut run, 0, 0, &new_values(0));
    store.delete(&run.id).unwrap();
    assert!(store.load(&run.id).is_err());
    assert!(store.list().unwrap().iter().all(|listed| listed.id != run.id));
    let next = begin(store, "next");
    assert_ne!(next.id, run.id);
    check_stored(store, &next);
    check_stored(store, &kept);
}

fn what_is_not_there_is_an_error(store: &mut dyn Store) {
    let run = begin(store, "known");
    let gone = begin(store, "gone").id;
    store.delete(&gone).unwrap();
    for id in [&*gone, "", "x", "-1", "1.0", "1 OR 1", "99999999999999999999", "\0"] {
        let environment = Environment::default();
        let errors = [
            store.load(id).map(drop),
            store.delete(id),
            store.finish(id, true, &environment, &[]),
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

fn a_baseline_is_a_name_for_a_run(store: &mut dyn Store) {
    let ids = [(); 2].map(|()| store.begin(&new_run("named")).unwrap());
    let named = |store: &mut dyn Store| -> Vec<String> {
        let all = store.baselines().unwrap().into_iter();
        all.filter(|b| ids.contains(&b.id)).map(|b| format!("{} {}", b.name, b.id)).collect()
    };
    store.set_baseline("odd 'name'", &ids[0]).unwrap();
    store.set_baseline("main", &ids[0]).unwrap();
    assert_eq!(named(store), [format!("main {}", ids[0]), format!("odd 'name' {}", ids[0])]);
    store.set_baseline("main", &ids[1]).unwrap();
    store.delete_baseline("odd 'name'").unwrap();
    assert_eq!(named(store), [format!("main {}", ids[1])]);
    let error = format!("{:#}", store.delete(&ids[1]).unwrap_err());
    assert!(error.contains("baseline delete main"), "{error}");
    assert_eq!(store.load(&ids[1]).unwrap().experiment, "named");
    store.delete(&ids[0]).unwrap();
    assert!(store.set_baseline("main", &ids[0]).is_err());
    assert!(store.delete_baseline("odd 'name'").is_err());
    store.delete_baseline("main").unwrap();
    store.delete(&ids[1]).unwrap();
}

fn a_label_is_changed_and_removed(store: &mut dyn Store) {
    let mut run = begin(store, "labelled");
    for label in [Some("a 'b' ä"), None, Some("c")] {
        store.set_label(&run.id, label).unwrap();
        run.label = label.map(str::to_owned);
        check_stored(store, &run);
    }
    assert!(store.set_label("12345", Some("c")).is_err());
}
