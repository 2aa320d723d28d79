//! Names that would control a terminal, given to every command: no error and no note has them raw.

use std::fs;

use crate::program::World;

/// Clears the screen, sets a title, goes back, and writes from right to left.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\r\u{9b}31m\u{202e}b";

fn steers(c: char) -> bool {
    c.is_control() && c != '\n' || c == '\u{202e}'
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table of commands")]
fn no_command_prints_them_raw() {
    let world = World::new();
    let run = ["run", "reading", "--size", "4KiB", "--method", "read", "--rounds", "1"];
    let fast = ["--counting", "0", "--sessions", "1"];
    let ran = world.run(&[&run[..], &fast, &["--label", HOSTILE]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(steers), "{}", ran.stdout);
    let folder = format!("{HOSTILE}/x");
    let toml = format!("{HOSTILE}.toml");
    fs::write(world.path(&toml), "name = 3\n").unwrap();
    let json = format!("{HOSTILE}.json");
    fs::write(world.path(&json), "{]").unwrap();
    let data = format!("{HOSTILE}.data");
    fs::write(world.path(&data), "no Fleece\n").unwrap();
    let url = format!("http://127.0.0.1:1/{HOSTILE}");
    let pair = format!("{HOSTILE}=x");
    let old = format!("old={HOSTILE},new={HOSTILE}");
    for args in [
        &["numbers", "--only", HOSTILE][..],
        &["run", HOSTILE],
        &["run", &toml],
        &["run", "reading", "--file", HOSTILE],
        &["run", "reading", "--size", HOSTILE],
        &["run", "reading", "-m", HOSTILE],
        &["run", "reading", "--language", HOSTILE],
        &["run", "reading", "--reference", HOSTILE],
        &["run", "reading", "--worker", &pair, "--size", "4KiB", "--rounds", "1"],
        &["run", "reading", "--trace", &folder],
        &["run", "reading", "--data-dir", &data],
        &["run", "files", "--dir", HOSTILE],
        &["run", "published:", HOSTILE],
        &["run", "--resume", HOSTILE],
        &["bench", "-r", "1", HOSTILE],
        &["bench", "-r", "1", "-N", HOSTILE],
        &["bench", "-r", "1", "-n", HOSTILE, "true"],
        &["bench", "-r", "1", "-n", HOSTILE, "false"],
        &["bench", "-r", "1", "--prepare", HOSTILE, "true"],
        &["bench", "-r", "1", "--shell", HOSTILE, "true"],
        &["bench", "-r", "1", "--input", HOSTILE, "true"],
        &["bench", "-r", "1", "--output", &folder, "true"],
        &["bench", "-r", "1", "--export-json", &folder, "true"],
        &["bench", "-r", "1", "--cwd", HOSTILE, "true"],
        &["bench", "-r", "1", "--data", HOSTILE, "true"],
        &["bench", "-r", "1", "--metric", &pair, "true"],
        &["bench", "-r", "1", "--rev", HOSTILE, "true"],
        &["bench", "-L", HOSTILE, "1,2", "true"],
        &["list", HOSTILE],
        &["list", &toml],
        &["init", &folder],
        &["init", &toml],
        &["fleece", "encode", HOSTILE],
        &["fleece", "encode", &data],
        &["fleece", "decode", &data],
        &["fleece", "check", &data, HOSTILE],
        &["fleece", "get", HOSTILE, &data],
        &["fleece", "dump", &data],
        &["fleece", "stats", &data],
        &["cat", HOSTILE],
        &["cat", &url],
        &["cat", "-o", &folder, &data],
        &["cat", "--sha256-file", &json, &data],
        &["cat", "--netrc-file", HOSTILE, &url],
        &["sample", "-n", "1", HOSTILE],
        &["sample", "-n", HOSTILE, &data],
        &["sample", "-n", "1", "--manifest", &folder, &data],
        &["sample", "-n", "1", "-o", &folder, &data],
        &["sample", "--per", &pair, "--format", "csv", &data],
        &["history"],
        &["history", "--label", HOSTILE],
        &["history", "--plot", HOSTILE],
        &["history", "--plot", "read", "--metric", HOSTILE],
        &["show", "latest"],
        &["show", HOSTILE],
        &["compare", "1", HOSTILE],
        &["compare", "1", &json],
        &["compare", "1", "published:", HOSTILE],
        &["compare", "--label", HOSTILE, "--machine", HOSTILE],
        &["check", &toml, "--against", &toml, "--allow", "wall=5%"],
        &["check", &toml, "--against", &old, "--allow", "wall=5%"],
        &["check", "reading", "--against", HOSTILE, "--allow", "wall=5%"],
        &["check", "--baseline", HOSTILE, "--allow", "wall=5%"],
        &["check", "--baseline", "1", "--allow", HOSTILE],
        &["baseline", "set", HOSTILE, "1"],
        &["baseline", "list"],
        &["baseline", "delete", HOSTILE, "no such"],
        &["report", HOSTILE, "-o", "x.html"],
        &["report", "1", "-o", &folder],
        &["report", "1", "--svg", &data],
        &["report", "1", "--svg", "svg", "--metric", HOSTILE],
        &["import", &json],
        &["import", &data],
        &["import", HOSTILE],
        &["export", HOSTILE, "--format", "csv"],
        &["export", "1", "--format", HOSTILE],
        &["export", "1", "--format", "csv", "-o", &folder],
        &["completions", HOSTILE],
        &["man", &data],
        &["label", "1", HOSTILE],
        &["label", HOSTILE, "x"],
        &["delete", HOSTILE],
        &["delete", "--older", HOSTILE],
        &["doctor", "--store", &json],
        &["self-test", HOSTILE],
        &["history", "--store", &folder],
        &["history", "--store", &json],
    ] {
        let output = world.command(args).current_dir(world.dir.path()).output().unwrap();
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8(text.clone()).unwrap());
        let printed = format!("{stdout}{stderr}");
        assert!(!printed.contains("panicked"), "{args:?}: {printed}");
        let line = printed.lines().find(|line| line.contains(steers));
        assert_eq!(line, None, "{args:?}");
    }
}
