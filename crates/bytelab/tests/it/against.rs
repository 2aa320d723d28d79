//! check --against: old and new in the same rounds, by files, by programs and by another bytelab.

use serde_json::Value;

use crate::program::{Ran, World, cell, install, script};

/// A program that does a given amount of work, reads its number from its working directory, and
/// answers 7.
const WORK: &str =
    "#!/bin/sh\nread -r n < times\ni=0\nwhile [ $i -lt $n ]; do i=$((i + 1)); done\necho 7\n";

const FILE: &str = "answer.from = 'stdout'\n[[method]]\nname = 'work'\ncommand = './work.sh'\n";

impl World {
    /// A folder with a file that declares a command with this amount of work.
    fn folder(&self, name: &str, times: u32, file: &str) -> String {
        let dir = self.path(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("times"), format!("{times}\n")).unwrap();
        script(&dir.join("work.sh"), WORK);
        let path = dir.join("bench.toml");
        std::fs::write(&path, file).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn against(&self, checked: &str, old: &str, args: &[&str]) -> Ran {
        let all = ["check", checked, "--against", old, "--allow", "wall=5%", "--counting", "0"];
        let ran = self.run(&[&all, args].concat());
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }

    fn stored(&self) -> usize {
        let history = self.run(&["history", "--json"]).stdout;
        serde_json::from_str::<Value>(&history).unwrap().as_array().unwrap().len()
    }
}

/// The reason is in the last line.
#[track_caller]
fn check_refused(world: &World, args: &[&str], expected: &str) {
    let stderr = world.refused(args, expected).stderr;
    assert!(stderr.lines().last().unwrap_or_default().contains(expected), "{args:?}: {stderr}");
}

#[test]
fn of_two_files_the_one_with_more_work_is_slower_and_the_other_way_round_faster() {
    let world = World::new();
    let (much, little) = (world.folder("much", 20_000, FILE), world.folder("little", 1000, FILE));
    let dry = world.against(&much, &little, &["--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(dry.stdout.contains("too few runs"), "{}", dry.stdout);
    assert_eq!(world.stored(), 0, "it measures nothing");

    let ran = world.against(&much, &little, &["--json"]);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    // For commands, each round is a session.
    for said in ["50 sessions of a round", "slower in one run; a second must confirm it"] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let found = ran.json();
    assert_eq!((&found["outcome"], &found["against"]), (&"slower".into(), &little.as_str().into()));
    assert_eq!(found["runs"].as_array().unwrap().len(), 2, "a second run confirms it");
    let line = &found["lines"][0];
    assert_eq!((&line["method"], &line["reference"]), (&"work".into(), &"work@old".into()));
    assert!(line["low"].as_f64().unwrap() > 1.05 && line["level"] == 0.95, "{line}");
    let run = world.run(&["show", found["runs"][0].as_str().unwrap(), "--json"]).json();
    for method in ["work", "work@old"] {
        let wall = &cell(&run, method)["metrics"]["wall_ns"];
        assert!(wall["n"].as_u64().is_some_and(|n| (40..=50).contains(&n)), "{wall}");
    }

    let ran = world.against(&little, &much, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("faster    work wall_"), "{}", ran.stdout);
    assert!(ran.stdout.contains("beside work@old"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("in the same rounds as {much}")), "{}", ran.stdout);
    let stored = world.stored();
    let dry = world.against(&much, &little, &["--dry-run", "--json"]).json();
    let found = &dry["lines"][0];
    assert!(found["found_percent"].as_f64().is_some_and(|percent| percent > 5.0), "{dry}");
    assert_eq!((&found["method"], world.stored()), (&"work".into(), stored));

    // A run does not store what the old side was.
    let old = "whose old side is not known any more";
    check_refused(&world, &["check", "--baseline", "1", "--allow", "wall=5%"], old);
}

#[test]
fn the_same_program_on_both_sides_is_never_slower() {
    let world = World::new();
    let file = FILE.replace("./work.sh", "{program}").replace("'work'", "'{program} done'");
    let file = world.folder("both", 300, &file);
    let (copy, program) = (world.path("copy.sh"), world.path("both/work.sh"));
    script(&copy, WORK);
    let sides = format!("old={},new={}", copy.display(), program.display());
    let args = ["--method", "{program} done", "--undecided", "ok", "--json"];
    let ran = world.against(&file, &sides, &args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found = ran.json();
    let outcome = found["outcome"].clone();
    assert!(["ok", "undecided", "faster"].iter().any(|word| outcome == *word), "{outcome}");
    let (name, old) = ("work.sh done", "work.sh done@old");
    let line = &found["lines"][0];
    assert_eq!((&line["method"], &line["reference"]), (&name.into(), &old.into()));
    let note = "work.sh done: the programs of old and new have equal bytes";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    // The file alone does not define {program}, and the run does not store it.
    let once_more = ["check", "--baseline", "1", "--allow", "wall=5%"];
    check_refused(&world, &once_more, "whose old side is not known any more");
    let (sides, nowhere) = (sides.as_str(), "old=/nowhere/at-all,new=/bin/true");
    let refused = |args: &[&str], expected: &str| {
        let all = [&["check"], args, &["--allow", "wall=5%"]].concat();
        check_refused(&world, &all, expected);
    };
    refused(&[&file, "--against", nowhere], "/nowhere/at-all: No such file");
    refused(&[&file, "--against", "old=/bin/true"], "write old=PATH,new=PATH");
    refused(&[&file, "--against", "main"], "name the old FILE.toml");
    refused(&[&file, "--against", &file], "{program} is no param");
    refused(&[&file, "--against", sides, "--rounds", "20"], "larger, not smaller");
    refused(&[&file, "--against", sides, "--sessions", "5"], "larger, not smaller");
    refused(&[&file, "--against", sides, "--time", "5s"], "--time: not for check --against");
    refused(&["--absolute", &file, "--against", sides], "write the options of `check ");
    let plain = world.folder("plain", 300, FILE);
    refused(&[&plain, "--against", sides], "no command has {program}");
}

#[test]
fn one_file_on_both_sides_is_no_comparison() {
    let world = World::new();
    let (new, old) = (world.folder("new", 300, FILE), world.folder("old", 300, FILE));
    let dir = format!("dir = '{}'\n{FILE}", world.path("new").display());
    for file in [&new, &old] {
        std::fs::write(file, &dir).unwrap();
    }
    let check = |checked: &str, against: &str, expected: &str| {
        for more in [&[][..], &["--dry-run"]] {
            let ran = world.against(checked, against, more);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
            let last = ran.stderr.lines().last().unwrap_or_default();
            assert!(last.contains(expected) && last.contains("nothing is compared"), "{last}");
        }
    };
    check(&new, &old, "old and new are the same file in the same folder, ");
    check(&new, &new, "old and new are the same file in the same folder, ");
    std::fs::write(&new, FILE.replace("./work.sh", "{program}")).unwrap();
    let program = world.path("new/work.sh");
    let program = program.to_str().unwrap();
    check(&new, &format!("old={program},new={program}"), "old and new are the same file, ");
    std::fs::create_dir(world.path("link")).unwrap();
    let link = world.path("link/work.sh");
    std::os::unix::fs::symlink(program, &link).unwrap();
    let sides = format!("old={},new={program}", link.display());
    check(&new, &sides, "old and new are the same file, ");
    check("reading", env!("CARGO_BIN_EXE_bytelab"), "old and new are the same file, ");
    assert_eq!(world.stored(), 0);
    // Of several methods, one that did not change is measured.
    let two = format!("{dir}[[method]]\nname = 'echo'\ncommand = 'echo 7'\n");
    std::fs::write(&new, &two).unwrap();
    std::fs::write(&old, two.replace("'./work.sh'", "'./work.sh 1'")).unwrap();
    let ran = world.against(&new, &old, &["--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("echo: old and new are the same, and any"), "{}", ran.stderr);
}

#[test]
fn equal_programs_are_named_and_measured() {
    let world = World::new();
    let (new, old) = (world.folder("new", 10, FILE), world.folder("old", 10, FILE));
    let ran = world.against(&new, &old, &["--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "work: the programs of old and new have equal bytes, and the same arguments";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn another_answer_and_a_method_without_an_old_side_are_said() {
    let world = World::new();
    let two = format!("{FILE}[[method]]\nname = 'new'\ncommand = './work.sh'\n");
    let (new, old) = (world.folder("new", 10, &two), world.folder("old", 10, FILE));
    script(&world.path("old/work.sh"), "#!/bin/sh\necho 8\n");
    let ran = world.against(&new, &old, &["--no-store"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("its answer is 7, and that of the old one 8"), "{}", ran.stdout);
    assert!(ran.stderr.contains("without an old side: new"), "{}", ran.stderr);
    assert_eq!(world.stored(), 0);
    let method = ["check", &new, "--against", &old, "--allow", "wall=5%", "--method", "new"];
    check_refused(&world, &method, "--method new: it has no old side");
    let param = "[[param]]\nname = 'size'\nkind = 'count'\ndefault = '1'\n";
    let sized = format!("{two}{param}").replace("'./work.sh'", "'./work.sh {size}'");
    std::fs::write(&old, sized).unwrap();
    check_refused(
        &world,
        &["check", &new, "--against", &old, "--allow", "wall=5%"],
        "has a param size",
    );
}

#[test]
fn another_bytelab_does_the_old_side() {
    let world = World::new();
    let (copy, old, log) = (world.path("copy"), world.path("old-bytelab"), world.path("log"));
    install(env!("CARGO_BIN_EXE_bytelab"), &copy);
    let logs =
        format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", log.display(), copy.display());
    script(&old, &logs);
    let old = old.to_str().unwrap();
    let args = [
        "check",
        "reading",
        "--against",
        old,
        "--allow",
        "wall=900%",
        "--size",
        "64KiB",
        "--method",
        "read",
        "--counting",
        "0",
        "--undecided",
        "ok",
        "--json",
    ];
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found = ran.json();
    assert_eq!(found["lines"][0]["reference"], "read@old", "{found}");
    let log = std::fs::read_to_string(log).unwrap();
    // Not counting the processes that list its methods.
    assert!(log.lines().filter(|line| *line == "__worker reading read").count() > 10, "{log}");
    let run = world.run(&["show", found["runs"][0].as_str().unwrap(), "--json"]).json();
    assert_eq!(cell(&run, "read")["answer"], cell(&run, "read@old")["answer"]);
}

#[test]
fn another_bytelab_that_speaks_otherwise_is_refused_in_one_line() {
    let world = World::new();
    let old = world.path("old-bytelab");
    let old_text = old.to_str().unwrap();
    let args = ["check", "reading", "--against", old_text, "--allow", "wall=5%", "--size", "64KiB"];
    let check = |text: &str, expected: &str| {
        script(&old, text);
        let ran = world.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        let about: Vec<&str> = ran.stderr.lines().filter(|l| !l.contains("optimised")).collect();
        assert_eq!(about.len(), 1, "{}", ran.stderr);
        assert!(about[0].contains(expected) && about[0].contains(old_text), "{}", ran.stderr);
    };
    check(
        "#!/bin/sh\necho hello 2 name=read lang=rust\nwhile read -r line; do :; done\n",
        "as a worker of protocol 1 it cannot be used: protocol: speaks protocol \"2\", not 1",
    );
    check("#!/bin/sh\nexit 0\n", "it cannot be used");
    check(
        "#!/bin/sh\necho \"there is no method $3\" >&2\nexit 2\n",
        "it has none of the methods of reading",
    );
    assert_eq!(world.stored(), 0);
}
