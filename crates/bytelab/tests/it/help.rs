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

#[test]
fn an_error_shows_the_whole_usage() {
    let world = World::new();
    for (args, usage) in [
        (&["run", "reading", "--size", "1MiB", "--nonsense"][..], "run reading [OPTIONS]"),
        (&["history", "--plot", "x", "--nonsense"], "history [OPTIONS]"),
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
