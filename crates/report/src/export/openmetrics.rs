//! OpenMetrics text: a summary per metric, in seconds and bytes, with the method and its params as
//! labels. The id of the run is not a label, so that a series continues with the next run.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use model::metric::{METRICS, unit};

use super::format::{Exported, ExportedCell, PortableNumber};
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "openmetrics",
    about: "text that Prometheus reads",
    extensions: &["openmetrics"],
    kind: FormatKind::Text,
    is_of_samples: false,
    write: |exported, out| Ok(write(exported, out)?),
};

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let run = exported.run;
    writeln!(out, "# TYPE bytelab_run info\n# HELP bytelab_run The run that was exported.")?;
    let facts = [
        ("run", run.id.as_str()),
        ("experiment", &run.experiment),
        ("label", run.label.as_deref().unwrap_or_default()),
        ("started", &run.started),
        ("machine", &run.environment.fingerprint),
        ("complete", if run.complete { "true" } else { "false" }),
    ];
    writeln!(out, "bytelab_run_info{{{}}} 1", labels(&facts))?;
    let cells = labelled(exported);
    if !cells.is_empty() {
        writeln!(out, "# TYPE bytelab_cell info\n# HELP bytelab_cell What became of each method.")?;
    }
    for (entry, labels) in &cells {
        let status = &entry.cell.status;
        let reason = status.reason().or(entry.refused.as_deref()).unwrap_or_default();
        let more = self::labels(&[("status", status.word()), ("reason", reason)]);
        writeln!(out, "bytelab_cell_info{{{labels},{more}}} 1")?;
    }
    let mut taken = BTreeSet::from(["bytelab_run".to_owned(), "bytelab_cell".to_owned()]);
    for metric in exported.metrics() {
        family(metric, &cells, &mut taken, out)?;
    }
    out.write_all(b"# EOF\n")?;
    Ok(Vec::new())
}

fn family(
    metric: &str,
    cells: &[(&ExportedCell<'_>, String)],
    taken: &mut BTreeSet<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (base, ending, size) = match unit(metric) {
        "ns" => (metric.trim_end_matches("_ns"), "seconds", 1e9),
        "bytes" => (metric.trim_end_matches("_bytes"), "bytes", 1.0),
        "bytes/s" => (metric.trim_end_matches("_bytes_per_s"), "bytes_per_second", 1.0),
        _ => (metric, "", 1.0),
    };
    let name = unique(&format!("bytelab_{}", sanitized(base)), ending, taken);
    let measured = || cells.iter().filter(|(entry, _)| entry.refused.is_none());
    // A summary must not contain negative values, nor a sum that decreases.
    let is_summary =
        measured().all(|(entry, _)| entry.finite(metric).all(|(_, value)| value >= 0.0));
    writeln!(out, "# TYPE {name} {}", if is_summary { "summary" } else { "gauge" })?;
    if !ending.is_empty() {
        writeln!(out, "# UNIT {name} {ending}")?;
    }
    let known = METRICS.iter().find(|known| known.name == metric);
    let source = known.map_or("Reported by the method itself.", |known| known.source);
    writeln!(out, "# HELP {name} {}", escaped(source))?;
    for (entry, labels) in measured() {
        let Some(summary) = entry.summary(metric) else { continue };
        for found in summary.percentiles.iter().filter(|found| found.value.is_finite()) {
            let (quantile, value) = (found.p / 100.0, PortableNumber(found.value / size));
            writeln!(out, "{name}{{{labels},quantile=\"{quantile:?}\"}} {value}")?;
        }
        let values = entry.values(metric);
        let sum = values.iter().sum::<f64>() / size;
        if is_summary && !values.is_empty() && sum.is_finite() {
            writeln!(out, "{name}_count{{{labels}}} {}", values.len())?;
            writeln!(out, "{name}_sum{{{labels}}} {}", PortableNumber(sum))?;
        }
    }
    Ok(())
}

/// The cells with their labels, which are unique.
fn labelled<'a, 'b>(exported: &'b Exported<'a>) -> Vec<(&'b ExportedCell<'a>, String)> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let labelled = exported.cells.iter().map(|entry| {
        let mut pairs = vec![("experiment".to_owned(), exported.run.experiment.clone())];
        pairs.extend(exported.run.label.clone().map(|label| ("label".to_owned(), label)));
        pairs.push(("method".to_owned(), entry.cell.method.clone()));
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (name, value) in entry.cell.point.iter() {
            let name = unique(&format!("param_{}", sanitized(name)), "", &mut names);
            pairs.push((name, value.to_string()));
        }
        let text = |pairs: &[(String, String)]| {
            let pairs: Vec<(&str, &str)> =
                pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            labels(&pairs)
        };
        let mut found = text(&pairs);
        if !taken.insert(found.clone()) {
            pairs.push(("cell".to_owned(), entry.index.to_string()));
            found = text(&pairs);
            taken.insert(found.clone());
        }
        (entry, found)
    });
    labelled.collect()
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (at, (name, value)) in pairs.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{name}=\"{}\"", escaped(value));
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

/// Keeps only the characters that a name may contain; the caller adds the first letter.
fn sanitized(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Appends the unit, and a number if the name is already used; no name looks like a part of another
/// family.
fn unique(base: &str, ending: &str, taken: &mut BTreeSet<String>) -> String {
    const PARTS: [&str; 8] =
        ["_total", "_count", "_sum", "_bucket", "_created", "_info", "_gcount", "_gsum"];
    let is_part = ending.is_empty() && PARTS.iter().any(|part| base.ends_with(part));
    let base = if is_part { format!("{base}_value") } else { base.to_owned() };
    let ending = if ending.is_empty() { String::new() } else { format!("_{ending}") };
    let numbered = |n: u32| match n {
        1 => format!("{base}{ending}"),
        n => format!("{base}_{n}{ending}"),
    };
    let mut n = 1;
    while !taken.insert(numbered(n)) {
        n += 1;
    }
    numbered(n)
}
