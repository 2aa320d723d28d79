//! JSON in the format of hyperfine: times in seconds, per operation.

use std::collections::BTreeMap;
use std::io::{self, Write};

use analysis::stats::{median, moments};
use model::metric::EXIT_CODE;
use model::run::Sample;
use serde::Serialize;

use super::format::{CPU, Entries, Exported, ExportedCell, PortableNumber, WALL};
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "hyperfine",
    about: "JSON as of hyperfine --export-json",
    extensions: &[],
    kind: FormatKind::Json,
    is_of_samples: false,
    write: |exported, out| Ok(write(exported, out)?),
};

const PEAK_RSS: &str = "peak_rss_bytes";

#[derive(Serialize)]
struct HyperfineTiming<'a> {
    command: &'a str,
    mean: PortableNumber,
    /// `None` for a single sample.
    stddev: Option<PortableNumber>,
    median: PortableNumber,
    user: Option<PortableNumber>,
    system: Option<PortableNumber>,
    min: PortableNumber,
    max: PortableNumber,
    times: Vec<PortableNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, String>,
}

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    out.write_all(b"{\"results\":")?;
    let mut results = Entries::begin(&mut *out)?;
    for entry in exported.measured() {
        if let Some(mut timed) = timed(entry) {
            let of_command =
                exported.options.parameters.and_then(|all| all.get(&entry.cell.method));
            let of_command = of_command.into_iter().flatten();
            timed.parameters.extend(of_command.map(|(name, value)| (name.as_str(), value.clone())));
            results.push(&timed)?;
        }
    }
    results.end()?;
    out.write_all(b"}\n")?;
    let mut left_out = exported.left_out();
    let together =
        |entry: &&ExportedCell<'_>| matches!(cpu(entry), Some(CpuTimes { is_split: false, .. }));
    if exported.measured().any(|entry| together(&entry)) {
        let text =
            "all CPU time is given as user, because user and system time are not known separately";
        left_out.push(text.to_owned());
    }
    Ok(left_out)
}

fn timed<'a>(entry: &'a ExportedCell<'_>) -> Option<HyperfineTiming<'a>> {
    let seconds: Vec<f64> = entry.finite(WALL).map(|(_, ns)| ns / 1e9).collect();
    let found = moments(&seconds)?;
    let cpu = cpu(entry);
    let peaks: Vec<u64> = entry.finite(PEAK_RSS).map(|(_, bytes)| bytes.round() as u64).collect();
    let params = entry.cell.point.iter().map(|(name, value)| (name, value.to_string()));
    Some(HyperfineTiming {
        command: &entry.name,
        mean: PortableNumber(found.mean),
        stddev: found.standard_deviation.map(PortableNumber),
        median: PortableNumber(median(&seconds)),
        user: cpu.as_ref().map(|cpu| PortableNumber(cpu.user)),
        system: cpu.map(|cpu| PortableNumber(cpu.system)),
        min: PortableNumber(seconds.iter().copied().fold(f64::INFINITY, f64::min)),
        max: PortableNumber(seconds.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        memory_usage_byte: (peaks.len() == seconds.len()).then_some(peaks),
        exit_codes: exit_codes(entry),
        times: seconds.into_iter().map(PortableNumber).collect(),
        parameters: params.collect(),
    })
}

/// The exit codes of a command that may fail, and in a run imported from hyperfine; of all others a
/// failed execution does not count.
fn exit_codes(entry: &ExportedCell<'_>) -> Vec<Option<i32>> {
    let mut codes = entry.finite(EXIT_CODE).peekable();
    let are_known = codes.peek().is_some();
    let code = |(sample, _): (&Sample, f64)| {
        let own = codes.next_if(|(of, _)| std::ptr::eq(*of, sample)).map(|(_, code)| code as i32);
        if are_known { own } else { Some(0) }
    };
    entry.finite(WALL).map(code).collect()
}

/// Means in seconds.
struct CpuTimes {
    user: f64,
    system: f64,
    is_split: bool,
}

/// Some methods report user and system time separately.
fn cpu(entry: &ExportedCell<'_>) -> Option<CpuTimes> {
    let mean = |metric: &str| Some(moments(&entry.values(metric))?.mean / 1e9);
    if let (Some(user), Some(system)) = (mean("user_ns"), mean("system_ns")) {
        return Some(CpuTimes { user, system, is_split: true });
    }
    Some(CpuTimes { user: mean(CPU)?, system: 0.0, is_split: false })
}
