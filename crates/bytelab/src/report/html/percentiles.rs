//! Every metric of every cell: p0 to p100. Collapsed, because it is long.

use lab::analyze::{Analysis, Summary};
use lab::run::Run;

use super::Html;
use super::table::{self, ROWS_MAX};
use crate::report::model::table::{Cell, Column, Table};
use crate::report::model::units::amount;
use crate::report::model::{Varying, charts, rows};

struct PercentileRow<'a> {
    method: String,
    run: &'a Run,
    summary: &'a Summary,
}

pub(super) fn write(html: &mut Html, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<PercentileRow<'_>> = Vec::new();
    for (run, analysis) in shown {
        let varying = Varying::of_run(run);
        for (index, cell) in run.cells.iter().enumerate() {
            let summaries = rows::summary(analysis, index).map(|own| own.metrics.iter());
            let method = format!("{}{}", cell.method, varying.of(&cell.point));
            lines.extend(summaries.into_iter().flatten().map(|summary| {
                let method = method.clone();
                PercentileRow { method, run, summary }
            }));
        }
    }
    if lines.is_empty() {
        return;
    }
    let left = lines.len().saturating_sub(ROWS_MAX);
    lines.truncate(ROWS_MAX);
    html.raw("<section aria-labelledby=\"percentiles-heading\">\n");
    html.raw("<h2 id=\"percentiles-heading\">Percentiles</h2>\n<details>\n");
    html.raw("<summary>Every metric of every method</summary>\n");
    let caption = if is_batched(&lines) {
        "Percentiles are samples that were measured; where a sample is the mean of several operations, they are \
         those of means."
    } else {
        "Percentiles are samples that were measured."
    };
    table::write(html, "", caption, &table_of(&lines, shown));
    table::left_out(html, left);
    html.raw("</details>\n</section>\n");
}

fn is_batched(lines: &[PercentileRow<'_>]) -> bool {
    lines.iter().any(|line| line.summary.ops > 1)
}

fn table_of(lines: &[PercentileRow<'_>], shown: &[(Run, Analysis)]) -> Table {
    let mut columns =
        vec![Column::left("method").filled(lines.iter(), |line| line.method.as_str())];
    if shown.len() > 1 {
        columns.push(Column::left("run").filled(lines.iter(), |line| charts::name(line.run)));
    }
    columns.push(Column::left("metric").filled(lines.iter(), |line| line.summary.metric.as_str()));
    let n =
        |line: &PercentileRow<'_>| Cell::number(line.summary.n.to_string(), line.summary.n as f64);
    columns.push(Column::right("n").filled(lines.iter(), n));
    if is_batched(lines) {
        let ops = |line: &PercentileRow<'_>| {
            Cell::number(line.summary.ops.to_string(), line.summary.ops as f64)
        };
        columns.push(Column::right("operations a sample").filled(lines.iter(), ops));
    }
    for p in [0, 25, 50, 75, 90, 99, 100] {
        let value = |line: &PercentileRow<'_>| match rows::percentile(line.summary, p) {
            Some(found) => Cell::number(amount(line.summary.unit, found.value), found.value),
            None => Cell::none(),
        };
        columns.push(Column::right(&format!("p{p}")).filled(lines.iter(), value));
    }
    Table::of_columns(columns)
}
