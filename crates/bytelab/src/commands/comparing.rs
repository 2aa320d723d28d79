//! What the commands that compare runs share: the limits on how much a metric may get worse, that
//! runs are different measurements, and the groups of `--by`.

use std::collections::HashMap;

use analysis::{Allowed, Fleet, RunGroup, compare_groups, refusal};
use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use measure::experiment::Experiment;
use model::metric;
use model::param::ParamKind;
use model::run::{MetricColumn, Run};
use report::fleet::{FleetReport, is_lasting};
use serde_json::Value;

use super::{Context, note, readable};

const SHORT: [(&str, &str); 6] = [
    ("wall", "wall_ns"),
    ("cpu", "cpu_ns"),
    ("rss", "peak_rss_bytes"),
    ("syscalls", "syscalls"),
    ("allocations", "allocations"),
    ("throughput", "throughput_bytes_per_s"),
];

/// The full name of a metric, which may be given by its short name.
pub(crate) fn metric_named(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// Parses a limit such as `wall=5%`.
pub(crate) fn allowed(text: &str) -> Result<Allowed, String> {
    let wrong = || "write METRIC=N%, such as wall=5%".to_owned();
    let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
    let percent = percent.strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = percent.parse().map_err(|_| wrong())?;
    if !(0.0..=1e6).contains(&percent) {
        return Err(format!("{percent} % cannot be allowed: 0 or more"));
    }
    // The tables have these words.
    let metric = match name {
        "time" => metric::WALL,
        "memory" => metric::PEAK_RSS,
        name => metric_named(name),
    };
    if !metric::is_known(metric) && !metric.ends_with("_ns") && !metric.ends_with("_bytes") {
        let short = SHORT.map(|(short, _)| short).join(", ");
        return Err(format!(
            "there is no metric {name}; there are {short} and the full names of others"
        ));
    }
    Ok(Allowed { metric: metric.to_owned(), percent })
}

/// Fails if a metric has two limits.
pub(crate) fn ensure_once(flag: &str, limits: &[Allowed]) -> Result<()> {
    for (i, allowed) in limits.iter().enumerate() {
        let twice = limits[..i].iter().any(|other| other.metric == allowed.metric);
        ensure!(!twice, "{flag} names {} twice", allowed.metric);
    }
    Ok(())
}

/// A run that was imported twice, or exported and imported, is one measurement, not two values of a
/// side.
pub(super) fn ensure_different<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Result<()> {
    let mut known: HashMap<Vec<u64>, &str> = HashMap::new();
    for run in runs {
        let columns = run.cells.iter().flat_map(|cell| cell.values.values());
        let values = columns.flat_map(MetricColumn::iter);
        let values: Vec<u64> = values.map(|value| value.to_bits()).collect();
        if values.is_empty() {
            continue;
        }
        if let Some(first) = known.insert(values, &run.id) {
            bail!(
                "runs {first} and {} are the same measurement, value by value: it cannot count twice; name one \
                 of them, or delete one",
                run.id
            );
        }
    }
    Ok(())
}

/// The params of an experiment that are paths, in which two sides may differ.
pub(super) fn path_params(experiments: &[Experiment], experiment: &str) -> Vec<&'static str> {
    let known = experiments.iter().find(|known| known.name == experiment);
    let params = known.map_or(&[][..], |known| &known.params);
    params.iter().filter(|param| param.kind == ParamKind::Path).map(|param| param.name).collect()
}

// `--by` of `compare` and `report`: which stored runs form which groups.

/// What the runs of a group have in common.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GroupBy {
    Machine,
    Cpu,
    Kernel,
    Filesystem,
    Label,
}

/// The groups of runs, and the comparison between them.
pub(super) struct RunGroups {
    by: GroupBy,
    groups: Vec<RunGroup>,
    fleet: Fleet,
}

impl RunGroups {
    /// All complete runs of the experiment, which may be left out if there is only one.
    pub(super) fn load(
        by: GroupBy,
        experiment: Option<&str>,
        despite_differences: bool,
        context: &Context,
    ) -> Result<RunGroups> {
        let runs = runs(experiment, context)?;
        ensure_different(&runs)?;
        if let Some((first, rest)) = runs.split_first()
            && let Some(why) = refusal(std::slice::from_ref(first), rest)
        {
            ensure!(despite_differences, "{why}; --despite-differences compares them all the same");
        }
        let path_params = runs.first().map_or(Vec::new(), |run| {
            path_params(&context.experiments.experiments, &run.experiment)
        });
        let groups = groups(by, runs)?;
        let fleet = compare_groups(&groups, &path_params, &is_lasting);
        ensure!(
            !fleet.points.is_empty(),
            "no run has two methods that were measured in the same rounds"
        );
        Ok(RunGroups { by, groups, fleet })
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
fn groups(by: GroupBy, runs: Vec<Run>) -> Result<Vec<RunGroup>> {
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

impl GroupBy {
    fn word(self) -> &'static str {
        match self {
            GroupBy::Machine => "machine",
            GroupBy::Cpu => "cpu",
            GroupBy::Kernel => "kernel",
            GroupBy::Filesystem => "filesystem",
            GroupBy::Label => "label",
        }
    }

    /// The name of the group of a run.
    fn name(self, run: &Run) -> Option<String> {
        let fact =
            |name: &str| run.environment.facts.get(name).and_then(Value::as_str).map(str::to_owned);
        match self {
            GroupBy::Machine => {
                let start: String = run.environment.fingerprint.chars().take(8).collect();
                let model = fact("cpu_model").unwrap_or_default();
                (!start.is_empty()).then(|| format!("{start} {model}").trim_end().to_owned())
            }
            GroupBy::Cpu => fact("cpu_model"),
            GroupBy::Kernel => fact("kernel_release"),
            GroupBy::Filesystem => fact("data_file_system"),
            GroupBy::Label => run.label.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_metric_and_a_percentage() {
        let check = |text: &str, expected: Result<(&str, f64), &str>| {
            let got = allowed(text);
            match expected {
                Ok((metric, percent)) => {
                    assert_eq!(got, Ok(Allowed { metric: metric.to_owned(), percent }), "{text}");
                }
                Err(part) => assert!(got.unwrap_err().contains(part), "{text}"),
            }
        };
        check("wall=5%", Ok(("wall_ns", 5.0)));
        check("time=5%", Ok(("wall_ns", 5.0)));
        check("rss=0.5%", Ok(("peak_rss_bytes", 0.5)));
        check("memory=2%", Ok(("peak_rss_bytes", 2.0)));
        check("peak_rss_bytes=10 %", Ok(("peak_rss_bytes", 10.0)));
        check("switch_ns=1%", Ok(("switch_ns", 1.0)));
        check("wall=5", Err("wall=5%"));
        check("wall", Err("wall=5%"));
        check("wall=%", Err("wall=5%"));
        check("wall=-1%", Err("0 or more"));
        check("wall=NaN%", Err("0 or more"));
        check("wall=inf%", Err("0 or more"));
        check("speed=5%", Err("there is no metric speed; there are wall, cpu"));
    }
}
