use model::param::ParamKind;

use super::*;

fn method(name: &str, job: Option<&'static str>, reads: &[&'static str]) -> Method {
    let execution = Execution::Command(Command::default());
    Method { job, ..Method::contender(name, "", execution).reads(reads) }
}

fn experiment() -> Experiment {
    let job = ParamKind::Word(&["reading", "handing"]);
    Experiment {
        params: vec![Param::new("job", job, "reading")],
        methods: vec![
            method("read", Some("reading"), &["job", "size"]),
            method("hand", Some("handing"), &["job", "place"]),
            method("any", None, &["job"]),
        ],
        ..Experiment::empty("")
    }
}

/// The points that remain of all combinations of two jobs, two sizes and two directories.
fn check(chosen: &[&str], expected: &[&str]) {
    let experiment = experiment();
    let axes = [
        ("job", vec!["reading".into(), "handing".into()]),
        ("size", vec![1.into(), 2.into()]),
        ("place", vec!["here".into(), "there".into()]),
    ];
    let all = experiment.methods.iter();
    let chosen: Vec<Method> =
        all.filter(|method| chosen.contains(&&*method.name)).cloned().collect();
    let points = experiment.points(Point::product(&axes), &chosen);
    let points: Vec<String> = points.iter().map(ToString::to_string).collect();
    assert_eq!(points, expected);
}

#[test]
fn a_point_has_only_the_params_of_the_methods_that_do_its_job() {
    let reading = ["job=reading size=1", "job=reading size=2"];
    let handing = ["job=handing place=here", "job=handing place=there"];
    check(&["read"], &reading);
    check(&["hand"], &handing);
    check(&["read", "hand"], &[reading, handing].concat());
    check(&["any"], &[reading, handing].concat());
    check(&[], &[]);
}

/// Of two jobs, 200 sizes and 100 places, one job reads only the sizes and the other the places.
#[test]
fn of_very_many_combinations_those_that_differ_in_what_is_read_are_few_or_too_many() {
    let numbers = |n: u64| (0..n).map(ParamValue::Number).collect::<Vec<_>>();
    let jobs = vec!["reading".into(), "handing".into()];
    let axes = [("job", jobs), ("size", numbers(200)), ("place", numbers(100))];
    let n = |max: usize| experiment().combinations(&axes, max).map(|points| points.len());
    assert_eq!([40_000, 300, 299, 1].map(n), [Some(300), Some(300), None, None]);
    // Few are not reduced.
    let few = &axes[..2];
    assert_eq!(experiment().combinations(few, 400).map(|points| points.len()), Some(400));
}

#[test]
fn a_method_may_do_several_jobs() {
    let at = |param: &str, word: &str| {
        let mut point = Point::default();
        point.set(param, word);
        method("", Some("http|https"), &[]).competes_at(&point)
    };
    assert!(at("source", "http") && at("source", "https") && at("job", "https"));
    assert!(!at("source", "file") && !at("source", "http|https") && !at("job", "h"));
    assert!(at("place", "file"), "there is no job to choose");
}

#[test]
fn a_method_may_be_for_some_values_of_several_params() {
    let at = |input: &str, output: &str| {
        let mut point = Point::default();
        point.set("input", input);
        point.set("output", output);
        method("", Some("input=file output=file|pipe"), &[]).competes_at(&point)
    };
    assert!(at("file", "file") && at("file", "pipe"));
    assert!(!at("pipe", "file") && !at("file", "null") && !at("file", "file|pipe"));
}
