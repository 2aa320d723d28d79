use super::*;

fn method(name: &str, job: Option<&'static str>, reads: &[&'static str]) -> Method {
    let how = How::Command(Command::default());
    Method { job, ..Method::contender(name, "", how).reads(reads) }
}

/// The points that remain of all combinations of two jobs, two sizes and two directories.
fn check(chosen: &[&str], expected: &[&str]) {
    let experiment = Experiment {
        name: "",
        question: "",
        readme: "",
        params: Vec::new(),
        methods: vec![
            method("read", Some("reading"), &["job", "size"]),
            method("hand", Some("handing"), &["job", "place"]),
            method("any", None, &["job"]),
        ],
        dir: None,
        data: Box::new(|_, _, _| Ok(Data::default())),
    };
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
