//! `--by` of `compare` and `report`: which stored runs form which groups.

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use lab::analyze::{Fleet, RunGroup, compare_groups, refusal};
use lab::run::Run;
use serde_json::Value;

use super::context::{Context, note, readable};
use super::same_job::{ensure_different, places};
use crate::report::fleet::{FleetReport, is_lasting};

/// What the runs of a group have in common.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    Machine,
    Cpu,
    Kernel,
    Filesystem,
    Label,
}

/// The groups with what they say.
pub(super) struct Grouped {
    by: By,
    groups: Vec<RunGroup>,
    fleet: Fleet,
}

impl Grouped {
    /// All complete runs of the experiment, which may be left out if there is only one.
    pub(super) fn load(
        by: By,
        experiment: Option<&str>,
        despite_differences: bool,
        context: &Context,
    ) -> Result<Grouped> {
        let runs = runs(experiment, context)?;
        ensure_different(&runs)?;
        if let Some((first, rest)) = runs.split_first()
            && let Some(why) = refusal(std::slice::from_ref(first), rest)
        {
            ensure!(despite_differences, "{why}; --despite-differences compares them all the same");
        }
        let places = runs
            .first()
            .map_or(Vec::new(), |run| places(&context.experiments.experiments, &run.experiment));
        let groups = groups(by, runs)?;
        let fleet = compare_groups(&groups, &places, &is_lasting);
        ensure!(
            !fleet.points.is_empty(),
            "no run has two methods that were measured in the same rounds"
        );
        Ok(Grouped { by, groups, fleet })
    }

    pub(super) fn report(&self) -> FleetReport<'_> {
        let first = &self.groups[0].runs[0];
        FleetReport {
            experiment: &first.experiment,
            question: &first.question,
            by: self.by.word(),
            groups: &self.groups,
            fleet: &self.fleet,
        }
    }
}

fn runs(experiment: Option<&str>, context: &Context) -> Result<Vec<Run>> {
    let mut store = context.open_store()?;
    let mut listed = store.list()?;
    listed.retain(|run| experiment.is_none_or(|name| run.experiment == name));
    let all = listed.len();
    listed.retain(|run| run.complete);
    if listed.len() < all {
        note(&format!("incomplete runs are left out: {}", all - listed.len()))?;
    }
    let mut names: Vec<&str> = listed.iter().map(|run| run.experiment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > 1 {
        bail!("there are runs of {}: choose with --experiment NAME", names.join(" and "));
    }
    readable(&listed, |run| store.load(&run.id))
}

/// In the order in which their first runs were stored.
fn groups(by: By, runs: Vec<Run>) -> Result<Vec<RunGroup>> {
    let mut groups: Vec<RunGroup> = Vec::new();
    let mut unknown = Vec::new();
    for run in runs {
        let Some(name) = by.name(&run) else {
            unknown.push(run.id);
            continue;
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.runs.push(run),
            None => groups.push(RunGroup { name, runs: vec![run] }),
        }
    }
    let by = by.word();
    if !unknown.is_empty() {
        note(&format!("runs left out, as their {by} is not known: {}", unknown.join(", ")))?;
    }
    ensure!(
        groups.len() > 1,
        "--by {by} needs runs of two or more, and there are runs of {}; `bytelab history` lists all",
        groups.len()
    );
    Ok(groups)
}

impl By {
    fn word(self) -> &'static str {
        match self {
            By::Machine => "machine",
            By::Cpu => "cpu",
            By::Kernel => "kernel",
            By::Filesystem => "filesystem",
            By::Label => "label",
        }
    }

    /// The name of the group of a run.
    fn name(self, run: &Run) -> Option<String> {
        let fact =
            |name: &str| run.environment.facts.get(name).and_then(Value::as_str).map(str::to_owned);
        match self {
            By::Machine => {
                let start: String = run.environment.fingerprint.chars().take(8).collect();
                let model = fact("cpu_model").unwrap_or_default();
                (!start.is_empty()).then(|| format!("{start} {model}").trim_end().to_owned())
            }
            By::Cpu => fact("cpu_model"),
            By::Kernel => fact("kernel_release"),
            By::Filesystem => fact("data_file_system"),
            By::Label => run.label.clone(),
        }
    }
}
