//! How much the two sides of a check are alike: where both run one program, nothing is compared.

use std::path::{Path, PathBuf};

use experiments::custom::{DIR, FILE, HERE, LoadedExperiment};
use measure::experiment::{Command, Execution, Hooks, Method};
use model::param::Point;
use model::path_text::{from_path, to_path};
use model::template;

use super::program_file::{Digests, ProgramFile, Sameness};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// One program file, with the same arguments, in the same folder.
    Same,
    /// Program files of equal bytes, with the same arguments, which name no files that differ.
    Equal,
    Different,
}

/// Of two programs that do the same job.
pub(super) fn of_programs(programs: [&Path; 2], digests: &mut Digests<'_>) -> Likeness {
    let file = |path: &Path| ProgramFile {
        word: from_path(path).into_owned(),
        path: Some(path.to_owned()),
    };
    let [new, old] = programs.map(file);
    match new.sameness(&old, digests) {
        Some(Sameness::File) => Likeness::Same,
        Some(Sameness::Bytes) => Likeness::Equal,
        None => Likeness::Different,
    }
}

/// A method, and the file that declares it.
pub(super) struct DeclaredMethod<'a> {
    pub(super) method: &'a Method,
    pub(super) file: &'a LoadedExperiment,
}

/// Of a method that two files declare. Whether a command reads files of its folder that it does not
/// name is not known: only in the same folder are two sides the same.
pub(super) fn of_method(
    new: &DeclaredMethod<'_>,
    old: &DeclaredMethod<'_>,
    digests: &mut Digests<'_>,
) -> Likeness {
    if is_one_path([new, old].map(|side| to_path(&side.file.definition.file))) {
        return Likeness::Same;
    }
    let sides = [new, old].map(SideCommand::of);
    let [Some(first), Some(second)] = &sides else { return Likeness::Different };
    let is_alike = first.rest == second.rest && first.arguments == second.arguments;
    if !is_alike || has_own_value(new, old, first) {
        return Likeness::Different;
    }
    let may_be_made = new.file.has_setup || old.file.has_setup || first.hooks_may_make_it();
    let is_one_folder = is_one_path([first.dir.clone(), second.dir.clone()]);
    match first.program.sameness(&second.program, digests) {
        Some(Sameness::File) if is_one_folder => Likeness::Same,
        Some(_)
            if !may_be_made && (is_one_folder || names_equal_files([first, second], digests)) =>
        {
            Likeness::Equal
        }
        _ => Likeness::Different,
    }
}

/// The command of one side.
struct SideCommand {
    program: ProgramFile,
    /// The script, if the whole command is for a shell.
    arguments: Vec<String>,
    /// Whether it is a plain command, without its words; and its hooks.
    rest: (bool, Command, Hooks),
    dir: PathBuf,
}

impl SideCommand {
    /// None for a method of the lab itself.
    fn of(side: &DeclaredMethod<'_>) -> Option<SideCommand> {
        let execution = &side.method.execution;
        let (mut command, hooks) = parts(execution)?;
        let words = std::mem::take(&mut command.argv);
        let (word, arguments) = match words.split_first() {
            Some((program, arguments)) if command.shell.is_none() => {
                let word = template::fill(program, &Point::default(), str::to_owned);
                (word, arguments.to_vec())
            }
            _ => (String::new(), words),
        };
        let dir = side.file.experiment.dir.clone()?;
        let has_own_path = command.env.iter().any(|(name, _)| name == "PATH");
        let program = ProgramFile::new(word, &dir, has_own_path);
        let rest = (execution.is_command(), command, hooks);
        Some(SideCommand { program, arguments, rest, dir })
    }

    fn hooks_may_make_it(&self) -> bool {
        let (.., hooks) = &self.rest;
        *hooks != Hooks::default()
    }

    /// All texts in which there may be names in braces.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let (_, command, Hooks { setup, prepare, conclude }) = &self.rest;
        let hooks = [setup, prepare, conclude].into_iter().flatten();
        let around = hooks.chain([command]).flat_map(|command| {
            let values = command.env.iter().map(|(_, value)| value);
            command.argv.iter().chain(&command.input).chain(values)
        });
        std::iter::once(&self.program.word).chain(&self.arguments).chain(around)
    }
}

fn parts(execution: &Execution) -> Option<(Command, Hooks)> {
    match execution {
        Execution::Command(command) => Some((command.clone(), Hooks::default())),
        Execution::Worker { argv } => Some((Command::plain(argv.clone()), Hooks::default())),
        Execution::Hooked { execution, hooks } => {
            parts(execution).map(|(command, _)| (command, hooks.clone()))
        }
        Execution::BuiltIn(_) | Execution::Baseline { .. } | Execution::Unavailable { .. } => None,
    }
}

/// Whether a name in braces may stand for another value on each side.
fn has_own_value(
    new: &DeclaredMethod<'_>,
    old: &DeclaredMethod<'_>,
    command: &SideCommand,
) -> bool {
    let [of_new, of_old] = [new, old].map(|side| &side.file.definition);
    let is_filled = new.file.has_setup || old.file.has_setup || command.hooks_may_make_it();
    let folder = |file: &str| to_path(file).parent().map(Path::to_owned);
    let own = [
        (DIR, is_filled),
        (HERE, folder(&of_new.file) != folder(&of_old.file)),
        (FILE, of_new.text != of_old.text),
    ];
    let is_own = |name: &&str| own.iter().any(|(known, differs)| *differs && known == name);
    command.texts().any(|text| template::names(text).iter().any(is_own))
}

/// Whether both programs are named by a path, and the arguments name no files that differ.
fn names_equal_files(sides: [&SideCommand; 2], digests: &mut Digests<'_>) -> bool {
    let is_equal = |word: &String| {
        let [a, b] = sides.map(|side| side.dir.join(to_path(word)));
        !a.exists() && !b.exists() || digests.are_equal([&a, &b])
    };
    sides.iter().all(|side| side.program.word.contains('/'))
        && sides[0].arguments.iter().all(is_equal)
}

fn is_one_path(paths: [PathBuf; 2]) -> bool {
    let [first, second] = paths.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
    first == second
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use experiments::custom::{ReservedNames, load};
    use measure::launch::Stop;

    use super::*;

    /// Folders `new` and `old`, which have a program `work` of different bytes each.
    fn folders() -> tempfile::TempDir {
        let folders = tempfile::tempdir().unwrap();
        for name in ["new", "old"] {
            std::fs::create_dir(folders.path().join(name)).unwrap();
            std::fs::write(folders.path().join(name).join("work"), name).unwrap();
        }
        folders
    }

    /// Of a method of two files with these texts, in a folder each. `DIR` stands for that of the
    /// new one.
    fn check(folders: &Path, [new, old]: [&str; 2], expected: Likeness) {
        let dir = folders.join("new").display().to_string();
        let load = |name: &str, text: &str| {
            let path = folders.join(name).join("x.toml");
            let text = text.replace("DIR", &dir);
            std::fs::write(&path, format!("{text}\n")).unwrap();
            load(&path, &ReservedNames { experiments: Vec::new(), flags: Vec::new }).unwrap()
        };
        let (loaded_new, loaded_old) = (load("new", new), load("old", old));
        let stop = Stop::default();
        let found = of_method(&side(&loaded_new), &side(&loaded_old), &mut Digests::new(&stop));
        assert_eq!(found, expected, "{new} {old}");
    }

    fn side(file: &LoadedExperiment) -> DeclaredMethod<'_> {
        DeclaredMethod { method: &file.experiment.methods[0], file }
    }

    fn of_command(before: &str, command: &str) -> String {
        format!("{before}\n[[method]]\nname = 'm'\n{command}")
    }

    #[test]
    fn two_files_that_name_one_folder_have_one_program() {
        let folders = folders();
        let dir = "dir = 'DIR'";
        let of = |before: &str, command: &str, expected| {
            let text = of_command(before, command);
            check(folders.path(), [&text, &text], expected);
        };
        of("", "command = './work a'", Likeness::Different);
        of(dir, "command = './work a'", Likeness::Same);
        of(dir, "command = ['./work', '{dir}/out']", Likeness::Same);
        of(dir, "command = './work | wc'\nshell = true", Likeness::Same);
        // What these names stand for is of each side.
        of(dir, "command = '{here}/work'", Likeness::Different);
        let setup = format!("{dir}\nhooks.setup = 'cp {{here}}/work {{dir}}/work'");
        of(&setup, "command = '{dir}/work'", Likeness::Different);
        let with = |word: &str| of_command(dir, &format!("command = './work {word}'"));
        let [new, old] = ["a", "b"].map(with);
        check(folders.path(), [&new, &old], Likeness::Different);
    }

    #[test]
    fn programs_of_equal_bytes_are_equal_unless_they_are_given_other_files() {
        let folders = folders();
        let text = of_command("", "command = './work in'");
        let path = |name: &str| folders.path().join(name);
        let write = |name: &str, bytes: &str| std::fs::write(path(name), bytes).unwrap();
        write("old/work", "new");
        check(folders.path(), [&text, &text], Likeness::Equal);
        write("new/in", "1");
        check(folders.path(), [&text, &text], Likeness::Different);
        write("old/in", "1");
        check(folders.path(), [&text, &text], Likeness::Equal);
        // A hook may make another program of it.
        let made = of_command("hooks.setup = 'make'", "command = './work in'");
        check(folders.path(), [&made, &made], Likeness::Different);
        // What `sh` reads is not known.
        let shell = of_command("", "command = 'sh work'");
        write("old/work", "old");
        check(folders.path(), [&shell, &shell], Likeness::Different);
        std::fs::remove_file(path("old/work")).unwrap();
        symlink("../new/work", path("old/work")).unwrap();
        check(folders.path(), [&text, &text], Likeness::Equal);
    }

    #[test]
    fn a_program_and_its_link_are_one_and_a_copy_is_equal() {
        let folders = folders();
        let path = |name: &str| folders.path().join(name);
        symlink(path("new/work"), path("old/link")).unwrap();
        std::fs::create_dir(path("linked")).unwrap();
        symlink(path("new/work"), path("linked/work")).unwrap();
        std::fs::copy(path("new/work"), path("old/copy")).unwrap();
        let stop = Stop::default();
        let of = |old: &str| of_programs([&path("new/work"), &path(old)], &mut Digests::new(&stop));
        assert_eq!(of("new/work"), Likeness::Same);
        assert_eq!(of("linked/work"), Likeness::Same);
        assert_eq!(of("old/copy"), Likeness::Equal);
        assert_eq!(of("old/work"), Likeness::Different);
        // One file of two names may be two programs.
        assert_eq!(of("old/link"), Likeness::Different);
    }
}
