//! A run to give to others: the stored run without names, labels and paths. What stays are the
//! samples, the plan, and the facts by which machines are compared.

use std::io::Write;

use anyhow::{Result, ensure};
use lab::environment::fingerprint;
use lab::param::{Point, Value};
use lab::run::Run;

use super::json;

/// Writes the run. `known` are the names of the experiment's own methods; the user's programs are
/// numbered.
pub(crate) fn write(run: &Run, known: &[&str], out: impl Write) -> Result<()> {
    ensure!(
        run.plan.definition.is_none() && run.plan.imported.is_none(),
        "run {} is not of an experiment of bytelab's own: its commands and names are what it is about; \
         export it with --format json",
        run.id
    );
    json::write(&stripped(run, known), out)?;
    Ok(())
}

fn stripped(run: &Run, known: &[&str]) -> Run {
    let mut run = run.clone();
    (run.id, run.label, run.plan.data_dir) = (String::new(), None, None);
    run.environment.facts.retain(|name, _| is_of_a_kind_of_machine(name));
    for value in run.environment.facts.values_mut() {
        if let serde_json::Value::String(text) = value {
            *text = without_paths(text);
        }
    }
    run.environment.fingerprint = fingerprint(&run.environment.facts);
    let mut paths = Vec::new();
    run.points.iter_mut().for_each(|point| number_paths(point, &mut paths));
    let mut programs: Vec<String> = Vec::new();
    for cell in &mut run.cells {
        number_paths(&mut cell.point, &mut paths);
        let is_known = known.contains(&cell.method.as_str());
        if !is_known {
            cell.about.clear();
            cell.method = numbered("program", &cell.method, &mut programs);
        }
        cell.status = match std::mem::replace(&mut cell.status, lab::run::Status::Measured) {
            lab::run::Status::Measured => lab::run::Status::Measured,
            lab::run::Status::Skipped(why) => lab::run::Status::Skipped(without_paths(&why)),
            lab::run::Status::Failed(why) => lab::run::Status::Failed(without_paths(&why)),
        };
        for sample in &mut cell.samples {
            sample.not_counted = sample.not_counted.as_deref().map(without_paths);
        }
    }
    // A note may quote anything.
    run.notes.clear();
    run
}

/// The words with which facts begin that machines of one kind share.
const KINDS: [&str; 12] = [
    "build_",
    "cgroup_",
    "clock_",
    "cpu_",
    "data_device_kind",
    "data_file_system",
    "huge_pages_",
    "kernel_",
    "memory_",
    "mitigations",
    "toolchain_",
    "transparent_huge_pages",
];

const WHOLE: [&str; 8] = [
    "container",
    "data_rotational",
    "hypervisor",
    "libc",
    "numa_nodes",
    "os_name",
    "page_bytes",
    "swappiness",
];

fn is_of_a_kind_of_machine(fact: &str) -> bool {
    let is_digest_of_a_name = fact == "kernel_command_line_digest";
    let is_kind = KINDS.iter().any(|kind| fact.starts_with(kind));
    (is_kind || WHOLE.contains(&fact)) && !is_digest_of_a_name
}

/// Each value that may be a path becomes a number.
fn number_paths(point: &mut Point, paths: &mut Vec<String>) {
    let values = point.iter().map(|(name, value)| (name.to_owned(), value.clone()));
    let values: Vec<(String, Value)> = values.collect();
    for (name, value) in values {
        let may_be_a_path = ["dir", "file"].contains(&name.as_str());
        if let Value::Text(text) = value
            && (may_be_a_path || text.contains('/'))
        {
            point.set(name, numbered("path", &text, paths).as_str());
        }
    }
}

/// `path 2`: the place of the text among those that were met.
fn numbered(noun: &str, text: &str, met: &mut Vec<String>) -> String {
    let at = met.iter().position(|known| known == text).unwrap_or_else(|| {
        met.push(text.to_owned());
        met.len() - 1
    });
    format!("{noun}-{}", at + 1)
}

/// The text with each word that has a slash left out.
fn without_paths(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.contains('/') { "…" } else { word });
    words.collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use lab::run::{Cell, Definition, Status};
    use serde_json::json;

    use super::*;
    use crate::report::tests::fixture::Fixture;

    const SECRET: &str = "ada";

    fn secret(path: &str) -> String {
        format!("/home/{SECRET}/{path}")
    }

    /// A run with the name of its user wherever a run has text.
    fn run() -> Run {
        let mut run = Fixture::reading().run;
        run.label = Some(SECRET.to_owned());
        run.plan.data_dir = Some(secret("data"));
        for (fact, value) in [
            ("data_directory", json!(secret("data"))),
            ("hostname_digest", json!(SECRET)),
            ("worker_c_command", json!(format!("cc -O3 -o {}", secret("worker")))),
            ("toolchain_c", json!(format!("cc 12 {}", secret("cc")))),
            ("cpu_model", json!("a model")),
            ("kernel_command_line_digest", json!(SECRET)),
        ] {
            run.environment.facts.insert(fact.to_owned(), value);
        }
        let mut point = run.points[0].clone();
        point.set("dir", SECRET);
        point.set("file", secret("x").as_str());
        run.points.push(point.clone());
        let mut own = Cell::new(format!("{SECRET}-reader"), point);
        own.about = format!("./{SECRET}/reader");
        own.status = Status::Skipped(format!("cannot open {}: no such file", secret("x")));
        run.cells.push(own);
        run.notes.push(lab::run::Warning::noted(format!("{SECRET} was here")));
        run
    }

    #[test]
    fn what_is_contributed_has_no_names_and_no_paths() {
        let run = run();
        let known: Vec<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
        let mut text = Vec::new();
        write(&run, &known[..known.len() - 1], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(SECRET), "{text}");
        let read: Run = serde_json::from_str(&text).unwrap();
        assert_eq!(read.environment.facts["cpu_model"], "a model");
        assert_eq!(read.environment.facts["toolchain_c"], "cc 12 …");
        assert_eq!(read.points[1].text("file").unwrap(), "path-2");
        let (own, old) = (read.cells.last().unwrap(), run.cells.last().unwrap());
        assert_eq!((own.method.as_str(), own.about.as_str()), ("program-1", ""));
        assert_eq!(own.status, Status::Skipped("cannot open … no such file".to_owned()));
        assert_eq!(own.point.number("size").unwrap(), old.point.number("size").unwrap());
        for (kept, old) in read.cells.iter().zip(&run.cells) {
            assert_eq!((&kept.samples, kept.values.len()), (&old.samples, old.values.len()));
        }
    }

    #[test]
    fn an_experiment_of_the_user_is_not_contributed() {
        let mut run = run();
        run.plan.definition = Some(Definition::default());
        let error = write(&run, &[], Vec::new()).unwrap_err().to_string();
        assert!(error.contains("--format json"), "{error}");
    }
}
