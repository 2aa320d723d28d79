//! Old and new as one experiment: each method is paired with its old side, which is from another
//! file, another program or another bytelab.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lab::analyze::OLD;
use lab::experiment::{Data, Ending, Experiment, How, MakeData, Method, OldSide};
use lab::launch::{Launch, Launcher, RunError, Stop};
use lab::path_text::{from_path, to_path};
use lab::run::Role;

use crate::experiments::{self, Catalogue, custom};
use crate::measuring::launcher;

/// What `--against` names.
pub(super) enum Against<'a> {
    /// Another file that declares the same methods.
    File(&'a str),
    /// The program that replaces `{program}` on each side.
    Programs { old: PathBuf, new: PathBuf },
    /// Another bytelab.
    Bytelab(PathBuf),
}

impl<'a> Against<'a> {
    /// `is_file`: a file is checked, not a built-in experiment.
    pub(super) fn parse(text: &'a str, is_file: bool) -> Result<Against<'a>> {
        if !is_file {
            return Ok(Against::Bytelab(existing(text)?));
        }
        if !text.starts_with("old=") && !text.starts_with("new=") {
            ensure!(
                custom::is_file_name(text),
                "--against {text}: name the old FILE.toml, or old=PATH,new=PATH"
            );
            return Ok(Against::File(text));
        }
        // A path may contain a comma.
        let is_old_first = text.starts_with("old=");
        let (first, second) = text[4..]
            .split_once(if is_old_first { ",new=" } else { ",old=" })
            .with_context(|| format!("--against {text}: write old=PATH,new=PATH"))?;
        let (old, new) = if is_old_first { (first, second) } else { (second, first) };
        Ok(Against::Programs { old: existing(old)?, new: existing(new)? })
    }
}

/// The absolute path of an existing file.
fn existing(path: &str) -> Result<PathBuf> {
    let absolute =
        std::path::absolute(to_path(path)).with_context(|| format!("--against {path}"))?;
    std::fs::metadata(&absolute).with_context(|| format!("--against {path}"))?;
    Ok(absolute)
}

/// The experiment of old and new.
pub(super) struct TwoSides {
    /// Each new method, directly followed by its old side.
    pub(super) experiment: Experiment,
    /// New methods without an old side.
    pub(super) without_old: Vec<String>,
}

/// The two sides from two files, or from one file with two programs.
pub(super) fn of_files(file: &str, against: &Against<'_>, known: &Catalogue) -> Result<TwoSides> {
    let load = |path: &str, program: Option<&PathBuf>| match program {
        None => known.load(&to_path(path)),
        Some(program) => {
            let program = from_path(program);
            custom::load_with(&to_path(path), &(known.reserved_names)(), &program)
        }
    };
    let (mut new, mut old) = match against {
        Against::File(other) => (load(file, None)?, load(other, None)?),
        Against::Programs { old, new } => (load(file, Some(new))?, load(file, Some(old))?),
        Against::Bytelab(_) => bail!("{file} is no experiment of bytelab's own"),
    };
    if matches!(against, Against::Programs { .. }) {
        for experiment in [&mut new.experiment, &mut old.experiment] {
            experiment.params.retain(|param| param.name != custom::PROGRAM);
            for method in &mut experiment.methods {
                method.reads.retain(|name| *name != custom::PROGRAM);
            }
        }
    }
    let params = &new.experiment.params;
    if let Some(param) =
        old.experiment.params.iter().find(|old| params.iter().all(|new| new.name != old.name))
    {
        bail!(
            "{} has a param {} and {file} has none: both must do the same job",
            old.definition.file,
            param.name
        );
    }
    let Experiment { methods, data, dir, .. } = old.experiment;
    let of_method = |method: &Method| {
        let found = methods.iter().find(|old| old.name == method.name)?;
        let side = OldSide { name: found.name.clone(), program: None, dir: dir.clone() };
        Some(old_side(found, side))
    };
    let (both, without_old) = beside(new.experiment.methods, of_method);
    let data = both_data(new.experiment.data, data);
    let experiment = Experiment { methods: both, data, ..new.experiment };
    Ok(TwoSides { experiment, without_old })
}

/// The two sides of a built-in experiment, whose built-in methods another bytelab also has.
pub(super) fn of_bytelab(name: &str, program: &Path, stop: &Stop) -> Result<TwoSides> {
    let experiment = experiments::by_name(name)?;
    let mut launcher = Launcher { program: program.to_owned(), ..launcher(60_000_000_000, stop)? };
    let mut broken = None;
    let of_method = |method: &Method| {
        let there = broken.is_none() && {
            let found = has(&mut launcher, name, method);
            found.unwrap_or_else(|error| {
                broken = Some(error);
                false
            })
        };
        let program = Some(program.to_owned());
        there.then(|| old_side(method, OldSide { name: method.name.clone(), program, dir: None }))
    };
    // Only built-in methods: the others would be the same program on both sides.
    let built_in = experiment.methods.into_iter();
    let built_in = built_in.filter(|method| matches!(method.how, How::BuiltIn(_))).collect();
    let (methods, without_old) = beside(built_in, of_method);
    if let Some(error) = broken {
        return Err(error);
    }
    ensure!(
        !methods.is_empty(),
        "--against {}: it has none of the methods of {name}",
        program.display()
    );
    let experiment = Experiment { methods, ..experiment };
    Ok(TwoSides { experiment, without_old })
}

/// Whether the launcher's program has the method.
fn has(launcher: &mut Launcher, experiment: &str, method: &Method) -> Result<bool> {
    let program = launcher.program.display().to_string();
    let started = launcher.start(experiment, method, false).and_then(|mut worker| {
        worker.started()?;
        worker.bye();
        Ok(())
    });
    match started {
        Ok(()) => Ok(true),
        Err(RunError::Stopped) => bail!("stopped by a signal"),
        Err(RunError::Failed(why)) if why.contains("there is no method") => Ok(false),
        Err(RunError::Failed(why) | RunError::Skipped(why)) => {
            let version = lab::protocol::VERSION;
            bail!("--against {program}: as a worker of protocol {version} it cannot be used: {why}")
        }
    }
}

fn old_side(method: &Method, side: OldSide) -> Method {
    let how = How::Old { how: Box::new(method.how.clone()), side };
    Method { name: format!("{}{OLD}", method.name), how, ..method.clone() }
}

/// The competing methods, each with its old side, and the names of those without an old side.
fn beside(
    methods: Vec<Method>,
    mut old: impl FnMut(&Method) -> Option<Method>,
) -> (Vec<Method>, Vec<String>) {
    let (mut both, mut without_old) = (Vec::new(), Vec::new());
    for method in methods.into_iter().filter(|method| method.role == Role::Contender) {
        match old(&method) {
            Some(old) => both.extend([method, old]),
            None => without_old.push(method.name),
        }
    }
    (both, without_old)
}

/// Makes separate data for each side, so that files made by the hook of one side do not affect the
/// other.
fn both_data(new: MakeData, old: MakeData) -> MakeData {
    Box::new(move |point, dir, stop| {
        let mut data = new(point, dir, stop)?;
        let Data { arguments, files, notes, ending, unfit, guard, .. } = old(point, dir, stop)?;
        data.old_arguments = Some(arguments);
        data.files.extend(files);
        data.files.dedup();
        data.notes.extend(notes);
        data.unfit = data.unfit.or(unfit);
        data.guard = Some(Box::new((data.guard, guard)));
        let (mut first, mut second) = (data.ending, ending);
        data.ending = Ending::new(move || {
            let ended = first.end();
            second.end()?;
            ended
        });
        Ok(data)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_named_by_file_or_by_program() {
        let of = |text: &str| match Against::parse(text, true) {
            Ok(Against::File(file)) => format!("file {file}"),
            Ok(Against::Programs { old, new }) => format!("{} {}", old.display(), new.display()),
            Ok(Against::Bytelab(_)) => "bytelab".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(of("b/old.toml"), "file b/old.toml");
        assert_eq!(of("old=/bin,new=/usr"), "/bin /usr");
        assert_eq!(of("new=/usr,old=/bin"), "/bin /usr");
        assert_eq!(of("old=/bin"), "--against old=/bin: write old=PATH,new=PATH");
        assert!(of("old").contains("name the old FILE.toml"), "{}", of("old"));
        assert!(of("old=/nowhere/a,new=/bin").contains("/nowhere/a: No such file"));
    }
}
