//! `run published:STUDY`, and a stored run beside a study.

use serde_json::Value;

use crate::program::{Ran, World};

/// On one line: text is wrapped at the width of the page.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn claim<'a>(study: &'a Value, id: &str) -> &'a Value {
    let claims = study["claims"].as_array().unwrap();
    claims.iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

/// As on a machine on which no other language is installed.
fn without_compilers(world: &World, args: &[&str]) -> Ran {
    Ran::new(world.command(args).env("PATH", world.path("nothing")).output().unwrap())
}

const SMALL: [&str; 6] = ["--rounds", "6", "--counting", "0", "--warm-up", "0"];

#[test]
fn a_study_is_one_command_and_says_what_cannot_be_tested_here() {
    let world = World::new();
    let args = [&["run", "published:urlsession", "--size", "64KiB", "--json"], &SMALL[..]].concat();
    let ran = without_compilers(&world, &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let study = ran.json();
    assert_eq!((&study["study"], &study["runs"][0]), (&"urlsession".into(), &"1".into()));
    let differs = study["differs"].as_array().unwrap();
    assert!(differs[0].as_str().unwrap().starts_with("size: 64 KiB here, 128 MiB there"));
    let missing = study["not_measured"].as_array().unwrap();
    let swift = missing.iter().find(|m| m["reason"] == "Swift is not installed").unwrap();
    assert_eq!(swift["methods"].as_array().unwrap().len(), 24, "{swift}");
    assert!(swift["remedy"].as_str().unwrap().contains("&& workers/swift-root`"), "{swift}");
    let own = &claim(&study, "U3")["own"];
    assert_eq!(own["verdict"], "not-testable");
    assert_eq!(own["missing"][0], "Swift is not installed");
    let test = &claim(&study, "U3")["in_their_place"]["tests"][0];
    let names = (&"byte-stream-for".into(), &"byte-stream-callback".into());
    assert_eq!((&test["of"], &test["to"]), names, "by the same source: {test}");
    assert!(test["low"].as_f64() <= test["ratio"].as_f64(), "{test}");
    assert_eq!(claim(&study, "U7")["own"]["verdict"], "not-testable");
    assert_eq!(claim(&study, "U7")["by_figures"]["verdict"], "holds");
    let by_figures = &claim(&study, "U8")["by_figures"]["machines"][0];
    assert!((by_figures["values"][0].as_f64().unwrap() - 2.40).abs() < 0.01, "{by_figures}");

    // The same page of the stored run.
    let page = world.run(&["compare", "1", "published:urlsession"]);
    assert_eq!(page.code, 0, "{}", page.stderr);
    let page = words(&page.stdout);
    for part in [
        "differs: size: 64 KiB here, 128 MiB there",
        "M2 MacBook Air",
        "in its place:",
        "byte-stream- async-bytes",
        "dataTask(with:) and an incremental delegate with for loop inside withUnsafeBytes",
        "not testable here: it needs both machines of the author",
        "No verdict between the published figures",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let again = world.run(&["compare", "1", "published:urlsession", "--json"]).json();
    assert_eq!(again["rows"], study["rows"]);
}

#[test]
fn a_study_takes_the_options_of_run() {
    let world = World::new();
    let args = "run published:bytestring --size 64KiB -m cat,read-write,trim-copy --dry-run";
    let plan = world.run(&args.split(' ').collect::<Vec<&str>>());
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    assert!(plan.stdout.starts_with("measuring 3 methods of copying"), "{}", plan.stdout);
    assert!(!plan.stdout.contains("of reading"), "no method of it is named: {}", plan.stdout);
    let args = "run published:latency -m row --row mutex,semaphore-other --rounds 6 --sessions 6";
    let ran = world.run(&args.split(' ').collect::<Vec<&str>>());
    let page = words(&ran.stdout);
    for part in ["lock and unlock a mutex", "iPhone X", "here: bytelab numbers", "L6", "L1"] {
        assert!(page.contains(part), "{part}: {page}{}", ran.stderr);
    }
    let list = world.run(&["history", "--json"]).json();
    assert_eq!(list[0]["label"], "published:latency");
    let plan = world.run(&["run", "published:sampling", "--samples", "10", "--dry-run"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    // A job of one part only; and one that no part has.
    let job = |name: &str| world.run(&["run", "published:latency", "--job", name, "--dry-run"]);
    let plan = job("latency");
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    let out = plan.stdout;
    assert!(out.contains("of memory") && !out.contains("of threads"), "{out}");
    assert!(
        plan.stderr.contains("bytelab: not measured: threads: --job latency"),
        "{}",
        plan.stderr
    );
    let wrong = ["run", "published:fleece", "--job", "nothing", "--dry-run"];
    world.refused(&wrong, "allowed is");
}

#[test]
fn a_study_gets_the_flags_of_the_environment() {
    let world = World::new();
    let args = ["run", "published:fleece", "--dry-run"];
    let plan = |args: &[&str]| {
        let output = world.command(args).env("BYTELAB_OPTIONS", "--sessions 7").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(plan(&args).contains("7 sessions"), "{}", plan(&args));
    let typed = plan(&[&args[..], &["--sessions", "8"]].concat());
    assert!(typed.contains("8 sessions"), "what is typed wins: {typed}");
}

#[test]
fn what_is_no_study_is_refused() {
    let world = World::new();
    let refused = |args: &str, expected: &str| {
        world.refused(&args.split(' ').collect::<Vec<&str>>(), expected);
    };
    refused("run published:none", "there are urlsession, latency, bytestring, fleece, sampling");
    refused("run published:urlsession-m2", "no such study");
    refused("run published:fleece -m none", "no part of it has a method");
    refused("run published:fleece --people none", "--people none");
    refused("check published:fleece", "`bytelab run published:fleece` measures it");
    let list = world.run(&["list", "published"]).stdout;
    assert!(list.contains("published:sampling: random records"), "{list}");
    let without = words(&without_compilers(&world, &["list", "published"]).stdout);
    assert!(without.contains("tests none of 4 claims on this machine"), "{without}");
    let claims = words(&world.run(&["list", "published:sampling"]).stdout);
    for part in ["S3 reading dominates", "no figures", "not seen by the test", "is from bayesic"] {
        assert!(claims.contains(part), "{part}: {claims}");
    }
    let help = world.run(&["run", "published:fleece", "--help"]);
    assert_eq!(help.code, 0);
    assert!(help.stdout.contains("1000 people") && help.stdout.contains("--people"));
}

#[test]
fn the_page_of_a_study_has_its_figures_its_table_and_its_claims() {
    let world = World::new();
    let page = |study: &str, args: &[&str]| {
        let file = world.path(&format!("{study}.html"));
        let study = format!("published:{study}");
        let to_file = ["--report", file.to_str().unwrap()];
        let named = ["run", study.as_str()];
        let ran = without_compilers(&world, &[&named[..], args, &SMALL, &to_file].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        std::fs::read_to_string(&file).unwrap()
    };
    let fleece = page("fleece", &["--people", "50"]);
    assert_eq!(fleece.matches("</svg>").count(), 2, "{fleece}");
    assert!(!fleece.contains("<script"), "it needs no script");
    for part in ["look up one name: Fleece</text>", ">F5 ", "<td>Parse trusted (µs)</td>"] {
        let heading = part.replace("<td>", "<th scope=\"row\">").replace("</td>", "</th>");
        assert!(fleece.contains(&heading), "{heading}: {fleece}");
    }
    let urlsession = page("urlsession", &["--size", "64KiB"]);
    for title in ["M2 MacBook Air", "10-core iMac Pro", "here, in their place"] {
        assert!(urlsession.contains(&format!(">{title}</text>")), "{title}: {urlsession}");
    }
    let named = ["-m", "random", "--size", "16KiB,1MiB,8MiB"];
    let latency = page("latency", &named);
    assert!(latency.contains(" by size: "), "{latency}");
    let nowhere = world.path("none/page.html");
    let args = ["run", "published:fleece", "--people", "50", "--report", nowhere.to_str().unwrap()];
    world.refused(&[&args[..], &SMALL].concat(), "--report ");
}

#[test]
fn a_study_is_written_as_pictures_in_markdown_and_as_a_page() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    let (svg, markdown, page) = (path("figures"), path("fleece.md"), path("stored.html"));
    let files = ["--svg", svg.as_str(), "--export-markdown", markdown.as_str()];
    let args = [&["run", "published:fleece", "--people", "50"][..], &SMALL, &files].concat();
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for name in ["data-size.svg", "time-of-each-operation.svg"] {
        let figure = std::fs::read_to_string(world.path("figures").join(name)).unwrap();
        assert!(figure.contains("MacBook Pro, 2.3 GHz Core i7"), "{name}: {figure}");
    }
    let text = std::fs::read_to_string(&markdown).unwrap();
    for part in ["| Parse trusted", "| F5 | holds |", "by the author's own figures"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The same of a stored run.
    let stored = world.run(&["compare", "1", "published:fleece", "--report", &page]);
    assert_eq!(stored.code, 0, "{}", stored.stderr);
    assert_eq!(std::fs::read_to_string(&page).unwrap().matches("</svg>").count(), 2);
    let machines = ["compare", "published:urlsession-m2", "published:urlsession-imac"];
    let without_study = [&machines[..], &["--svg", svg.as_str()]].concat();
    world.refused(&without_study, "for a run beside a study");
    let help = words(&world.run(&["run", "--help"]).stdout);
    assert!(help.contains("--svg DIR and --export-markdown FILE.md"), "{help}");
}

#[test]
fn each_row_of_fleece_stands_once_beside_its_figure() {
    let world = World::new();
    let args = [&["run", "published:fleece", "--people", "50", "--json"], &SMALL[..]].concat();
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let study = ran.json();
    for row in study["rows"].as_array().unwrap() {
        let lines = row["figures"].as_array().unwrap();
        assert!(lines.iter().any(|line| line["whose"] == "in-its-place"), "{row}");
    }
    let size = &claim(&study, "F1")["in_their_place"]["tests"][0];
    assert_eq!(size["ratio"], size["low"], "sizes are exact: {size}");
    let page = world.run(&["compare", "1", "published:fleece"]).stdout;
    let labels = page.lines().filter(|line| line.starts_with("Look up one name (ns) "));
    assert_eq!(labels.count(), 1, "{page}");
    // The study and its only result have one name.
    let heading = "What the author says, and what the samples of here say";
    assert!(page.contains(heading) && page.contains("\nF6 "), "{page}");
    let again = world.run(&["compare", "1", "published:fleece", "--json"]).json();
    assert_eq!(again["claims"], study["claims"]);
}

#[test]
fn a_contributed_run_is_compared_without_an_import() {
    let world = World::new();
    let few = ["--method", "read,mmap", "--sessions", "5", "--counting", "0"];
    for label in ["secret-label", "other"] {
        let (code, _) = world.reading(&[&few[..], &["--label", label]].concat());
        assert_eq!(code, 0);
    }
    let file = world.path("mine.json");
    let file = file.to_str().unwrap();
    let exported = world.run(&["export", "1", "--contribute", "-o", file]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let text = std::fs::read_to_string(file).unwrap();
    let home = world.dir.path().to_str().unwrap();
    assert!(!text.contains("secret-label") && !text.contains(home), "{text}");
    let compared = world.run(&["compare", "2", file, "--json"]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let compared = compared.json();
    assert!(compared["comparisons"][0]["absolute"]["ratio"].as_f64().unwrap() > 0.0);
    assert_eq!(world.run(&["history", "--json"]).json().as_array().unwrap().len(), 2);
    world.refused(&["compare", "1", file], "the same measurement");
    let beside = world.run(&["compare", file, "published:urlsession"]);
    assert_eq!(beside.code, 0, "{}", beside.stderr);
    world.refused(&["compare", "2", "none.json"], "none.json");
}

/// Otherwise a reader of the experiment does not find the table beside the author's.
#[test]
fn the_readme_of_each_experiment_of_a_study_links_its_page() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let studies = [
        ("urlsession", &["reading"][..]),
        ("latency", &["numbers", "memory", "threads", "files"]),
        ("bytestring", &["copying", "reading"]),
        ("fleece", &["decoding"]),
        ("sampling", &["sampling"]),
    ];
    for (study, experiments) in studies {
        let page = format!("../../../../docs/studies/{study}.md");
        for experiment in experiments {
            let folder = root.join("../experiments/src").join(experiment);
            let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
            assert!(readme.contains(&page), "{experiment}: {page}");
            assert!(folder.join(&page).is_file(), "{page}");
        }
        let page = std::fs::read_to_string(root.join(format!("../../docs/studies/{study}.md")));
        let page = page.unwrap();
        let heading = "What the author says, and what the samples of here say";
        assert_eq!(page.matches(heading).count(), 2, "{study}: at 80 and at 160 columns");
    }
}
