//! Every built-in method with little data: the same answers, the same digest, and an entry in the
//! README.

use measure::experiment::{Execution, Skip};
use measure::stop::Stop;
use model::param::Point;

use super::*;

fn point(job: &str, shape: &str, text: &str) -> Point {
    let mut point = Point::default();
    for (name, word) in [("job", job), ("shape", shape), ("text", text)] {
        point.set(name, word);
    }
    point.set("people", 5u64);
    point
}

/// The digests of all built-in methods, whose answers are the same.
fn digests(job: &str, shape: &str, text: &str) -> Vec<u64> {
    let dir = tempfile::tempdir().unwrap();
    let data = data::data(&point(job, shape, text), dir.path(), &Stop::default()).unwrap();
    let (mut answers, mut digests) = (Vec::new(), Vec::new());
    for method in methods().iter().filter(|method| method.competes_at(&data.arguments)) {
        let Execution::BuiltIn(build) = method.execution else { continue };
        let mut task = match build(&data.arguments) {
            Err(error) if shape != "people" && error.is::<Skip>() => continue,
            task => task.unwrap(),
        };
        answers.push(task.run(2).unwrap());
        digests.push(task.digest().unwrap().unwrap());
        assert!(task.metrics().iter().all(|(_, value)| *value > 0.0));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{shape} {job} {text}");
    digests
}

#[test]
fn all_methods_give_the_same_answer_and_the_same_digest() {
    let all = jobs::JOBS.iter().flat_map(|job| [(job, "minified"), (job, "pretty")]);
    let mut of_people: Vec<u64> =
        all.flat_map(|(job, text)| digests(job, "people", text)).collect();
    of_people.dedup();
    assert_eq!(of_people.len(), 1);
    for shape in &bytelab_documents::SHAPES[1..] {
        let mut of_shape = digests("bytes-to-all", shape, "minified");
        of_shape.dedup();
        assert_eq!(of_shape.len(), 1, "{shape}");
    }
}

#[test]
fn the_digest_differs_between_documents() {
    let digest = |text| jobs::digest(&serde_json::from_str(text).unwrap());
    assert_eq!(digest(r#"{"a":1,"b":2.0}"#), digest(r#"{"b":2,"a":1.0}"#));
    assert_ne!(digest("[1,2]"), digest("[2,1]"));
    assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":2}"#));
    assert_ne!(digest(r#"{"a":"b"}"#), digest(r#"{"b":"a"}"#));
    assert_ne!(digest("[[],1]"), digest("[1,[]]"));
}

#[test]
fn a_file_that_is_no_json_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.json");
    std::fs::write(&path, "[1,").unwrap();
    let mut point = point("parse", "people", "minified");
    point.set("file", path.clone());
    let error = data::data(&point, dir.path(), &Stop::default()).err().unwrap();
    let error = format!("{error:#}");
    assert!(error.starts_with(path.to_str().unwrap()) && error.contains("line 1"), "{error}");
}

#[test]
fn the_readme_has_a_row_for_every_job() {
    for name in jobs::JOBS {
        assert!(experiment().readme.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_readme_quotes_the_published_figures_as_they_are_kept() {
    let digits = |text: &str| text.replace(',', "");
    let readme = digits(experiment().readme);
    let published = include_str!("../../../report/src/published/fleece.csv");
    for row in published.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        // Converting and opening are not in the table in this form: converting has no counterpart.
        let quoted = !row.starts_with("convert") && !row.starts_with("parse trusted");
        for field in fields[1..3].iter().filter(|field| quoted && !field.is_empty()) {
            assert!(readme.contains(field), "{row}: {field}");
        }
    }
}
