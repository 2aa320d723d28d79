//! Every command in the README and in docs/commands.md does what these pages state, on little data.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::import::fixture;
use crate::program::{SMALL, World};

/// A document, by its path in the repository.
fn document(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The lines of these documents that a shell runs, those of `check` aside: it needs two versions of
/// a program, which the modules `against` and `check` make.
fn commands() -> Vec<String> {
    let mut commands = Vec::new();
    for path in ["README.md", "docs/commands.md"] {
        let mut is_shell = false;
        for line in document(path).lines() {
            if let Some(language) = line.strip_prefix("```") {
                is_shell = language == "sh";
            } else if is_shell && let Some(command) = line.strip_prefix("bytelab ") {
                commands.push(command.split(" #").next().unwrap_or_default().trim().to_owned());
            }
        }
    }
    commands.retain(|command| !command.starts_with("check "));
    assert!(commands.len() >= 25, "{commands:?}");
    commands
}

/// Words of notes and headings, none of which explains itself.
#[test]
fn the_glossary_has_the_words_of_the_notes() {
    let text = document("docs/glossary.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let words: Vec<&str> = rows.flat_map(|(words, _)| words.split(", ")).collect();
    for word in [
        "session",
        "drift",
        "τ",
        "steady",
        "two modes",
        "noop",
        "`wall_less_wait_ns`",
        "throughput",
        "`#2`",
        "`k`",
        "`?`",
        "`—`",
        "`±`",
        "busy",
    ] {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
}

/// Several packages have programs, and cargo runs one only if a single manifest names it.
#[test]
fn cargo_run_without_a_name_runs_bytelab() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    #[expect(clippy::disallowed_methods, reason = "cargo says what it would run")]
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let defaults = packages.iter().filter_map(|package| package["default_run"].as_str());
    assert_eq!(defaults.collect::<Vec<_>>(), ["bytelab"]);
}

#[test]
fn the_commands_of_the_documents_work() {
    let world = World::new();
    let imported = fixture("hyperfine.json");
    let file = world.path("big.log");
    std::fs::write(&file, vec![b'x'; 70_000]).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let example = format!("{root}/examples/worker.py");
    let lock = format!("{root}/Cargo.lock");
    for command in commands() {
        let mut args: Vec<String> = Vec::new();
        let words = shlex::split(&command).unwrap();
        for word in words {
            args.push(match word.as_str() {
                text if text.contains("Cargo.lock") => text.replace("Cargo.lock", &lock),
                text if text.contains("big.log") => text.replace("big.log", file.to_str().unwrap()),
                made @ ("timeline.json" | "report.html" | "figures" | "run.txt" | "mine.json") => {
                    world.path(made).to_str().unwrap().to_owned()
                }
                "mine=python3 examples/worker.py" => format!("mine=python3 {example}"),
                "a.json" => imported.to_str().unwrap().to_owned(),
                "lines.toml" => world.path("lines.toml").to_str().unwrap().to_owned(),
                text if text.starts_with("examples/") => format!("{root}/{text}"),
                text => text.to_owned(),
            });
        }
        let few = ["--rounds", "1", "--row", "l1-load,read-memory,mutex,read-file"];
        let small = match args[0].as_str() {
            "numbers" => &few[..],
            "bench" => &["-r", "1"],
            // An experiment in a file has no languages.
            "run" if command.contains(".toml") => {
                SMALL.strip_suffix(&["--language", "rust"]).unwrap()
            }
            "run" => SMALL,
            _ => &[],
        };
        // To start the processes of all methods takes most of the time.
        let once: &[&str] =
            if args[0] == "run" { &["--sessions", "1", "--counting", "1"] } else { &[] };
        args.extend(small.iter().chain(once).map(|&arg| arg.to_owned()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = world.run(&args);
        // A machine may lack io_uring, O_DIRECT, a device or Python: a skip is a valid result, too.
        assert!(ran.code == 0 || ran.code == 1, "{command}: {} {}", ran.code, ran.stderr);
        if ran.stderr.contains("is not installed") {
            continue;
        }
        let expected = match args[0] {
            // The rest of the commands may be what they have in common.
            "bench" => "gzip",
            "report" => "",
            "export" if command.contains("-o") => "",
            "import" => "run ",
            "history" if command.contains("--plot") => "mmap",
            "export" => "run,experiment,",
            "init" => "wrote ",
            _ if command.contains(".toml") => "astest",
            _ => "read",
        };
        assert!(ran.stdout.contains(expected), "{command}: {}", ran.stdout);
        for bad in ["wrong answer", "failed"] {
            assert!(!ran.stdout.contains(bad), "{command}: {}", ran.stdout);
        }
    }
}

/// The names in the table of `run reading`: those above its last rule, and those below it.
fn table_of_reading() -> [BTreeSet<String>; 2] {
    let text = document("docs/commands.md");
    let table = text.split("\nreading: What is").nth(1).expect("it shows a run of reading");
    let table = table.split("\nFastest").next().unwrap();
    let parts: Vec<&str> = table.split('─').filter(|part| !part.is_empty()).collect();
    let names = |part: &str| {
        let lines = part.lines().filter(|line| !line.trim().is_empty());
        let first = lines.filter_map(|line| line.trim_start_matches(['*', ' ']).split(' ').next());
        first.map(str::to_owned).collect()
    };
    [names(parts[1]), names(parts[2])]
}

/// The installed languages depend on the machine: they are not counted.
#[test]
fn the_table_of_reading_has_the_methods_of_a_default_run() {
    let world = World::new();
    let args = ["run", "reading", "--json", "--size", "4KiB", "--rounds", "1", "--counting", "0"];
    let output = world.command(&args).env("PATH", "/nonexistent").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_role = |role: &str| -> BTreeSet<String> {
        let cells = json["cells"].as_array().unwrap().iter().filter(|cell| cell["role"] == role);
        cells.map(|cell| cell["method"].as_str().unwrap().to_owned()).collect()
    };
    let (contenders, yardsticks) = (of_role("contender"), of_role("yardstick"));
    let listed = world.run(&["list", "reading"]).stdout;
    let (_, languages) = listed.split_once("\nOther languages").expect("it lists the languages");
    let languages = languages.lines().skip(1).filter_map(first_word);
    let languages: Vec<String> = languages.map(|language| format!("{language}-")).collect();
    assert!(languages.len() > 3, "{languages:?}");
    let in_language = |name: &String| languages.iter().any(|start| name.starts_with(start));
    let [methods, below] = table_of_reading();
    let built_in: BTreeSet<String> = methods.iter().filter(|m| !in_language(m)).cloned().collect();
    assert!(methods.iter().any(in_language), "the default run has methods in other languages, too");
    assert_eq!((built_in, below), (contenders, yardsticks));
}

/// The first word of a line that is indented by two spaces.
fn first_word(line: &str) -> Option<&str> {
    let word = line.strip_prefix("  ")?.split(' ').next()?;
    Some(word).filter(|word| !word.is_empty())
}

/// The rows of the table of commands: the code in each cell.
fn table_of_commands() -> Vec<[Vec<String>; 2]> {
    let text = document("docs/commands.md");
    let (_, table) = text.split_once("\n| command | |\n|---|---|\n").expect("a table of commands");
    let rows = table.lines().take_while(|line| line.starts_with("| "));
    let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let row = |line: &str| {
        let (command, about) = line[2..].split_once(" | ").expect("two cells");
        [code(command), code(about)]
    };
    rows.map(row).collect()
}

/// `list published` of `bytelab list published`: what a reader types after the program's name.
fn args_of(code: &str) -> &str {
    code.strip_prefix("bytelab ").unwrap_or(code)
}

#[test]
fn the_table_has_every_command_and_the_flags_that_it_names() {
    let world = World::new();
    let help = world.run(&["--help"]).stdout;
    let (_, commands) = help.split_once("\nCommands:\n").expect("a list of commands");
    let (commands, _) = commands.split_once("\n\n").expect("its end");
    let mut commands: BTreeSet<&str> = commands.lines().filter_map(first_word).collect();
    commands.remove("help");
    if !cfg!(feature = "postgres") {
        // The table says which builds have them.
        commands.extend(["push", "pull"]);
    }
    let is_command = |code: &String| commands.contains(args_of(code).split(' ').next().unwrap());
    let mut named = BTreeSet::new();
    for [command, about] in table_of_commands() {
        let all = command.iter().chain(about.iter().filter(|code| code.starts_with("bytelab ")));
        let of_row: BTreeSet<String> =
            all.map(|code| args_of(code).split(' ').next().unwrap().to_owned()).collect();
        let helps: String =
            of_row.iter().map(|command| world.run(&[command, "--help"]).stdout).collect();
        let codes = command.iter().chain(&about);
        let own = codes.filter(|code| code.starts_with('-') || is_command(code));
        for flag in own.flat_map(|code| code.split(' ')).filter(|word| word.starts_with('-')) {
            let mut words = helps.split(|c: char| !c.is_alphanumeric() && c != '-');
            assert!(words.any(|word| word == flag), "{of_row:?} have no {flag}");
        }
        named.extend(of_row);
    }
    assert_eq!(named.iter().map(String::as_str).collect::<BTreeSet<_>>(), commands);
    assert!(world.run(&["list"]).stdout.contains("reading"));
    assert!(world.run(&["list", "reading"]).stdout.contains("mmap-window"));
    let doctor = world.run(&["doctor", "--json"]).json();
    assert_eq!(doctor["metrics"][0]["name"], "wall_ns");
    assert_eq!(doctor["metrics"][0]["available"], true);
}
