//! The document of `fio --output-format=json` or `json+`: each direction of a job is one sample
//! that contains all of its operations, and jobs of one name that ran together (`numjobs`) are one
//! job. The latencies are statistics of that sample: fio stores no latency of a single operation,
//! and none is invented.

mod figure;
mod latency;
mod part;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use lab::param::Point;
use lab::run::{Run, Status};
use serde::Deserialize;
use serde_json::Value;

use self::part::{Direction, Part, Units};
use super::draft::{Draft, Execution};
use super::format::{Format, Source};
use super::{document, read};

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version", default)]
    version: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    timestamp: Option<u64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    #[serde(default)]
    jobs: Vec<FioJob>,
    /// Of `fio --client`: the jobs of all machines, and their sum.
    #[serde(default)]
    client_stats: Vec<FioJob>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
    #[serde(default)]
    groupid: Option<i64>,
    /// Only of `fio --client`.
    #[serde(default)]
    hostname: Option<String>,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, Value>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
    #[serde(default)]
    trim: Direction,
    /// All directions together (`unified_rw_reporting`).
    #[serde(default)]
    mixed: Direction,
    /// Of calls like fsync, there is only the latency.
    #[serde(default)]
    sync: Direction,
}

/// The name of the row that is the sum of all clients.
const ALL_CLIENTS: &str = "All clients";

pub(super) fn run(text: &str, source: &Source<'_>) -> Result<Run> {
    let (text, note) = document::without_nan(text);
    let document: Document = read::json(&text)?;
    let mut draft = Draft::new(Format::Fio, tool(document.version.as_deref()));
    draft.started(document.timestamp.and_then(read::since_1970));
    if !document.global.is_empty() {
        draft.fact("fio_global_options", options(&document.global));
    }
    if let Some(text) = note {
        draft.note(None, text);
    }
    let units = Units::new(document.version.as_deref());
    let is_row = |job: &&Numbered<'_>| job.job.jobname != ALL_CLIENTS;
    let clients = numbered("client_stats", &document.client_stats);
    let rows: Vec<Numbered<'_>> = clients.iter().filter(is_row).copied().collect();
    if rows.len() < clients.len() && !rows.is_empty() {
        draft.note(None, format!("{ALL_CLIENTS:?} is the sum of the other jobs and is not read"));
    }
    let rows = if rows.is_empty() { clients } else { rows };
    let jobs = numbered("jobs", &document.jobs).into_iter().chain(rows).collect();
    add_all(&mut draft, jobs, units)?;
    notes(&mut draft);
    draft.finish(source)
}

fn tool(version: Option<&str>) -> String {
    let number = version.map_or("", part::number).trim();
    if number.is_empty() { "fio".to_owned() } else { format!("fio {number}") }
}

fn notes(draft: &mut Draft) {
    for text in [
        "fio keeps no single operation: each job is one sample of all of its operations; wall is its time divided \
         by their number, which with several in flight is not the time of one (clat_…, lat_… in --percentiles)",
        "cpu_ns: fio has usr_cpu and sys_cpu, in percent and of all directions of a job together",
        "what fio reports besides (processor, faults, depths, bw_min, iops_stddev, disk_util and the like) is \
         not read",
    ] {
        draft.note(None, text.to_owned());
    }
}

/// A job and its position in the list of this name.
#[derive(Clone, Copy)]
struct Numbered<'a> {
    list: &'static str,
    at: usize,
    job: &'a FioJob,
}

fn numbered<'a>(list: &'static str, jobs: &'a [FioJob]) -> Vec<Numbered<'a>> {
    jobs.iter().enumerate().map(|(at, job)| Numbered { list, at, job }).collect()
}

fn options(all: &BTreeMap<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The jobs of one name that ran at the same time on one machine.
struct Group<'a> {
    jobs: Vec<Numbered<'a>>,
    /// Set if the file has jobs of several machines.
    hostname: Option<&'a str>,
}

fn add_all(draft: &mut Draft, jobs: Vec<Numbered<'_>>, units: Units) -> Result<()> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let host = |job: &Numbered<'_>| job.job.hostname.clone();
    let has_several = jobs.windows(2).any(|pair| host(&pair[0]) != host(&pair[1]));
    for job in jobs {
        let FioJob { jobname, groupid, hostname, .. } = job.job;
        let place = || format!("{}[{}]", job.list, job.at);
        ensure!(!jobname.trim().is_empty(), "{}: jobname is empty", place());
        let at = *known.entry((jobname, groupid, hostname)).or_insert(groups.len());
        if at == groups.len() {
            let hostname = has_several.then(|| hostname.as_deref().unwrap_or("none"));
            groups.push(Group { jobs: Vec::new(), hostname });
        }
        groups[at].jobs.push(job);
    }
    groups.iter().try_for_each(|group| add(draft, group, units))
}

fn add(draft: &mut Draft, group: &Group<'_>, units: Units) -> Result<()> {
    type Of = fn(&FioJob) -> &Direction;
    let mut any = false;
    let directions: [(&str, Of); 5] = [
        ("read", |job| &job.read),
        ("write", |job| &job.write),
        ("trim", |job| &job.trim),
        ("mixed", |job| &job.mixed),
        ("sync", |job| &job.sync),
    ];
    for (word, of) in directions {
        let mut parts = Vec::new();
        for job in group.jobs.iter().filter(|job| of(job.job).has_operations()) {
            let part = Part::new(of(job.job), units).context(word);
            parts.push(part.with_context(|| format!("{}[{}]", job.list, job.at))?);
        }
        if parts.is_empty() {
            continue;
        }
        any = true;
        let (cell, method) = new_cell(draft, group, word)?;
        let sum = part::sum(&parts);
        let (ops, bytes) = (sum.ops.unwrap_or(1), sum.bytes.unwrap_or_default());
        draft.push(cell, Execution { session: 0, ops, bytes }, &sum.values)?;
        for text in sum.notes {
            draft.note(Some(&method), text);
        }
    }
    if !any {
        let (cell, _) = new_cell(draft, group, "none")?;
        draft.status(cell, Status::Skipped("it did no operation".to_owned()));
        failure(draft, group, cell);
    }
    Ok(())
}

/// The cell of a direction, and the method's name.
fn new_cell(draft: &mut Draft, group: &Group<'_>, direction: &str) -> Result<(usize, String)> {
    let mut point = Point::default();
    point.set("direction", direction);
    if let Some(hostname) = group.hostname {
        point.set("hostname", hostname);
    }
    let first = group.jobs[0].job;
    let cell = draft.new_cell(&first.jobname, point)?;
    let is_common = |name: &String, value: &Value| {
        group.jobs.iter().all(|job| job.job.options.get(name) == Some(value))
    };
    let mut common = first.options.clone();
    common.retain(|name, value| is_common(name, value));
    draft.about(cell, options(&common));
    failure(draft, group, cell);
    Ok((cell, draft.method(cell).to_owned()))
}

fn failure(draft: &mut Draft, group: &Group<'_>, cell: usize) {
    let failed: Vec<i64> =
        group.jobs.iter().map(|job| job.job.error).filter(|error| *error != 0).collect();
    let Some(error) = failed.first() else { return };
    let (n, all) = (failed.len(), group.jobs.len());
    let of = if all > 1 { format!(" for {n} of {all} jobs") } else { String::new() };
    draft.status(cell, Status::Failed(format!("fio reports error {error}{of}")));
}
