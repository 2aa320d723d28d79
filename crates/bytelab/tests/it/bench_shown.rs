//! `bytelab bench`: the table, and the files of `--export-…`.

use serde_json::Value;

use crate::program::World;

#[test]
fn the_results_are_written_for_others() {
    let world = World::new();
    let formats = ["json", "csv", "markdown", "asciidoc", "orgmode"];
    let flags: Vec<[String; 2]> =
        formats.iter().map(|name| [format!("--export-{name}"), format!("out.{name}")]).collect();
    let flags: Vec<&str> = flags.iter().flatten().map(String::as_str).collect();
    let ran = world.bench(&[&["-r", "3", "true", "echo a|cat"], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for name in formats {
        let text = std::fs::read_to_string(world.path(&format!("out.{name}"))).unwrap();
        assert!(text.contains("true") && text.contains("echo"), "{name}: {text}");
    }
    let json = std::fs::read_to_string(world.path("out.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["results"][1]["command"], "echo a|cat");
    assert_eq!(json["results"][1]["times"].as_array().unwrap().len(), 3);
    let ran = world.bench(&["-r", "1", "--no-store", "--export-json", "-", "true"]);
    assert!(ran.stdout.contains("{\"results\":["), "{}", ran.stdout);
    let ran = world.bench(&["--export-json", "no/such/dir/x", "echo x >>log"]);
    assert_eq!((ran.code, world.lines("log").len()), (2, 0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--export-json no/such/dir/x: cannot be written"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_table_has_the_unit_and_the_order_that_are_said() {
    let world = World::new();
    let slow = "sleep 0.4";
    let args = ["-r", "3", "-u", "microsecond", "--sort", "command", slow, "true"];
    let ran = world.bench(&[&args[..], &["--export-markdown", "out.md"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let markdown = std::fs::read_to_string(world.path("out.md")).unwrap();
    let shown = world.run(&["show", "latest", "-u", "microsecond", "--sort", "command"]).stdout;
    for text in [&ran.stdout, &markdown, &shown] {
        let table = &text[text.find("µs").unwrap_or_else(|| panic!("{text}"))..];
        let table = table.split("\n\n").next().unwrap();
        assert!(!table.contains(" ms"), "{text}");
        assert!(table.find(slow) < table.find("true"), "{text}");
    }
    let by_time = world.run(&["show", "latest"]).stdout;
    let table = &by_time[by_time.find("verdict").unwrap()..];
    assert!(table.find("true") < table.find(slow), "{by_time}");
}

#[test]
fn the_table_has_colours_or_none_or_is_left_out() {
    let world = World::new();
    let with = |style: &str| {
        let ran = world.bench(&["-r", "1", "--no-store", "--style", style, "true"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert!(with("color").contains("\u{1b}["));
    for style in ["auto", "nocolor"] {
        let text = with(style);
        assert!(text.contains("true") && !text.contains('\u{1b}'), "{style}: {text}");
    }
    assert_eq!(with("none"), "");
    assert_eq!(world.bench(&["--style", "green", "true"]).code, 2);
}

#[test]
fn flags_of_every_invocation_stand_in_a_variable() {
    let world = World::new();
    let with = |options: &str, args: &[&str]| {
        let mut command = world.command(args);
        let ran = command.env("BYTELAB_OPTIONS", options).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    };
    let bench = ["bench", "-r", "1", "true"];
    let (code, shown, stderr) = with("--style none --notes", &bench);
    assert_eq!((code, shown.as_str()), (Some(0), ""), "{stderr}");
    let (code, shown, _) = with("--style none", &[&bench[..], &["--style", "nocolor"]].concat());
    assert!(code == Some(0) && shown.contains("true"), "{shown}");
    assert_eq!(with("--style none", &["history"]).0, Some(0));
    let (code, _, stderr) = with("--stile none", &bench);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("BYTELAB_OPTIONS: --stile is a flag of no subcommand"), "{stderr}");
    let file = world.path("own.toml");
    std::fs::write(&file, "[[method]]\nname = 'a'\ncommand = 'true'\n").unwrap();
    let (code, _, stderr) = with("--rounds 2", &["run", file.to_str().unwrap(), "--dry-run"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_figure_that_commands_print_is_a_metric() {
    let world = World::new();
    let metric = r"rps=(\d+) requests/s";
    let args = ["-r", "6", "--metric", metric, "echo 1200 requests/s", "echo 300 requests/s"];
    let ran = world.bench(&[&args[..], &["--export-csv", "out.csv"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let markdown = world.run(&["export", "latest", "--format", "markdown"]).stdout;
    for text in [&ran.stdout, &world.run(&["show", "latest"]).stdout, &markdown] {
        assert!(text.contains("rps"), "{text}");
        let line = text.lines().find(|line| line.contains("echo 300") && line.contains("ms"));
        let line = line.or(text.lines().find(|line| line.contains("echo 300"))).unwrap();
        assert!(line.split_whitespace().any(|word| word == "300"), "{line}");
        let expected = "echo 300 requests/s: 0.250 (0.250 to 0.250) less";
        assert!(text.contains("rps, against echo 1200 requests/s:"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let shown = world.run(&["show", "latest", "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["own"][0]["metric"], &shown["own"][0]["change"]),
        (&"rps".into(), &"less".into())
    );
    let csv = std::fs::read_to_string(world.path("out.csv")).unwrap();
    assert!(csv.contains("rps") && csv.contains("1200"), "{csv}");
    let plotted = world.run(&["history", "--plot", "echo 300 requests/s", "--metric", "rps"]);
    assert_eq!(plotted.code, 0, "{}", plotted.stderr);
    for (args, code, part) in [
        (&["--metric", "rps=x", "echo y"][..], 1, "metric rps: nothing in its output matches x"),
        (&["--metric", "rps=(", "true"], 2, "metrics.rps: metric rps: \"(\": "),
        (&["--metric", "wall_ns=x", "true"], 2, "metric wall_ns: it means something else"),
        (&["--metric", "rps", "true"], 2, "write NAME=REGEX"),
        (&["--metric", "rps=x", "--show-output", "true"], 2, "cannot be used with"),
    ] {
        let ran = world.bench(&[&["-r", "1"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn memory_that_was_not_read_names_the_flag_that_reads_it() {
    let world = World::new();
    let ran = world.bench(&["-r", "5", "true"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let shown = world.run(&["show", "--notes"]).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "memory: that of a plain command is gone when it has ended; runs of --counting 5";
    assert!(words.contains(why), "{shown}");
}

#[test]
fn copies_run_at_the_same_time() {
    let world = World::new();
    // Each copy waits until all three are there.
    let command = "echo x >>log; until [ $(wc -l <log) -ge 3 ]; do :; done";
    let ran = world.bench(&["-r", "1", "--parallel", "3", command]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(world.lines("log").len(), 3);
    assert!(ran.stdout.contains("copies_per_s"), "{}", ran.stdout);
    std::fs::write(world.path("data"), vec![b'x'; 1000]).unwrap();
    let args = ["-r", "3", "--counting", "1", "--parallel", "2", "--data", "data", "cat data"];
    let json = world.bench_json(&args);
    let sample = &json["cells"][0]["samples"]["wall_ns"];
    assert_eq!(sample.as_array().unwrap().len(), 3, "{json}");
    let metrics = &json["cells"][0]["metrics"];
    let [wall, rate] =
        ["wall_ns", "copies_per_s"].map(|name| metrics[name]["p100"].as_f64().unwrap());
    let least = metrics["copies_per_s"]["p0"].as_f64().unwrap();
    assert!((least * wall / 2e9 - 1.0).abs() < 1e-6 && rate >= least, "{metrics}");
    let failed = world.bench(&["-r", "1", "--parallel", "2", "mkdir only-once"]);
    assert_eq!(failed.code, 1, "{}{}", failed.stdout, failed.stderr);
    assert_eq!(world.bench(&["--parallel", "2", "--show-output", "true"]).code, 2);
}
