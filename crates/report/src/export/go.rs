//! The text of `go test -bench`, as benchstat reads it: a line per sample. Values that differ
//! between runs to be compared, such as their ids, are not written as config lines: benchstat would
//! make separate tables of them.

use std::io::{self, Write};

use model::metric::{Better, METRICS, Metric, unit};
use model::run::{MetricColumn, Status};

use super::format::{Exported, ExportedCell, PortableNumber, WALL, path, percent_encoded};
use super::{ExportFormat, FormatKind};
use crate::views::words::escape_controls;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "go",
    about: "text as of go test -bench, for benchstat",
    extensions: &[],
    kind: FormatKind::Text,
    is_of_samples: false,
    write: |exported, out| Ok(write(exported, out)?),
};

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let run = exported.run;
    let label = run.label.as_deref().unwrap_or_default();
    writeln!(
        out,
        "{}",
        escape_controls(format!("# bytelab run {} {} {label}", run.id, run.started).trim())
    )?;
    let facts = [
        ("goos", exported.fact("kernel_name").to_lowercase()),
        ("goarch", architecture(&exported.fact("kernel_architecture"))),
        ("pkg", format!("bytelab/{}", run.experiment)),
        ("cpu", exported.fact("cpu_model")),
    ];
    for (key, value) in facts.iter().filter(|(_, value)| !value.trim().is_empty()) {
        writeln!(out, "{key}: {}", escape_controls(value.trim()))?;
    }
    let units: Vec<GoUnit<'_>> = exported.metrics().into_iter().map(GoUnit::from_metric).collect();
    for GoUnit { metric, name, .. } in &units {
        let known = METRICS.iter().find(|known| known.name == *metric);
        match known.map(|known| known.better) {
            Some(Better::Less) => writeln!(out, "Unit {name} better=lower")?,
            Some(Better::More) => writeln!(out, "Unit {name} better=higher")?,
            Some(Better::Neither) | None => {}
        }
    }
    let threads = exported.fact("cpu_affinity_count").parse::<u32>().unwrap_or(1);
    for entry in &exported.cells {
        let name = name(exported, entry);
        match &entry.refused {
            None => samples(entry, &format!("{name}-{threads}"), &units, out)?,
            Some(why) => {
                let word =
                    if matches!(entry.cell.status, Status::Skipped(_)) { "SKIP" } else { "FAIL" };
                writeln!(out, "--- {word}: {name}\n    {}", escape_controls(why))?;
            }
        }
    }
    out.write_all(b"PASS\n")?;
    Ok(Vec::new())
}

fn samples(
    entry: &ExportedCell<'_>,
    name: &str,
    units: &[GoUnit<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns: Vec<(&GoUnit<'_>, &MetricColumn)> =
        units.iter().map(|unit| (unit, entry.cell.column(unit.metric))).collect();
    let estimate = entry.cell.estimate();
    let shown = entry.cell.samples.iter().enumerate();
    let shown = shown.filter(|(at, s)| s.counts_in(s.pass) || Some(*at) == estimate);
    for (at, sample) in shown {
        let mut values = columns
            .iter()
            .filter_map(|(unit, values)| Some((unit, *values.get(at)?)))
            .filter(|(_, value)| value.is_finite())
            .peekable();
        if values.peek().is_none() {
            continue;
        }
        write!(out, "{name}\t{}", sample.ops.max(1))?;
        for (unit, value) in values {
            write!(out, "\t{} {}", PortableNumber(value / unit.size), unit.name)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `BenchmarkReading/method=read/size=65536`. Characters that would end a part of a name, or the
/// name, are percent-encoded.
fn name(exported: &Exported<'_>, entry: &ExportedCell<'_>) -> String {
    let encoded = |text: &str| percent_encoded(text, |c| c == '/');
    let experiment = encoded(&exported.run.experiment);
    let mut letters = experiment.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let at_point = path(&entry.cell.method, &entry.cell.point, '=', encoded);
    format!("Benchmark{first}{}/method={at_point}", letters.as_str())
}

/// A metric under the name that Go uses, which for many metrics is per operation.
struct GoUnit<'a> {
    metric: &'a str,
    name: String,
    /// Its size in the metric's own unit.
    size: f64,
}

impl GoUnit<'_> {
    fn from_metric(metric: &str) -> GoUnit<'_> {
        let named = |name: &str, size: f64| GoUnit { metric, name: name.to_owned(), size };
        match metric {
            WALL => named("ns/op", 1.0),
            "throughput_bytes_per_s" => named("MB/s", 1e6),
            "allocated_bytes" => named("B/op", 1.0),
            "allocations" => named("allocs/op", 1.0),
            _ => match METRICS.iter().find(|known| known.name == metric) {
                Some(known) => named(&dashed(known), 1.0),
                // Each value must have a unit, so a value without one gets a unit with its own
                // name.
                None if metric.is_empty() => named("%", 1.0),
                None => named(&percent_encoded(metric, |c| c == '/'), 1.0),
            },
        }
    }
}

fn dashed(metric: &Metric) -> String {
    let (name, ending) = match unit(metric.name) {
        "ns" => (metric.name.trim_end_matches("_ns"), "-ns"),
        "bytes" => (metric.name.trim_end_matches("_bytes"), "-B"),
        _ => (metric.name, ""),
    };
    let per_op = if metric.name.starts_with("peak_") { "" } else { "/op" };
    format!("{}{ending}{per_op}", name.replace('_', "-"))
}

fn architecture(machine: &str) -> String {
    match machine {
        "x86_64" => "amd64".to_owned(),
        "aarch64" => "arm64".to_owned(),
        other => other.to_lowercase(),
    }
}
