//! The document of `hyperfine --export-json`: each element of `times` is a sample. The commands ran
//! one after the other.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use model::metric::EXIT_CODE;
use model::param::Point;
use model::run::Run;
use serde::Deserialize;
use serde_json::Value;

use super::draft::{Draft, ImportFormat, ImportedFile, ONE};
use super::read;

#[derive(Deserialize)]
struct HyperfineDocument {
    results: Vec<HyperfineResult>,
}

#[derive(Deserialize)]
struct HyperfineResult {
    command: String,
    /// In seconds, like all times.
    #[serde(default)]
    times: Option<Vec<f64>>,
    #[serde(default)]
    median: Option<f64>,
    #[serde(default)]
    mean: Option<f64>,
    #[serde(default)]
    stddev: Option<f64>,
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
    /// The means of all runs.
    #[serde(default)]
    user: Option<f64>,
    #[serde(default)]
    system: Option<f64>,
    /// Null means ended by a signal.
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
    /// 0 means not measured.
    #[serde(default)]
    memory_usage_byte: Vec<u64>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    /// The value of the one parameter, before several were possible.
    #[serde(default)]
    parameter: Option<Value>,
}

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let document: HyperfineDocument = read::json(text)?;
    let mut draft = Draft::new(ImportFormat::Hyperfine, "hyperfine");
    let unclear = document.results.iter().filter(|command| !holds_all(command));
    let unclear: HashSet<&str> = unclear.map(|command| command.command.as_str()).collect();
    for (at, command) in document.results.iter().enumerate() {
        let key = format!("results[{at}]");
        add(&mut draft, command, unclear.contains(&*command.command), &key)?;
    }
    draft.finish(source)
}

/// `is_unclear`: whether its text does not tell the values of its parameters.
fn add(draft: &mut Draft, command: &HyperfineResult, is_unclear: bool, key: &str) -> Result<()> {
    ensure!(!command.command.trim().is_empty(), "{key}.command is empty");
    let parameters = parameters(command);
    // Commands with a name have the same name for all values.
    let all = format!("{} ({parameters})", command.command);
    let named = if parameters.is_empty() || !is_unclear { &command.command } else { &all };
    let cell = draft.new_cell(named, Point::default())?;
    draft.about(cell, parameters);
    let method = draft.method(cell).to_owned();
    let Some(times) = &command.times else {
        return middle(draft, cell, &method, command, key);
    };
    ensure!(!times.is_empty(), "{key}.times is empty");
    for (name, n) in [
        ("exit_codes", command.exit_codes.len()),
        ("memory_usage_byte", command.memory_usage_byte.len()),
    ] {
        ensure!(
            n == 0 || n == times.len(),
            "{key}.{name} has {n} values for {} times",
            times.len()
        );
    }
    let only = (times.len() == 1).then(|| Some(command.user? + command.system?)).flatten();
    for (i, seconds) in times.iter().enumerate() {
        let wall_ns = read::amount(*seconds * 1e9, || format!("{key}.times[{i}]"))?;
        let mut values = vec![("wall_ns", wall_ns)];
        if let Some(code) = command.exit_codes.get(i).copied().flatten() {
            values.push((EXIT_CODE, f64::from(code)));
        }
        if let Some(bytes) = command.memory_usage_byte.get(i).filter(|bytes| **bytes > 0) {
            values.push(("peak_rss_bytes", *bytes as f64));
        }
        if let Some(seconds) = only {
            values.push(("cpu_ns", read::amount(seconds * 1e9, || format!("{key}.user"))?));
        }
        draft.push(cell, ONE, &values)?;
    }
    notes(draft, &method, command, times.len());
    Ok(())
}

fn parameters(command: &HyperfineResult) -> String {
    let all = command.parameters.iter().map(|(name, value)| (name.as_str(), value));
    let old = command.parameter.iter().map(|value| ("parameter", value));
    let shown = all.chain(old).map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Whether the command contains the values of its parameters, as a command without a name does.
fn holds_all(command: &HyperfineResult) -> bool {
    command.parameters.values().chain(&command.parameter).all(|value| match value {
        Value::String(text) => command.command.contains(text.as_str()),
        other => command.command.contains(&other.to_string()),
    })
}

/// Without `times`, only the aggregates are available.
fn middle(
    draft: &mut Draft,
    cell: usize,
    name: &str,
    command: &HyperfineResult,
    key: &str,
) -> Result<()> {
    let (what, seconds) = match (command.median, command.mean) {
        (Some(median), _) => ("median", median),
        (None, mean) => ("mean", mean.with_context(|| format!("{key}.times is missing"))?),
    };
    let wall_ns = read::amount(seconds * 1e9, || format!("{key}.{what}"))?;
    let mut values = vec![("wall_ns", wall_ns)];
    for (metric, what, seconds) in [
        ("wall_stddev_ns", "stddev", command.stddev),
        ("wall_min_ns", "min", command.min),
        ("wall_max_ns", "max", command.max),
    ] {
        if let Some(seconds) = seconds {
            values.push((metric, read::amount(seconds * 1e9, || format!("{key}.{what}"))?));
        }
    }
    draft.push(cell, ONE, &values)?;
    draft.note(Some(name), format!("no times are in the file: the one value is their {what}"));
    means(draft, name, command, "");
    Ok(())
}

fn means(draft: &mut Draft, name: &str, command: &HyperfineResult, of: &str) {
    if let (Some(user), Some(system)) = (command.user, command.system) {
        let text = format!(
            "cpu_ns: hyperfine stores only means{of}: user {:.3} ms, system {:.3} ms",
            user * 1e3,
            system * 1e3
        );
        draft.note(Some(name), text);
    }
}

fn notes(draft: &mut Draft, name: &str, command: &HyperfineResult, n: usize) {
    if n > 1 {
        means(draft, name, command, &format!(", of {n} runs"));
    }
    let none = command.memory_usage_byte.iter().filter(|bytes| **bytes == 0).count();
    if none > 0 {
        let text = format!("peak_rss_bytes: hyperfine did not measure it in {none} of {n} runs");
        draft.note(Some(name), text);
    }
    let failed = command.exit_codes.iter().filter(|code| **code != Some(0)).count();
    if failed > 0 {
        let text = format!("{failed} of its {n} runs ended with a failure (exit_code)");
        draft.note(Some(name), text);
    }
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use model::run::MetricColumn;

    use super::super::tests::{SOURCE, check_refused};
    use super::*;

    fn parsed(text: &str) -> Run {
        run(text, &SOURCE).unwrap()
    }

    #[test]
    fn each_time_is_a_sample() {
        let run = parsed(include_str!("fixtures/hyperfine.json"));
        let names: Vec<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
        assert_eq!(names, ["true", "cat /etc/hostname"]);
        let [first, second] = &run.cells[..] else { panic!() };
        assert_eq!((first.samples.len(), second.samples.len()), (10, 10));
        let walls: Vec<f64> = first.values["wall_ns"].iter().copied().take(2).collect();
        assert_eq!(walls, [1_172_578.0, 968_845.000_000_000_1]);
        assert_eq!(first.values["exit_code"], [0.0; 10]);
        assert!(second.samples.iter().all(|s| first.samples.iter().all(|f| f.round != s.round)));
        let cpu = "cpu_ns: hyperfine stores only means, of 10 runs: user 1.046 ms, system 0.111 ms";
        assert!(run.notes.iter().any(|note| note.to_string() == cpu), "{:?}", run.notes);
        assert_eq!((run.experiment.as_str(), &*run.environment.fingerprint), ("hyperfine", ""));
    }

    #[test]
    fn one_name_at_several_parameters_is_several_methods() {
        let run = parsed(include_str!("fixtures/hyperfine-parameters.json"));
        let names: Vec<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
        assert_eq!(names, ["same (n=1)", "same (n=2)"]);
        assert!(
            run.notes.iter().any(|note| note.to_string().contains("4 of its 4 runs ended with"))
        );
    }

    #[test]
    fn notes_of_a_repeated_name_are_those_of_the_right_one() {
        let text = r#"{"results":[{"command":"a","times":[1]},{"command":"a","mean":2},
                      {"command":"a","times":[1],"exit_codes":[2]}]}"#;
        let run = parsed(text);
        let method = |words: &str| {
            let note = run.notes.iter().find(|note| note.to_string().contains(words));
            note.unwrap().method.clone()
        };
        assert_eq!(method("no times are in the file").as_deref(), Some("a #2"));
        assert_eq!(method("ended with a failure").as_deref(), Some("a #3"));
    }

    #[test]
    fn the_same_command_twice_stays_two() {
        let twice = r#"{"results":[{"command":"a","times":[1.0]},{"command":"a","times":[2.0],
                        "user":0.5,"system":0.25}]}"#;
        let run = parsed(twice);
        assert_eq!(run.cells[1].method, "a #2");
        assert_eq!(run.cells[1].values["cpu_ns"], [0.75e9]);
    }

    #[test]
    fn without_times_the_median_is_one_value_and_is_called_so() {
        let run = parsed(r#"{"results":[{"command":"a","mean":2.0,"median":1.5}]}"#);
        assert_eq!(run.cells[0].values["wall_ns"], [1.5e9]);
        assert!(run.notes[0].to_string().contains("their median"), "{:?}", run.notes);
    }

    /// The values of the first method, each as its metric shows it, and all notes.
    fn check(text: &str, method: &str, values: &[(&str, &[f64])], noted: &[&str]) -> Run {
        let run = parsed(text);
        let cell = &run.cells[0];
        assert_eq!(cell.method, method);
        let column = |values: &[f64]| MetricColumn::from(values.to_vec());
        let expected: BTreeMap<String, MetricColumn> =
            values.iter().map(|(name, values)| ((*name).to_owned(), column(values))).collect();
        assert_eq!(cell.values, expected);
        let notes: Vec<String> = run.notes.iter().map(ToString::to_string).collect();
        for words in noted {
            assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:?}");
        }
        run
    }

    #[test]
    fn each_version_has_its_figures_and_no_others() {
        // 1.0: no exit codes, and the parameter has no name.
        check(
            r#"{"results":[{"command":"sleep 1","mean":1.5,"stddev":0.5,"user":0.25,"system":0.5,
            "min":1,"max":2,"times":[1,2],"parameter":"1"}]}"#,
            "sleep 1",
            &[("wall_ns", &[1e9, 2e9])],
            &["cpu_ns: hyperfine stores only means, of 2 runs: user 250.000 ms, system 500.000 ms"],
        );
        // 1.5: one parameter, which may be null; one run has no deviation.
        check(
            r#"{"results":[{"command":"a","mean":1.5,"stddev":null,"median":1.5,"user":0.25,
            "system":0.5,"min":1.5,"max":1.5,"times":[1.5],"parameter":null}]}"#,
            "a",
            &[("cpu_ns", &[0.75e9]), ("wall_ns", &[1.5e9])],
            &[],
        );
        let named = r#"{"results":[{"command":"a","times":[1.5],"parameter":7}]}"#;
        let run = check(named, "a (parameter=7)", &[("wall_ns", &[1.5e9])], &[]);
        assert_eq!(run.cells[0].about, "parameter=7");
        // 1.13: exit codes, and several parameters.
        check(
            r#"{"results":[{"command":"a 3","times":[1,2],"exit_codes":[0,3],
            "parameters":{"n":"3"}}]}"#,
            "a 3",
            &[("exit_code", &[0.0, 3.0]), ("wall_ns", &[1e9, 2e9])],
            &["1 of its 2 runs ended with a failure"],
        );
        // 1.12: a code of null is a run that a signal ended.
        let run = parsed(r#"{"results":[{"command":"a","times":[1,2],"exit_codes":[0,null]}]}"#);
        let codes = &run.cells[0].values["exit_code"];
        assert!(codes[0] == 0.0 && codes[1].is_nan(), "{codes:?}");
        // 1.19: sizes of memory beside codes; also of a run of one.
        check(
            r#"{"results":[{"command":"a","mean":1,"stddev":null,"median":1,"user":0.25,"system":0.5,
            "min":1,"max":1,"times":[1],"memory_usage_byte":[8192],"exit_codes":[0]}]}"#,
            "a",
            &[
                ("cpu_ns", &[0.75e9]),
                ("exit_code", &[0.0]),
                ("peak_rss_bytes", &[8192.0]),
                ("wall_ns", &[1e9]),
            ],
            &[],
        );
    }

    #[test]
    fn a_size_of_0_is_no_size() {
        check(
            r#"{"results":[{"command":"a","times":[1],"memory_usage_byte":[0]}]}"#,
            "a",
            &[("wall_ns", &[1e9])],
            &["peak_rss_bytes: hyperfine did not measure it in 1 of 1 runs"],
        );
        check(
            r#"{"results":[{"command":"a","times":[1],"memory_usage_byte":[4096]}]}"#,
            "a",
            &[("peak_rss_bytes", &[4096.0]), ("wall_ns", &[1e9])],
            &[],
        );
    }

    #[test]
    fn without_times_the_other_figures_are_kept() {
        check(
            r#"{"results":[{"command":"a","mean":2.0,"stddev":0.5,"user":1.0,"system":0.5,"min":1.5,
            "max":4.0}]}"#,
            "a",
            &[
                ("wall_max_ns", &[4e9]),
                ("wall_min_ns", &[1.5e9]),
                ("wall_ns", &[2e9]),
                ("wall_stddev_ns", &[0.5e9]),
            ],
            &[
                "no times are in the file: the one value is their mean",
                "cpu_ns: hyperfine stores only means: user 1000.000 ms, system 500.000 ms",
            ],
        );
    }

    #[test]
    fn the_document_is_found_between_what_the_terminal_shows() {
        let text = "Benchmark 1: a\n  Time (mean ± σ): 1 s\n{\n\"results\":[{\"command\":\"a\",\
                    \"times\":[1]}]}\nwarning: x\n";
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let bytes: Vec<u8> = [0xff, 0xfe]
                .into_iter()
                .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
                .collect();
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let format = super::super::guess(bytes).unwrap();
                assert_eq!(format, ImportFormat::Hyperfine);
                let run = super::super::file(format, bytes, &SOURCE).unwrap();
                assert_eq!(run.cells[0].values["wall_ns"], [1e9]);
                let said = run.notes.iter().filter(|note| note.to_string().starts_with("text "));
                assert_eq!(said.count(), 2);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_key_and_index() {
        let check = |results: &str, expected: &str| {
            check_refused(run, &format!("{{\"results\":[{results}]}}"), expected);
        };
        check("", "no result is in it");
        check(r#"{"command":"a","times":[]}"#, "results[0].times is empty");
        check(r#"{"command":"a","times":[1,-1]}"#, "results[0].times[1]: -1000000000 is below 0");
        check(r#"{"command":"a","times":[1,1e308]}"#, "results[0].times[1]: too large a number");
        check(
            r#"{"command":"a","times":[1,NaN]}"#,
            "\"results[0].times[1]\": NaN at line 1 column",
        );
        check(
            r#"{"command":"a","times":[-Infinity]}"#,
            "\"results[0].times[0]\": Infinity at line 1",
        );
        check(r#"{"command":"a","times":[1e999]}"#, "number out of range at line 1 column");
        check(
            r#"{"command":"a","times":["x"]}"#,
            "\"results[0].times[0]\": invalid type: string \"x\"",
        );
        check(r#"{"command":"a","times":[1],"exit_codes":[0,0]}"#, "has 2 values for 1 times");
        check(r#"{"command":" ","times":[1]}"#, "results[0].command is empty");
        check(r#"{"command":"a"}"#, "results[0].times is missing");
        check(r#"{"command":"a","mean":1,"min":-1}"#, "results[0].min: -1000000000 is below 0");
    }
}
