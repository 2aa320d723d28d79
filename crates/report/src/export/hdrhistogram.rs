//! An HdrHistogram log, version 2: a histogram of the wall times of each cell, in whole ns, tagged
//! with its name.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::format::{Exported, WALL, path, percent_encoded};
use super::{ExportFormat, FormatKind};
use crate::views::words::escape_controls;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "hdrhistogram",
    about: "an HdrHistogram log (V2), in ns",
    extensions: &["hlog"],
    kind: FormatKind::Text,
    is_of_samples: false,
    write: |exported, out| write(exported, out),
};

/// Three significant digits, which is usual for such logs.
const DIGITS: u8 = 3;
/// Below this, whole ns are less precise than the digits.
const FINE_NS: f64 = 1000.0;
/// The unit of the column of maxima, as other programs write it: ms.
const NS_PER_MS: f64 = 1e6;

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
    let run = exported.run;
    let comment = format!("bytelab run {} of {}", run.id, run.experiment);
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment(&escape_controls(&comment)).with_max_value_divisor(NS_PER_MS);
    if let Ok(started) = humantime::parse_rfc3339(&run.started) {
        builder.with_start_time(started).with_base_time(started);
    }
    let mut out = out;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = builder.begin_log_with(&mut out, &mut serializer)?;
    let mut left_out = exported.left_out();
    for entry in exported.measured() {
        let mut histogram = Histogram::<u64>::new(DIGITS)?;
        let (mut total_ns, mut coarse, mut refused) = (0.0, false, 0);
        for (sample, ns) in entry.finite(WALL) {
            coarse |= ns < FINE_NS && ns.fract() != 0.0;
            total_ns += ns.max(0.0) * sample.ops as f64;
            if ns < 0.0 || histogram.record(ns.round() as u64).is_err() {
                refused += 1;
            }
        }
        let at_point = path(&entry.cell.method, &entry.cell.point, '=', str::to_owned);
        let tag = percent_encoded(&at_point, |c| c == ',');
        let tag = Tag::new(&tag).context("a tag holds what it may not")?;
        let length = Duration::try_from_secs_f64(total_ns / 1e9).unwrap_or_default();
        log.write_histogram(&histogram, Duration::ZERO, length, Some(tag))
            .map_err(|error| anyhow::anyhow!("{}: {error:?}", entry.name))?;
        if coarse {
            left_out.push(format!("{}: its times are rounded to whole ns", entry.name));
        }
        if refused > 0 {
            left_out.push(format!("{}: samples that fit no histogram: {refused}", entry.name));
        }
    }
    Ok(left_out)
}
