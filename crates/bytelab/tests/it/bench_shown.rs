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
