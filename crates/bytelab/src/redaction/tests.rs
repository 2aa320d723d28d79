//! Runs in which each text is a mark of its own: what is left of the marks is what is sent.

use std::collections::BTreeMap;

use anyhow::bail;
use measure::experiment::{Execution, Experiment, Method};
use model::param::{Param, ParamKind, Point};
use model::run::{
    CacheState, Cell, Definition, Design, Environment, Imported, Measure, Pass, Plan, REVISIONS,
    Role, Run, SCHEMA, Sample, Status, Threshold, Uncounted, View, Warning,
};
use serde_json::Value;

use super::hidden::LANGUAGES;
use super::*;

/// Gives texts that occur nowhere else. Their letters are also in no word that stands for one.
#[derive(Default)]
struct Marks(u32);

impl Marks {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("MARK{}Q", self.0)
    }

    fn point(&mut self) -> Point {
        let mut point = Point::default();
        point.set(self.next(), self.next().as_str());
        point.set("file", format!("/{}/my {}", self.next(), self.next()).as_str());
        point
    }

    fn sample(&mut self, round: u32) -> Sample {
        Sample {
            pass: Pass::Timing,
            session: 0,
            round,
            slot: 0,
            warm_up: false,
            not_counted: Some(self.next().into()),
            ops: 1,
            bytes: 1,
            answer: Some(self.next().into()),
        }
    }

    fn cell(&mut self, method: String, status: Status) -> Cell {
        Cell {
            method,
            about: self.next(),
            role: Role::Contender,
            language: Some(self.next()),
            point: self.point(),
            status,
            digest: Some(self.next()),
            syscalls_by_name: Some(BTreeMap::from([(self.next(), 1.0), ("read".to_owned(), 2.0)])),
            samples: (0..3).map(|round| self.sample(round)).collect(),
            values: BTreeMap::from([
                (self.next(), vec![1.0; 3].into()),
                ("wall_ns".to_owned(), vec![2.0; 3].into()),
            ]),
        }
    }

    fn plan(&mut self, is_own: bool) -> Plan {
        let threshold = Threshold { methods: vec![self.next()], metric: self.next(), max: 1.0 };
        let definition = Definition {
            file: self.next(),
            text: self.next(),
            thresholds: vec![threshold],
            primary_metrics: vec![self.next()],
            view: View::default(),
        };
        Plan {
            rounds: 1,
            time_limit_ns: 1,
            limits_all: true,
            warm_up: 0,
            sessions: 1,
            design: Design::Fixed,
            looked_at: 0,
            margin_percent: None,
            seed: 1,
            cache: CacheState::Warm,
            memory_limit_bytes: Some(1),
            medium: None,
            sample_limit_ns: 1,
            data_dir: Some(self.next()),
            counting: 1,
            fresh: false,
            definition: (!is_own).then_some(definition),
            measures: vec![Measure {
                metric: self.next(),
                why: self.next(),
                by_wall: vec![self.next()],
            }],
            imported: (!is_own).then(|| Imported { tool: self.next(), file: self.next() }),
            profile: Some(Profile {
                names: vec![self.next(), format!("{BLOCKED} in {}", self.next())],
                ..Profile::default()
            }),
        }
    }

    fn environment(&mut self) -> Environment {
        let mut facts = BTreeMap::new();
        for name in ["worker_c_command", "data_directory", "hostname_digest", "cpu_model"] {
            facts.insert(name.to_owned(), Value::from(self.next()));
        }
        facts.insert(self.next(), Value::from(self.next()));
        facts.insert(self.next(), serde_json::json!([self.next(), {self.next(): self.next()}]));
        facts.insert("cpu_cores".to_owned(), 2.into());
        facts.insert("project_commit".to_owned(), "abcdef".into());
        facts.insert("project_subject".to_owned(), self.next().into());
        facts.insert("project_branch".to_owned(), self.next().into());
        facts.insert(REVISIONS.to_owned(), self.revisions());
        facts.insert("imported_from".to_owned(), self.next().into());
        facts.insert("worker_c_command".to_owned(), self.next().into());
        facts.insert("data_directory".to_owned(), format!("/{}", self.next()).into());
        Environment { fingerprint: self.next(), facts }
    }

    /// The second one is of a file that somebody wrote by hand.
    fn revisions(&mut self) -> Value {
        let mut revision = || {
            serde_json::json!({
                "name": self.next(), "commit": "abcdef", "commit_time": self.next(),
                "subject": self.next(), "branch": self.next(), "methods": [{
                    "name": self.next(), "command": self.next(),
                    "sha256": {self.next(): self.next()},
                }],
            })
        };
        let (good, mut odd) = (revision(), revision());
        odd["commit"] = self.next().into();
        serde_json::json!([good, odd])
    }

    /// A run of `reading` with a worker of the user's, or one of commands.
    fn run(&mut self, is_own: bool) -> Run {
        let own = self.cell("read".to_owned(), Status::Measured);
        let died = format!("ended with exit status 3; stderr of sh: {}", self.next());
        let (name, other) = (self.next(), self.next());
        let skipped = Status::Skipped(self.next());
        let cells = vec![own, self.cell(name, Status::died(2, &died)), self.cell(other, skipped)];
        let mut notes = vec![Warning::noted(self.next()), Warning::missing("cycles", self.next())];
        notes[0].method = Some(self.next());
        notes[0].point = Some(self.point());
        Run {
            schema: SCHEMA,
            id: self.next(),
            uuid: self.next(),
            experiment: if is_own { "reading".to_owned() } else { self.next() },
            question: self.next(),
            label: Some(self.next()),
            started: self.next(),
            complete: true,
            environment: self.environment(),
            plan: self.plan(is_own),
            points: vec![self.point()],
            cells,
            notes,
        }
    }
}

fn reading() -> Experiment {
    let mut method =
        Method::contender("read", "reads", Execution::Unavailable { reason: String::new() });
    method.about = "read/write, in turn".to_owned();
    Experiment {
        name: "reading",
        question: "Which way?",
        readme: "",
        params: vec![
            Param::new("file", ParamKind::Path, ""),
            Param::new("source", ParamKind::Word(&["file", "pipe"]), "file"),
        ],
        methods: vec![method],
        dir: None,
        data: Box::new(|_, _, _| bail!("no data")),
    }
}

/// Where the document has texts: keys as well as values.
fn texts(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((at.to_owned(), text.clone())),
        Value::Array(all) => all.iter().for_each(|one| texts(&format!("{at}[]"), one, found)),
        Value::Object(all) => {
            for (key, one) in all {
                // Keys of maps are data, and so they are texts; those of structs have no marks.
                found.push((format!("{at}.KEY"), key.clone()));
                texts(
                    &format!("{at}.{}", if key.contains("MARK") { "…" } else { key }),
                    one,
                    found,
                );
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The places of a run in which there still are marks.
fn marked(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    texts("", &serde_json::to_value(run).unwrap(), &mut found);
    let mut places: Vec<String> =
        found.into_iter().filter(|(_, text)| text.contains("MARK")).map(|(at, _)| at).collect();
    places.sort();
    places.dedup();
    places
}

fn all(leaves_out: bool) -> Redaction {
    Redaction::named(Some("host,user,paths,commands"), leaves_out).unwrap()
}

#[test]
fn only_what_is_on_the_list_is_sent() {
    let own = reading();
    for is_own in [false, true] {
        for leaves_out in [false, true] {
            let run = Marks::default().run(is_own);
            let hidden = all(leaves_out).apply(run, is_own.then_some(&own));
            // A label is for those who read it there, and the id is not sent.
            assert_eq!(marked(&hidden), [".environment.cpu_model", ".id", ".label"]);
        }
    }
    let given = Redaction::contribution().apply(Marks::default().run(true), Some(&own));
    assert_eq!(marked(&given), [".environment.cpu_model"]);
}

/// Otherwise the test above would find nothing in a field without a mark.
#[test]
fn each_text_of_a_run_that_is_not_a_word_of_a_kind_is_a_mark() {
    let run = Marks::default().run(false);
    let mut found = Vec::new();
    texts("", &serde_json::to_value(&run).unwrap(), &mut found);
    let words = [
        "status",
        "role",
        "pass",
        "cache",
        "design",
        "metric",
        "file",
        "wall_ns",
        "cpu_cores",
        "project_commit",
        "commit",
    ];
    let values = found.iter().filter(|(at, _)| at.rsplit('.').next() != Some("KEY"));
    let unmarked = values.filter(|(_, text)| !text.contains("MARK"));
    for (at, text) in unmarked {
        let last = at.rsplit('.').next().unwrap();
        assert!(words.contains(&last) || text == "read", "{at} is {text:?}, which is no mark");
    }
    assert!(found.iter().filter(|(_, text)| text.contains("MARK")).count() > 60);
}

/// Each kind alone hides at least its own.
#[test]
fn each_kind_hides_its_own() {
    let own = reading();
    let hidden = |kinds: &str, is_own: bool| {
        let redaction = Redaction::named(Some(kinds), false).unwrap();
        marked(&redaction.apply(Marks::default().run(is_own), is_own.then_some(&own)))
    };
    let paths = hidden("paths", true);
    for at in
        [".plan.data_dir", ".environment.data_directory", ".points[].file", ".environment.KEY"]
    {
        assert!(!paths.iter().any(|place| place == at), "{at}: {paths:?}");
    }
    let host = hidden("host", true);
    assert!(!host.iter().any(|place| place == ".environment.hostname_digest"), "{host:?}");
    let commands = hidden("commands", false);
    for at in [
        ".cells[].method",
        ".cells[].about",
        ".cells[].reason",
        ".cells[].samples[].answer",
        ".cells[].samples[].not_counted",
        ".cells[].values.KEY",
        ".cells[].point.KEY",
        ".plan.definition.text",
        ".notes[].text",
        ".question",
        ".experiment",
    ] {
        assert!(!commands.iter().any(|place| place == at), "{at}: {commands:?}");
    }
}

#[test]
fn the_verdicts_can_still_be_drawn() {
    let own = reading();
    for leaves_out in [false, true] {
        let mut run = Marks::default().run(true);
        let sum = "00000000deadbeef";
        for (cell, round, answer) in
            [(0, 0, sum), (1, 0, sum), (1, 1, "x"), (2, 1, "x"), (2, 2, "y")]
        {
            run.cells[cell].samples[round].answer = Some(answer.into());
        }
        let hidden = all(leaves_out).apply(run.clone(), Some(&own));
        let answer = |cell: usize, round: usize| hidden.cells[cell].samples[round].answer.clone();
        assert_eq!(answer(0, 0).as_deref(), Some(sum), "it is a checksum of ours");
        assert_eq!(answer(1, 0), answer(0, 0));
        assert_eq!(answer(1, 1), answer(2, 1));
        assert_ne!(answer(2, 1), answer(2, 2));
        assert!(answer(2, 2).unwrap().starts_with("answer-"));
        assert_eq!(hidden.cells[0].about, "read/write, in turn");
        assert_eq!(hidden.cells[0].point.get("file"), hidden.cells[0].point.get("file"));
        assert_ne!(hidden.cells[0].point.get("file"), hidden.cells[1].point.get("file"));
        assert_ne!(hidden.cells[1].method, hidden.cells[2].method);
        let died = "died after 2 rounds: ended with exit status 3; …";
        assert_eq!(hidden.cells[1].status, Status::Failed(died.to_owned()));
        assert!(hidden.cells[1].has_figures());
        assert_eq!(hidden.cells[2].status, Status::Skipped("the reason is hidden".to_owned()));
        let notes: Vec<String> = hidden.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, ["cycles: …", "1 note is hidden"]);
        for (hidden, cell) in hidden.cells.iter().zip(&run.cells) {
            assert_eq!(hidden.values["wall_ns"], cell.values["wall_ns"]);
            assert_eq!(hidden.values.len(), cell.values.len());
        }
    }
}

/// It quotes nothing, whatever the text says with which it comes.
#[test]
fn the_reason_why_a_method_was_not_counted_is_sent() {
    let mut run = Marks::default().run(true);
    let why = Uncounted::NoTime { enough_ns: Some(12_000_000_000) };
    let mark = Marks::default().next();
    let note = |what: &str| Warning { detail: mark.clone(), ..Warning::uncounted(what, why) };
    run.notes = vec![note("syscalls").of_method("read"), note(&mark)];
    let hidden = all(false).apply(run, Some(&reading()));
    let text = "syscalls: the time limit left no time to count; --time 12s would do";
    let notes: Vec<String> = hidden.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes, [text, "1 note is hidden"]);
    assert_eq!(hidden.notes[0].uncounted, Some(why));
}

#[test]
fn nothing_is_hidden_unless_it_is_named() {
    let run = Marks::default().run(false);
    let same = Redaction::default().apply(run.clone(), None);
    assert_eq!(serde_json::to_value(same).unwrap(), serde_json::to_value(run).unwrap());
    assert!(Redaction::named(Some("host,all"), false).is_err());
}

/// Paths with spaces, and those in the texts of a run whose commands may be seen.
#[test]
fn paths_are_hidden_wherever_they_are() {
    let own = reading();
    let mut run = Marks::default().run(true);
    let file = "/my secret/great file.bin";
    run.points[0].set("file", file);
    run.cells[0].point.set("file", file);
    run.cells[1].about = "/bin/sh '/my secret/worker' --x".to_owned();
    let why = format!("cannot open {file}: no '/another secret/file' at a secret/place");
    run.cells[1].status = Status::Failed(why);
    run.cells[1].samples[0].answer = Some("/a/secret".into());
    for kinds in ["paths", "paths,commands"] {
        let redaction = Redaction::named(Some(kinds), false).unwrap();
        let hidden = redaction.apply(run.clone(), Some(&own));
        let text = serde_json::to_string(&hidden).unwrap();
        for secret in ["secret", "great", "file.bin", "/bin"] {
            assert!(!text.contains(secret), "{kinds} {secret}: {text}");
        }
        assert_eq!(hidden.points[0].get("file"), hidden.cells[0].point.get("file"));
    }
}

/// A fact may look like a command or a value: "2" is also a number.
#[test]
fn facts_that_look_like_a_command_or_a_path_stay() {
    let mut run = Marks::default().run(false);
    run.cells[0].method = "2".to_owned();
    run.points[0].set("file", "8");
    let facts = [("project_commit", "a2b2-2"), ("mitigations", "Enhanced / Automatic 2")];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.into()));
    run.environment.facts.extend(facts);
    run.environment.fingerprint = "2".to_owned();
    let hidden = all(false).apply(run.clone(), None);
    assert_eq!(hidden.environment.fingerprint, "2");
    for fact in ["project_commit", "mitigations", "cpu_model", "cpu_cores"] {
        assert_eq!(hidden.environment.facts[fact], run.environment.facts[fact]);
    }
    assert!(hidden.cells[0].method.starts_with("command-"), "{}", hidden.cells[0].method);
}

/// A fact that is not on the list would be left out unnoticed.
#[test]
fn each_fact_of_this_machine_is_on_the_list_or_hidden_knowingly() {
    let mut run = Marks::default().run(true);
    let here = measure::environment::capture(Some(std::path::Path::new(".")));
    run.environment = here.clone();
    let own = reading();
    let hidden = all(false).apply(run, Some(&own));
    let names = |facts: &BTreeMap<String, Value>| facts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&hidden.environment.facts), names(&here.facts));
    assert_eq!(hidden.environment.fingerprint, here.fingerprint);
}

#[test]
fn each_language_of_our_workers_is_known() {
    let experiments = experiments::all();
    let methods = experiments.iter().flat_map(|experiment| &experiment.methods);
    let languages: Vec<&str> = methods.filter_map(experiments::workers::language_of).collect();
    assert!(languages.contains(&"go"), "{languages:?}");
    for language in languages {
        assert!(LANGUAGES.contains(&language), "{language}");
    }
}
