//! What every store must do, whatever the storage.

use model::param::Point;
use model::profile::{CellProfile, FoldedStack, Profile, ProfiledJob};
use model::run::{
    CacheState, Cell, Definition, Design, Environment, Imported, Machine, Pass, Plan, Role, Run,
    SCHEMA, Sample, Status, Threshold, View, Warning,
};

use crate::Store;

/// Tests every operation of one store with one user. The store may already contain runs.
pub fn all(store: &mut dyn Store) {
    a_run_comes_back_whole(store);
    unusual_texts_and_numbers_come_back(store);
    the_list_shows_what_there_is(store);
    a_deleted_run_is_gone_and_its_id_is_not_given_again(store);
    what_is_not_there_is_an_error(store);
    a_baseline_is_a_name_for_a_run(store);
    a_label_is_changed_and_removed(store);
    a_label_names_its_only_run(store);
    a_run_is_found_by_the_start_of_its_uuid(store);
    a_run_is_added_once(store);
}

/// A run before anything is measured.
pub fn new_run(experiment: &str) -> Run {
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
        memory_limit_bytes: Some(1 << 26),
        medium: Some("slow:1ms,1MB/s".to_owned()),
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
            primary_metrics: vec!["user_ns".to_owned()],
            view: View::SizeSweep,
        }),
        measures: Vec::new(),
        limits_all: true,
        looked_at: 6,
        margin_percent: Some(2.5),
        imported: Some(Imported { tool: "fio 3.33".to_owned(), file: "a b.json".to_owned() }),
        profile: Some(Profile {
            period_ns: 1_003_009,
            names: vec!["main".to_owned(), "ä".to_owned()],
            cells: vec![CellProfile {
                cell: 1,
                jobs: vec![ProfiledJob { wall_ns: 0.1, self_ns: vec![(1, 0.3)] }],
                stacks: vec![FoldedStack { frames: vec![0, 1], ns: 0.3 }],
            }],
            ..Profile::default()
        }),
    };
    Run {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        question: "Which way?".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        environment: environment("early"),
        plan,
        points: vec![point.clone(), Point::default()],
        cells: vec![new_cell("read", &point), new_cell("mmap", &point)],
        ..Run::default()
    }
}

pub fn environment(kernel: &str) -> Environment {
    let facts = [
        ("cpu_model", "Some CPU".into()),
        ("kernel", kernel.into()),
        ("load", 0.1.into()),
        ("mitigations", serde_json::json!({"a": [1, null, true]})),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    Environment { fingerprint: "f1".to_owned(), facts: facts.into() }
}

pub fn new_cell(method: &str, point: &Point) -> Cell {
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
        not_counted: (round == 3).then(|| "not cold".into()),
        ops: 7,
        bytes: 1 << 27,
        answer: Some("9f1c".into()),
    }
}

/// The values of a sample with thirteen metrics, as many as a timing pass takes.
pub(crate) fn new_values(round: u32) -> Vec<(&'static str, f64)> {
    model::metric::METRICS
        .iter()
        .filter(|metric| metric.pass == Pass::Timing)
        .enumerate()
        .map(|(i, metric)| (metric.name, f64::from(round) * 1000.1 + i as f64 / 3.0))
        .collect()
}

/// Adds a new run with this number of samples in its first cell.
fn added(store: &mut dyn Store, experiment: &str, samples: u32) -> Run {
    let mut run = new_run(experiment);
    (0..samples).for_each(|round| run.cells[0].push(new_sample(round, 0), &new_values(round)));
    run.id = store.add(&run).unwrap();
    run
}

pub(crate) fn check_stored(store: &mut dyn Store, expected: &Run) {
    let mut got = store.load(&expected.id).unwrap();
    if expected.uuid.is_empty() {
        assert_eq!(got.uuid.len(), 36);
        got.uuid.clear();
    }
    // A run of a server is like an imported one.
    got.environment.facts.remove("imported_from");
    // NaN is not equal to itself, but its text is; no two numbers have the same text.
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
    for complete in [true, false] {
        run.complete = complete;
        run.id = store.add(&run).unwrap();
        check_stored(store, &run);
    }
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

    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE / 2.0];
    let numbers =
        numbers.into_iter().chain([f64::MAX, f64::MIN, 0.1 + 0.2, 9_007_199_254_740_993.0]);
    for (round, number) in (0..).zip(numbers) {
        run.cells[1].push(new_sample(round, 1), &texts.map(|text| (text, number)));
    }
    let sample = Sample { ops: u64::MAX, bytes: u64::MAX, round: u32::MAX, ..new_sample(0, 0) };
    run.cells[1].push::<&str>(sample, &[]);
    run.id = store.add(&run).unwrap();
    check_stored(store, &run);
}

fn a_deleted_run_is_gone_and_its_id_is_not_given_again(store: &mut dyn Store) {
    let kept = added(store, "kept", 0);
    let run = added(store, "deleted", 1);
    store.delete(&run.id).unwrap();
    assert!(store.load(&run.id).is_err());
    assert!(store.list().unwrap().iter().all(|listed| listed.id != run.id));
    let next = added(store, "next", 0);
    assert_ne!(next.id, run.id);
    check_stored(store, &next);
    check_stored(store, &kept);
}

fn a_baseline_is_a_name_for_a_run(store: &mut dyn Store) {
    let ids = [(); 2].map(|()| store.add(&new_run("named")).unwrap());
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
    let mut run = added(store, "labelled", 0);
    for label in [Some("a 'b' ä"), None, Some("c")] {
        store.set_label(&run.id, label).unwrap();
        run.label = label.map(str::to_owned);
        check_stored(store, &run);
    }
    assert!(store.set_label("12345", Some("c")).is_err());
}

fn the_list_shows_what_there_is(store: &mut dyn Store) {
    let mut run = new_run("listed");
    run.label = Some("of a list".to_owned());
    for round in 0..3 {
        let cell = round as usize % 2;
        run.cells[cell].push(new_sample(round, 0), &new_values(round));
    }
    run.id = store.add(&run).unwrap();
    let second = Run { complete: true, environment: Environment::default(), ..new_run("second") };
    let second_id = store.add(&second).unwrap();

    let list = store.list().unwrap();
    let of = |id: &str| list.iter().find(|listed| listed.id == id).unwrap();
    let (first, last) = (of(&run.id), of(&second_id));
    let machine = Machine { fingerprint: "f1".to_owned(), cpu_model: Some("Some CPU".to_owned()) };
    assert_eq!((first.cells, first.samples, first.complete), (2, 3, false));
    assert_eq!((last.cells, last.samples, last.complete), (2, 0, true));
    assert_eq!((&*first.experiment, &first.label), ("listed", &run.label));
    assert_eq!((&first.machine, &*first.started), (&machine, &*run.started));
    assert_eq!(last.machine, Machine { fingerprint: String::new(), cpu_model: None });
    assert_eq!(first.uuid, store.load(&run.id).unwrap().uuid);
}

fn what_is_not_there_is_an_error(store: &mut dyn Store) {
    let run = added(store, "known", 1);
    let gone = added(store, "gone", 0).id;
    store.delete(&gone).unwrap();
    for id in [&*gone, "", "x", "-1", "1.0", "1 OR 1", "99999999999999999999", "\0", "' OR ''='"] {
        let errors = [
            store.find(id).map(drop),
            store.load(id).map(drop),
            store.load_method(id, "read", "wall_ns").map(drop),
            store.load_plan(id).map(drop),
            store.set_label(id, None),
            store.set_baseline("odd", id),
            store.delete(id),
        ];
        for error in errors.map(Result::unwrap_err) {
            let text = format!("{error:#}");
            assert!(text.contains("no run"), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
    check_stored(store, &run);
}

fn a_run_is_found_by_the_start_of_its_uuid(store: &mut dyn Store) {
    let mut run = Run { started: "2031-05-06T07:08:09Z".to_owned(), ..new_run("found") };
    let (first, second) = (store.add(&run).unwrap(), store.add(&run).unwrap());
    run.started = "2032-05-06T07:08:09Z".to_owned();
    let third = store.add(&run).unwrap();
    let uuids = [&first, &second, &third].map(|id| store.load(id).unwrap().uuid);
    assert_eq!(store.find(&uuids[0]).unwrap(), first);
    assert_eq!(store.find(&uuids[1].to_uppercase()).unwrap(), second);
    assert_eq!(store.find(&uuids[2][..13]).unwrap(), third);
    assert_eq!(store.find(&first).unwrap(), first);
    let error = format!("{:#}", store.find(&uuids[0][..8]).unwrap_err());
    assert!(error.contains("several runs"), "{error}");
    for id in [first, second, third] {
        store.delete(&id).unwrap();
    }
}

fn a_label_names_its_only_run(store: &mut dyn Store) {
    let run = Run { label: Some("one of its kind".to_owned()), ..new_run("labelled") };
    let first = store.add(&run).unwrap();
    assert_eq!(crate::NamedRun::find(store, "one of its kind").unwrap().id, first);
    let error = format!("{:#}", crate::NamedRun::find(store, "one of").err().unwrap());
    assert!(error.contains("no run"), "{error}");
    let second = store.add(&run).unwrap();
    let error = format!("{:#}", crate::NamedRun::find(store, "one of its kind").err().unwrap());
    assert!(error.contains("2 runs have the label \"one of its kind\""), "{error}");
    for id in [first, second] {
        assert!(error.contains(&id), "{error}");
        store.delete(&id).unwrap();
    }
}

fn a_run_is_added_once(store: &mut dyn Store) {
    let mut run = new_run("once");
    run.uuid = crate::uuid_of(&run.started);
    run.cells[0].push(new_sample(0, 0), &new_values(0));
    assert!(store.add_once(&run).unwrap());
    assert!(!store.add_once(&run).unwrap());
    run.id = store.find(&run.uuid).unwrap();
    check_stored(store, &run);

    let earlier = run.clone();
    run.cells[0].push(new_sample(1, 0), &new_values(1));
    run.complete = true;
    let error = format!("{:#}", store.add_once(&run).unwrap_err());
    assert!(error.contains("with 1 of 2 samples: delete it there first"), "{error}");
    check_stored(store, &earlier);
    store.delete(&run.id).unwrap();
    assert!(store.add_once(&run).unwrap());
    // What is complete stays, whatever comes.
    assert!(!store.add_once(&earlier).unwrap());
    run.id = store.find(&run.uuid).unwrap();
    check_stored(store, &run);
}
