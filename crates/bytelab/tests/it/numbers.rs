//! `numbers` with few rows and rounds: the values are not meaningful, only their presence is
//! checked.

use std::process::{Child, Stdio};

use crate::program::{Ran, World};

const ROWS: &str = "l1-load,read-l2,mutex,system-call,pread,read-file";

fn numbers(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["numbers", "--row", ROWS, "--rounds", "2"], args].concat())
}

#[test]
fn the_rows_are_in_the_json_and_in_the_store() {
    let world = World::new();
    let ran = numbers(&world, &["--json"]);
    // A machine may lack huge pages: a skip is a valid result, too.
    assert!(ran.code == 0 || ran.code == 1, "{}", ran.stderr);
    let json = ran.json();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), ROWS);
    let call = rows.iter().find(|row| row["name"] == "system-call").unwrap();
    assert_eq!(call["unit"], "ns");
    for figure in ["p10", "p25", "p50", "p90"] {
        assert!(call[figure].as_f64().unwrap() > 0.0, "{call}");
    }
    assert_eq!(rows[0]["published"]["2012"], 1.0);
    let shown = world.run(&["show", json["id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("a system call (getppid)"), "{}", shown.stdout);
    let history = world.run(&["history", "--json"]);
    assert!(history.stdout.contains("\"numbers\""), "{}", history.stdout);
}

#[test]
fn the_table_fits_80_columns_and_has_no_colour_in_a_pipe() {
    let world = World::new();
    let ran = numbers(&world, &["--no-store"]);
    assert!(ran.stdout.contains("pread 1 KiB, cached"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let ran = numbers(&world, &["--no-store", "--markdown", "--columns", "p10,n,method"]);
    assert!(ran.stdout.starts_with("| operation | p10 | n | method |\n"), "{}", ran.stdout);
}

#[test]
fn rows_are_compared_with_nothing_and_have_intervals_by_session() {
    let world = World::new();
    let args = ["numbers", "--row", "mutex,system-call", "--rounds", "12", "--json"];
    let json = world.run(&args).json();
    for compared in ["comparisons", "across"] {
        assert!(json[compared].as_array().unwrap().is_empty(), "{}", json[compared]);
    }
    let sessions = json["plan"]["sessions"].as_u64().unwrap();
    assert!(sessions >= 6, "{sessions}");
    for row in json["rows"].as_array().unwrap() {
        // Where all samples of a session are disturbed, it does not count.
        let counted = row["sessions"].as_u64().unwrap();
        assert!((5..=sessions).contains(&counted), "{row}");
        let [low, high] = ["p50_low", "p50_high"].map(|bound| row[bound].as_f64().unwrap());
        assert!(0.0 < low && low <= high, "{row}");
    }
}

#[test]
fn markdown_names_the_machine_the_version_and_how_to_read_it() {
    let world = World::new();
    let ran = numbers(&world, &["--markdown"]);
    let json = world.run(&["show", "1", "--json"]).json();
    let fact = |name: &str| json["environment"][name].as_str().unwrap_or_default().to_owned();
    let date = json["started"].as_str().unwrap()[..10].to_owned();
    for expected in [
        fact("cpu_model"),
        fact("kernel_release"),
        format!("bytelab {}", fact("bytelab_version")),
        date,
        "A: half of the sessions".to_owned(),
        "p10–p90".to_owned(),
    ] {
        assert!(ran.stdout.contains(&expected), "{expected}: {}", ran.stdout);
    }
}

/// Killed when the test ends, whatever its result.
struct Burners(Vec<Child>);

impl Burners {
    fn start(n: usize) -> Burners {
        #[expect(
            clippy::disallowed_methods,
            reason = "what a run is disturbed by is not the lab's"
        )]
        let burner = |_| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
        };
        Burners((0..n).map(burner).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            burner.kill().unwrap();
            burner.wait().unwrap();
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn beside_burners_no_row_has_the_best_grade() {
    let world = World::new();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let burners = Burners::start(2 * cpus);
    let args = ["numbers", "--row", "mutex,system-call,l1-load", "--rounds", "60", "--json"];
    let json = world.run(&args).json();
    drop(burners);
    let others = json["environment"]["busy_share_of_others"].as_f64().unwrap();
    assert!(others > 0.1, "{others}");
    for row in json["rows"].as_array().unwrap() {
        assert!(row["grade"] == "B" || row["grade"] == "C", "{row}");
    }
    let shown = world.run(&["show", "1"]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("other programs used"), "{shown}");
}

/// The planned time is the only figure that is known in advance: each run prints it at its start.
#[test]
fn all_documents_say_how_long_it_takes() {
    let world = World::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap();
    let texts = [
        world.run(&["--help"]).stdout,
        read("README.md"),
        read("crates/experiments/src/numbers/README.md"),
    ];
    let few = ["numbers", "--row", "mutex", "--rounds", "1", "--no-store"];
    let check = |more: &[&str], texts: &[String], written: &dyn Fn(u64) -> String| {
        let stderr = world.run(&[&few[..], more].concat()).stderr;
        // The time of all, or of the rounds if they are all that is limited.
        let (before, _) = stderr.split_once(" s in all").or(stderr.split_once(" s of")).unwrap();
        let seconds = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap();
        let seconds: u64 = seconds.parse().unwrap();
        for text in texts {
            assert!(text.contains(&written(seconds)), "{}: {text}", written(seconds));
        }
    };
    check(&[], &texts, &|seconds| format!("at most {seconds} seconds"));
    let full = [world.run(&["numbers", "--help"]).stdout, texts[2].clone()];
    check(&["--full"], &full, &|seconds| format!("at most {} minutes", seconds / 60));
}

#[test]
fn wrong_use_is_reported_in_one_line() {
    let world = World::new();
    for (args, expected) in [
        (["--row", "l9-load"], "--row l9-load: unknown word"),
        (["--columns", "p11"], "there is no such column"),
        (["--rounds", "0"], "0 is not in 1..=1000000"),
    ] {
        world.refused(&[&["numbers"], &args[..]].concat(), expected);
    }
}
