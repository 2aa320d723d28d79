//! Runs that an older bytelab measured: metrics with a wrong definition are removed when a run is
//! loaded.

use lab::experiment::How;
use lab::metric::{self, Ran, leave_out_mended};
use lab::run::{Cell, Run};

use crate::experiments::{self, copying};
use crate::numbers;

/// The methods of built-in experiments whose work is done by child processes.
const STARTERS: [(&str, &[&str]); 3] = [
    ("copying", &["cat", "dd", "gnu-cat", "uutils-cat", "pv", "cp"]),
    ("sampling", &["shuf", "awk", "sort", "sqlite", "duckdb"]),
    ("threads", &["posix-spawn", "fork-exec", "fork-only"]),
];

pub(crate) fn leave_out(run: &mut Run) {
    let now = metric::versions();
    let then = &run.plan.metric_versions;
    if now.iter().all(|(name, version)| then.get(name).is_some_and(|then| then >= version)) {
        return;
    }
    // A user's file may have the name of a built-in experiment.
    let declared = run.plan.definition.is_some();
    let known = if declared { None } else { experiments::by_name(&run.experiment).ok() };
    leave_out_mended(run, |cell| {
        let how = known.iter().flat_map(|known| &known.methods);
        let how = how.filter(|method| method.name == cell.method).map(|method| &method.how).next();
        ran(known.as_ref().map_or("", |known| known.name), how, cell)
    });
}

fn ran(experiment: &str, how: Option<&How>, cell: &Cell) -> Ran {
    // A row of `numbers` is a method of another experiment.
    let row = if experiment == numbers::EXPERIMENT { cell.point.text("row").ok() } else { None };
    let (experiment, method) = match row.and_then(numbers::row) {
        Some(row) => (row.experiment, row.method),
        None => (experiment, cell.method.as_str()),
    };
    let starts =
        STARTERS.iter().any(|(of, methods)| *of == experiment && methods.contains(&method));
    // Each sample of a plain command includes its start-up; that of a worker is reported with its
    // `prepare`.
    let has = |metric: &str| cell.values.contains_key(metric);
    match how {
        _ if has("startup_ns") && !has("prepare_ns") => Ran::Command,
        Some(How::BuiltIn(_)) if starts => Ran::ByOthers,
        Some(How::BuiltIn(_)) => Ran::BuiltIn,
        Some(How::Worker { argv }) if argv.iter().any(|word| word == copying::FILTER) => {
            Ran::ByOthers
        }
        _ => Ran::Worker,
    }
}

#[cfg(test)]
mod tests {
    use lab::param::Point;

    use super::*;

    #[test]
    fn a_row_of_numbers_is_the_method_that_it_measures() {
        let known = experiments::by_name(numbers::EXPERIMENT).unwrap();
        let check = |row: &str, expected: Ran| {
            let mut point = Point::default();
            point.set("row", row);
            let method = &known.methods[0];
            let cell = Cell::new(&method.name, point);
            assert_eq!(ran(known.name, Some(&method.how), &cell), expected, "{row}");
        };
        check("fork-exec", Ran::ByOthers);
        check("posix-spawn", Ran::ByOthers);
        check("system-call", Ran::BuiltIn);
        check("no such row", Ran::BuiltIn);
    }
}
