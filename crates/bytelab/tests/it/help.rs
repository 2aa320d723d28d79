//! What the program says of itself: short and long help, and usage lines in errors.

use crate::program::World;

/// The subcommands that the help of this one lists.
fn below(world: &World, words: &[String]) -> Vec<Vec<String>> {
    let help = help(world, words, "--help");
    let (_, list) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Lines that go on with a text are indented further.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    // `bench` has flags below this heading.
    let names = names.filter(|name| *name != "help" && !name.starts_with('-'));
    names.map(|name| [words, &[name.to_owned()]].concat()).collect()
}

fn help(world: &World, words: &[String], flag: &str) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = world.run(&[&words[..], &[flag]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.stdout
}

/// Every subcommand, with those of the subcommands.
fn all(world: &World) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(words) = all.get(at) {
        let more = below(world, &words.clone());
        all.extend(more);
        at += 1;
    }
    assert!(all.len() > 40, "{all:?}");
    all
}

#[test]
fn short_help_fits_on_a_screen_and_long_help_has_all() {
    let world = World::new();
    for words in all(&world) {
        let (short, long) = (help(&world, &words, "-h"), help(&world, &words, "--help"));
        let lines = short.lines().count();
        assert!(lines <= 60, "{words:?} -h has {lines} lines");
        let mut texts = short.lines().filter(|line| !line.starts_with("Usage:"));
        assert!(texts.all(|line| line.chars().count() <= 100), "{words:?}: {short}");
        assert!(long.len() >= short.len(), "{words:?}");
        // What only the long help has is announced.
        let is_longer = short.contains("(see more with '--help')");
        assert!(is_longer || long == short, "{words:?}");
        let flags = |text: &str| text.matches("\n      --").count() + text.matches("\n  -").count();
        assert!(flags(&long) >= flags(&short), "{words:?}");
    }
}

/// The names that the help lists.
fn listed(world: &World) -> Vec<String> {
    below(world, &[]).concat()
}

#[test]
fn the_list_begins_with_bench_and_ends_with_the_tools() {
    let all = listed(&World::new());
    assert_eq!(all[..2], ["bench", "run"], "{all:?}");
    assert_eq!(all[all.len() - 3..], ["cat", "sample", "fleece"], "{all:?}");
}

#[test]
fn what_this_build_lacks_is_not_listed() {
    let all = listed(&World::new());
    for name in ["push", "pull"] {
        let is_listed = all.iter().any(|known| known == name);
        assert_eq!(is_listed, cfg!(feature = "postgres"), "{name}: {all:?}");
    }
}

#[test]
fn without_arguments_there_are_examples() {
    let world = World::new();
    // A store that is set is no argument.
    let store = world.path("runs.sqlite");
    let output = world.command(&[]).env("BYTELAB_STORE", &store).output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("  bytelab ")).count(), 3, "{shown}");
    let help = world.run(&["--help"]).stdout;
    assert!(help.starts_with("Measures which of several ways to do the same job"), "{help}");
    assert!(help.contains("\n  bytelab 'gzip -c x' 'gzip -9c x' "), "{help}");
    assert!(help.contains("\n  bytelab bench --rev HEAD~1,HEAD --build 'make' "), "{help}");
    assert!(!store.exists());
}

#[test]
fn help_is_short_unless_all_of_it_is_wanted() {
    let world = World::new();
    let bench = world.run(&["bench", "-h"]).stdout;
    let flags = bench.lines().filter(|line| line.trim_start().starts_with('-')).count();
    assert!(flags < 36, "{flags}: {bench}");
    let headings =
        ["Runs:", "Commands:", "Before and after:", "Parameters:", "Two builds:", "Results:"];
    for heading in headings {
        assert!(bench.lines().any(|line| line == heading), "{heading} {bench}");
    }
    assert!(bench.contains("\n      --build <COMMAND> "), "{bench}");
    for flag in ["--all ", "--explain ", "--notes "] {
        let show = world.run(&["show", "-h"]).stdout;
        assert!(bench.contains(flag) && show.contains(flag), "{flag}: {bench}{show}");
    }
    let reading = world.run(&["run", "reading", "--help"]).stdout;
    assert!(reading.lines().count() < 320, "{}: {reading}", reading.lines().count());
    assert!(reading.starts_with("What is the fastest way"), "{reading}");
    for heading in ["Methods:", "Measuring:", "The run and its data:", "Output:"] {
        assert!(reading.lines().any(|line| line == heading), "{heading} {reading}");
    }
    let readme = world.run(&["list", "reading", "--readme"]).stdout;
    assert!(readme.starts_with("# reading\n") && readme.contains("\n## What is timed\n"));
}

#[test]
fn an_error_shows_the_whole_usage() {
    let world = World::new();
    for (args, usage) in [
        (&["run", "reading", "--size", "1MiB", "--nonsense"][..], "run reading [OPTIONS]"),
        (&["history", "--plot", "x", "--nonsense"], "history [OPTIONS] [TEXT]"),
        (&["bench", "-w", "1", "--nonsense"], "bench [OPTIONS] [COMMAND]... [-- <WORD>...]"),
        (&["export", "1", "--nonsense"], "export [OPTIONS] [ID]"),
        (&["baseline", "set", "--nonsense"], "baseline set [OPTIONS] <NAME> <ID>"),
        (&["fleece", "dump", "--nonsense"], "fleece dump [OPTIONS] [FILE]"),
        (&["label", "x"], "label [OPTIONS] <ID> <TEXT>"),
        (&["--nonsense"], "[OPTIONS] <COMMAND>"),
    ] {
        world.refused(args, &format!("Usage: bytelab {usage}\n"));
    }
}
