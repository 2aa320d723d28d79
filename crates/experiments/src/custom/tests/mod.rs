//! Mistakes in the file are reported with file, line, key and what is allowed; no text makes the
//! program panic.

mod schema;

use proptest::prelude::*;

use super::*;

fn taken() -> ReservedNames<'static> {
    ReservedNames { experiments: vec!["reading"], flags: || vec!["rounds".to_owned()] }
}

fn understood(text: &str) -> Result<LoadedExperiment, String> {
    let loaded = parse(Path::new("/x/my.toml"), text.to_owned(), &taken(), None);
    loaded.map_err(|error| format!("{error:#}"))
}

const METHOD: &str = "[[method]]\nname = 'a'\ncommand = 'true'\n";

/// Checks the error of a file that ends with these lines.
fn refused(text: &str, expected: &str) {
    match understood(text) {
        Ok(_) => panic!("it was taken: {text}"),
        Err(error) => assert_eq!(error, format!("/x/my.toml:{expected}"), "{text}"),
    }
}

#[test]
fn the_example_is_understood() {
    let LoadedExperiment { experiment, definition, defaults, .. } = understood(EXAMPLE).unwrap();
    assert_eq!((experiment.name, definition.text.as_str()), ("my", EXAMPLE));
    let names: Vec<&str> = experiment.methods.iter().map(|method| &*method.name).collect();
    assert_eq!(names, ["wc", "grep", "awk", "sed", "tr-wc"]);
    assert!(experiment.methods.iter().all(|method| method.reads == ["size"]));
    assert!(defaults.contains(&("rounds", "30".to_owned())));
}

/// Whether a comment is a line of TOML that is commented out.
fn is_switch(text: &str) -> bool {
    let key = text.split_once(" = ").map(|(key, _)| key);
    text.starts_with('[') || key.is_some_and(model::template::is_name)
}

#[test]
fn its_hints_are_understood_too() {
    let switched_on: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_switch(rest) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    // Otherwise `from` would be defined twice.
    let text = switched_on.replacen("from = \"stdout\"\n", "", 1);
    let loaded = understood(&text).unwrap();
    assert_eq!(loaded.definition.thresholds.len(), 2);
    assert_eq!(loaded.experiment.methods.len(), 6);
}

#[test]
fn an_unknown_key_is_reported_with_what_was_meant() {
    refused(
        "qestion = 'x'\n",
        "1: qestion: there is no such key; did you mean question? allowed are name, question, dir, env, \
         param, plan, data, answer, metrics, primary_metrics, view, hooks, method, threshold",
    );
    refused(
        &format!("{METHOD}[plan]\nround = 3\n"),
        "5: plan.round: there is no such key; did you mean rounds? allowed are rounds, sessions, \
         min_sessions, max_sessions, warm_up, counting, time, sample_limit, cache, memory",
    );
    refused(
        &format!("{METHOD}[answer]\nfrom = 'stdin'\n"),
        "5: answer.from: stdin: it is not allowed; did you mean stdout? allowed are stdout, file, none",
    );
}

#[test]
fn a_wrong_value_is_reported_with_its_key() {
    let wrong = "[[method]]\nname = 'b'\ncommand = [\n'x',\n3]\n";
    let expected = "8: method[2].command[2]: invalid type: integer `3`, expected a string";
    refused(&format!("{METHOD}{wrong}"), expected);
    let expected =
        "2: method[1].name: a name is a line of at most 4096 bytes that does not end in @old";
    for name in ["a\\nb", "", " a", "x@old", &"x".repeat(4097)] {
        refused(&format!("[[method]]\nname = \"{name}\"\ncommand = 'x'\n"), expected);
    }
    refused(&format!("{METHOD}{METHOD}"), "5: method[2].name: there are two methods a");
    refused("[[method]]\nname = 'a'\ncommand = ''\n", "3: method[1].command: the command is empty");
    refused(
        "[[method]]\nname = 'a'\ncommand = \"echo 'x\"\n",
        "3: method[1].command: a quote is not closed (no shell is used)",
    );
    refused(
        "[[method]]\nname = 'a'\ncommand = 'a | b'\n",
        "3: method[1].command: | needs shell = true; as a plain word it is meant in a list of words only",
    );
    refused(
        "[[method]]\nname = 'a'\n",
        "2: method[1].name: it needs a command = \"…\" or a worker = \"…\"",
    );
    for rounds in ["0", "4000000"] {
        let expected = format!("5: plan.rounds: {rounds}: allowed are 1 to 1000000");
        refused(&format!("{METHOD}[plan]\nrounds = {rounds}\n"), &expected);
    }
    refused(
        &format!("{METHOD}[plan]\ntime = 'soon'\n"),
        "5: plan.time: \"soon\" is not a time (examples: 50ms, 1.5s, 2m)",
    );
    refused(
        &format!("{METHOD}[plan]\nrounds = -1\n"),
        "5: plan.rounds: invalid value: integer `-1`, expected a whole number",
    );
    for ratio in ["nan", "-1.0", "inf"] {
        let error = understood(&format!("{METHOD}[[threshold]]\nmax_ratio = {ratio}\n"));
        assert!(error.is_err_and(|error| error.contains("a number above 0 is needed")), "{ratio}");
    }
    refused(
        &format!("{METHOD}[[threshold]]\nmethod = 'b'\nmax_ratio = 2\n"),
        "5: threshold[1].method: there is no method b; allowed are a",
    );
}

#[test]
fn of_several_mistakes_the_first_one_is_reported() {
    let expected = "2: plan.rounds: invalid type: string \"many\", expected a whole number";
    let rounds = "[plan]\nrounds = \"many\"\n";
    refused(&format!("{rounds}[[method]]\nname = 'a'\ncommand = 5\n"), expected);
    refused(&format!("{rounds}[[method]]\nname = 3\n[data]\nfile = 4\n"), expected);
    // Also before what is no TOML at all.
    refused(&format!("{rounds}[[method]]\nname = \n"), expected);
    refused(
        &format!("question = 5\nname = 6\n{METHOD}"),
        "1: question: invalid type: integer `5`, expected a string",
    );
    // Without any method, too.
    refused(rounds, expected);
}

/// The command of the only method, without what surrounds it.
fn command_of(text: &str) -> measure::experiment::Command {
    let mut methods = understood(text).unwrap_or_else(|error| panic!("{error}")).experiment.methods;
    let mut execution = methods.remove(0).execution;
    while let measure::experiment::Execution::Hooked { execution: inner, .. } = execution {
        execution = *inner;
    }
    match execution {
        measure::experiment::Execution::Command(command) => command,
        _ => panic!("it is no command"),
    }
}

#[test]
fn a_command_has_a_shell_variables_exit_codes_and_an_output() {
    use measure::experiment::{Destination, ExitCodes};
    let text = format!(
        "dir = 'sub'\nenv = {{ A = '1', B = '2' }}\n{METHOD}env = {{ B = '{{dir}}' }}\n\
         exit_codes = [0, 3]\noutput = 'out'\nshell = 'bash -e'\n"
    );
    let command = command_of(&text);
    let owned = |text: &str| text.to_owned();
    assert_eq!(command.env, [(owned("A"), owned("1")), (owned("B"), owned("{dir}"))]);
    assert_eq!(command.accepts, ExitCodes::These(vec![0, 3]));
    assert_eq!(command.output, Destination::File(owned("out")));
    assert_eq!(command.shell, Some(vec![owned("bash"), owned("-e")]));
    let dir = understood(&text).ok().and_then(|loaded| loaded.experiment.dir);
    assert_eq!(dir.as_deref(), Some(Path::new("/x/sub")));
    let all = command_of(&format!("{METHOD}ignore_failure = true\noutput = 'inherit'\n"));
    assert_eq!((all.accepts, all.output), (ExitCodes::All, Destination::Shown));
    let here = understood(METHOD).ok().and_then(|loaded| loaded.experiment.dir);
    assert_eq!(here.as_deref(), Some(Path::new("/x")));
}

#[test]
fn what_a_command_cannot_have_is_reported() {
    let check = |line: &str, expected: &str| refused(&format!("{METHOD}{line}\n"), expected);
    check(
        "exit_codes = []",
        "4: method[1].exit_codes: name the exit codes of a success, such as [0, 1]",
    );
    check(
        "exit_codes = [1]\nignore_failure = true",
        "4: method[1].exit_codes: ignore_failure accepts all codes",
    );
    check("output = ''", "4: method[1].output: name a file, null, pipe or inherit");
    check(
        "output = 'x'\n[answer]\nfrom = 'stdout'",
        "4: method[1].output: with from = \"stdout\" its output is its answer",
    );
    check("env = { '' = 'x' }", "4: method[1].env: \"\" cannot be a variable with this value");
    check("shell = ''", "3: method[1].command: \"\" is not the command of a shell");
    let worker = "[[method]]\nname = 'a'\nworker = 'true'\n";
    for (line, key) in [
        ("exit_codes = [0]", "exit_codes"),
        ("output = 'x'", "output"),
        ("env = { A = 'x' }", "env"),
    ] {
        let error = understood(&format!("{worker}{line}\n")).err().unwrap();
        assert!(error.contains(&format!("{key} is for a command, not for a worker")), "{error}");
    }
}

#[test]
fn a_definition_without_a_file_says_where_it_works() {
    let read = |text: &str| from_text(text.to_owned(), &taken());
    let loaded = read(&format!("name = 'bench'\ndir = '/y'\n{METHOD}")).ok().unwrap();
    assert_eq!(loaded.definition.file, "");
    assert_eq!(loaded.experiment.dir.as_deref(), Some(Path::new("/y")));
    assert!(loaded.experiment.readme.ends_with("Typed on the command line."));
    let error = read("name = 'bench'\nx = 1").err().unwrap().to_string();
    assert!(error.starts_with("the definition:2: x: there is no such key"), "{error}");
}

#[test]
fn a_name_in_braces_must_be_known() {
    let text = "[[param]]\nname = 'size'\nkind = 'bytes'\ndefault = 1\n[[method]]\nname = 'a'\n\
                command = 'head -c {sice} {size}'\n";
    refused(
        text,
        "7: method[1].command: {sice} is no param and nothing else that is known; did you mean size? \
         allowed are size, here, dir; {{sice}} stands for the text {sice}",
    );
    let error = understood("[[method]]\nname = 'a'\ncommand = 'cat {file}'\n").err().unwrap();
    assert!(error.contains("{file} is no param"), "without [data] there is no file: {error}");
}

#[test]
fn a_param_is_checked_as_its_flag_would_be() {
    let text = |param: &str| {
        format!("[[param]]\nname = 'n'\n{param}\n[[method]]\nname = 'a'\ncommand = 'x {{n}}'\n")
    };
    assert!(understood(&text("kind = 'count'\ndefault = '1..8'")).is_ok());
    assert!(understood(&text("kind = 'word'\ndefault = 'a'\nwords = ['a', 'b']")).is_ok());
    refused(
        &text("kind = 'count'\ndefault = 9\nmax = 8"),
        "4: param[1].default: \"9\": 9 is out of range, allowed is 0 to 8",
    );
    refused(&text("kind = 'path'\ndefault = ''"), "4: param[1].default: \"\": a value is needed");
    let unused = "[[param]]\nname = 'n'\nkind = 'count'\ndefault = 1\n";
    let expected = "2: param[1].name: nothing uses it: write {n} in a command";
    refused(&format!("{unused}{METHOD}"), expected);
    for name in ["rounds", "file", "dir"] {
        let expected = format!("2: param[1].name: {name} means something else; name it otherwise");
        refused(&format!("{}{METHOD}", unused.replace("'n'", &format!("'{name}'"))), &expected);
    }
    refused(
        &format!("name = 'reading'\n{METHOD}"),
        "1: name: reading is an experiment of bytelab's own; give another name = \"…\"",
    );
}

#[test]
fn what_is_no_experiment_is_reported_in_a_line() {
    refused("", "1: the key method is missing");
    refused("method = []", "1: method: there is no [[method]] that competes");
    for text in ["\u{0}\u{1}", "a = ", "= 3", "[[method]\n", "a = 1\na = 2\n", "[[[[", "\u{feff}x"]
    {
        let error = understood(text).err().unwrap();
        assert!(error.starts_with("/x/my.toml:") && !error.contains('\n'), "{error}");
    }
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(understood(&deep).is_err());
    let dotted = format!("{} = 1", vec!["a"; 50_000].join("."));
    assert!(understood(&dotted).is_err());
}

#[test]
fn what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.toml");
    let message = || format!("{:#}", load(&path, &taken()).err().unwrap());
    assert!(message().contains("my.toml cannot be read: No such file"), "{}", message());
    std::fs::write(&path, b"name = 'x'\n# \xff").unwrap();
    assert!(message().ends_with("my.toml:2: it is not UTF-8 text"), "{}", message());
    std::fs::write(&path, vec![b' '; 10 << 20]).unwrap();
    assert!(message().contains("larger than 1 MiB"), "{}", message());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(message().contains("is not a file"), "{}", message());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_a_panic(text in r#"[\[\]{}=a-d'"\n #.0-9-]{0,60}"#) {
        let _ = understood(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_a_panic(place in 0..EXAMPLE.len(), len in 0usize..40, with in ".{0,3}") {
        let at = |place: usize| (0..=place.min(EXAMPLE.len())).rev().find(|i| EXAMPLE.is_char_boundary(*i));
        let (start, end) = (at(place).unwrap(), at(place + len).unwrap());
        if let Err(error) = understood(&format!("{}{with}{}", &EXAMPLE[..start], &EXAMPLE[end..])) {
            prop_assert!(!error.contains('\n'), "{}", error);
        }
    }
}
