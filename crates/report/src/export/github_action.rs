//! The list that github-action-benchmark reads as `customSmallerIsBetter`. It identifies a figure
//! in former runs by its name: therefore a name contains the whole point.

use std::io::{self, Write};

use model::metric::unit;
use serde::Serialize;

use super::format::{Entries, Exported, PortableNumber, WALL};
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "github-action-benchmark",
    about: "JSON of customSmallerIsBetter",
    extensions: &[],
    kind: FormatKind::Json,
    is_of_samples: false,
    write: |exported, out| Ok(write(exported, out)?),
};

/// Each metric is a chart: those of which less is better, and that are meaningful for every method.
const METRICS: [&str; 5] = [WALL, "cpu_ns", "peak_rss_bytes", "syscalls", "allocations"];

#[derive(Serialize)]
struct GithubActionEntry {
    name: String,
    unit: &'static str,
    value: PortableNumber,
    /// The largest distance of its interval's bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut figures = Entries::begin(&mut *out)?;
    for entry in exported.measured() {
        for metric in METRICS {
            let p50 = entry.summary(metric).and_then(|summary| {
                Some((
                    summary,
                    summary.percentiles.iter().find(|found| (found.p - 50.0).abs() < 1e-9)?,
                ))
            });
            let Some((summary, p50)) = p50.filter(|(_, p50)| p50.value.is_finite()) else {
                continue;
            };
            let range = match (p50.low, p50.high) {
                (Some(low), Some(high)) => Some((p50.value - low).max(high - p50.value)),
                _ => None,
            };
            let range = range.filter(|range| range.is_finite());
            let interval = if range.is_some() { ", with its 95 % interval" } else { "" };
            let point = entry.cell.point.to_string();
            let point = if point.is_empty() { point } else { format!(" ({point})") };
            figures.push(&GithubActionEntry {
                name: format!(
                    "{}: {}{point}, {metric}",
                    exported.run.experiment, entry.cell.method
                ),
                unit: unit(metric),
                value: PortableNumber(p50.value),
                range: range.map(|range| format!("± {}", PortableNumber(range))),
                extra: format!("p50 of {} samples{interval}", summary.n),
            })?;
        }
    }
    figures.end()?;
    out.write_all(b"\n")?;
    Ok(exported.left_out())
}
