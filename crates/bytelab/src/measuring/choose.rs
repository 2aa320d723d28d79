//! Selects the methods that take part.

use anyhow::{Context, Result, bail, ensure};
use lab::analyze::OLD;
use lab::experiment::{Experiment, How, Method};
use lab::param::Point;
use lab::run::{Role, Run, Warning};

use super::request::Selection;
use crate::experiments;
use crate::pattern::{closest, matches};
use crate::store;
use crate::workers::{self, Languages};

/// The named methods or the default ones, the user's workers, and the reference first.
pub(crate) fn choose(experiment: &Experiment, selection: &Selection) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for worker in &selection.workers {
        let worker = user_worker(experiment, worker)?;
        ensure!(
            methods.iter().all(|method| method.name != worker.name),
            "--worker {}: the name is given twice",
            worker.name
        );
        methods.push(worker);
    }
    let known = || experiment.methods.iter().map(|method| method.name.as_str());
    for pattern in &selection.methods {
        ensure!(
            experiment.methods.iter().any(|method| matches(pattern, &method.name)),
            "there is no method {pattern}{}; {} has {}",
            closest(pattern, known())
                .map(|name| format!(" (did you mean {name}?)"))
                .unwrap_or_default(),
            experiment.name,
            known().collect::<Vec<_>>().join(", ")
        );
    }
    let languages = Languages::selected(&experiment.methods, &selection.languages)?;
    let ours = chosen(experiment, &selection.methods, languages.as_ref());
    let ours = workers::at_levels(ours, &selection.levels)?;
    methods.splice(0..0, ours);
    ensure!(
        methods.iter().any(|method| method.role == Role::Contender),
        "only yardsticks are chosen; name a method that competes, too"
    );
    if let Some(name) = &selection.reference {
        let reference = methods.iter().position(|m| m.name == *name && m.role == Role::Contender);
        let reference = reference.with_context(|| {
            format!("--reference {name}: not one of the methods that compete in this run")
        })?;
        let reference = methods.remove(reference);
        methods.insert(0, reference);
    }
    Ok(methods)
}

/// The default methods, or those of these names and languages. A name that is none of these
/// languages' is that of a method beside theirs: `-m cat --language haskell`.
fn chosen(
    experiment: &Experiment,
    names: &[String],
    languages: Option<&Languages<'_>>,
) -> Vec<Method> {
    let has = |method: &Method| languages.is_none_or(|languages| languages.have(method));
    let (within, beside): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| {
        experiment.methods.iter().any(|method| matches(name, &method.name) && has(method))
    });
    let is_one =
        |names: &[&String], method: &Method| names.iter().any(|name| matches(name, &method.name));
    let is_chosen = |method: &&Method| match (within.as_slice(), languages) {
        ([], None) => method.default && workers::is_here(method),
        ([], Some(_)) => has(method) || is_one(&beside, method),
        (within, _) => is_one(within, method) && has(method) || is_one(&beside, method),
    };
    experiment.methods.iter().filter(is_chosen).cloned().collect()
}

/// Removes the methods that compete at none of the points, so that no workers are built for them. A
/// note is added for those that the user named; a method that only matches a pattern may well be
/// for another job.
pub(super) fn leave_out(
    experiment: &Experiment,
    methods: &mut Vec<Method>,
    points: &[Point],
    selection: &Selection,
) -> Result<Vec<Warning>> {
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    let mut notes = Vec::new();
    for method in methods.iter().filter(|method| !competes(method)) {
        let Some(only_with) = experiment.only_with(method) else { continue };
        let text = format!("takes part only with {only_with}");
        ensure!(
            selection.reference.as_ref() != Some(&method.name),
            "--reference {}: {text}",
            method.name
        );
        if selection.methods.contains(&method.name) {
            notes.push(Warning::noted(text).of_method(&method.name));
        }
    }
    methods.retain(competes);
    Ok(notes)
}

/// The built-in experiment that the run measured, with all of its methods that the run has; none
/// for an experiment of the user's, and for what another program measured.
pub(crate) fn built_in(run: &Run) -> Option<Experiment> {
    if run.plan.definition.is_some() || run.plan.imported.is_some() {
        return None;
    }
    let mut experiment = experiments::by_name(&run.experiment).ok()?;
    let methods = run.cells.iter().map(|cell| &cell.method);
    let at_levels = methods.filter_map(|name| workers::at_level(&experiment.methods, name));
    let at_levels: Vec<Method> = at_levels.collect();
    experiment.methods.extend(at_levels);
    Some(experiment)
}

fn user_worker(experiment: &Experiment, text: &str) -> Result<Method> {
    let (name, command) =
        text.split_once('=').with_context(|| format!("--worker {text}: write NAME=COMMAND"))?;
    let argv = shlex::split(command).filter(|argv| !argv.is_empty()).with_context(|| {
        format!("--worker {text}: the command is empty or a quote is not closed")
    })?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.chars().all(plain),
        "--worker {text}: a name is made of letters, digits, -, _ and ."
    );
    if experiment.methods.iter().any(|method| method.name == name) {
        bail!("--worker {text}: {} has a method {name} already", experiment.name);
    }
    let reads = experiment.params.iter().map(|param| param.name).collect();
    Ok(Method { reads, ..Method::contender(name, command, How::Worker { argv }) })
}

/// Fails for the run of a check with two sides: a run does not store the location of the old side.
pub(super) fn ensure_one_side(run: &Run) -> Result<()> {
    ensure!(
        !run.cells.iter().any(|cell| cell.method.ends_with(OLD)),
        "run {} is of `check --against`, whose old side is not known any more: check again",
        run.id
    );
    Ok(())
}

/// The methods that have cells in the run, in the run's order.
pub(super) fn methods_of(experiment: &Experiment, run: &Run) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for cell in &run.cells {
        if methods.iter().any(|method| method.name == cell.method) {
            continue;
        }
        let known = experiment.methods.iter().find(|method| method.name == cell.method);
        if let Some(method) = known {
            methods.push(method.clone());
            continue;
        }
        if let Some(method) = workers::at_level(&experiment.methods, &cell.method) {
            methods.push(method);
            continue;
        }
        // A worker that was given with --worker is described by its command.
        let name = &cell.method;
        ensure!(
            !store::is_imported(&run.environment),
            "run {} was imported, and the command of its worker {name} is not started for that: measure it \
             with `bytelab run {} --worker {name}=COMMAND`",
            run.id,
            run.experiment
        );
        methods.push(user_worker(experiment, &format!("{name}={}", cell.about))?);
    }
    Ok(methods)
}
