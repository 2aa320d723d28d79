//! Runs to be exported, with everything that a run may contain.

use analysis::analyze;
use model::run::{Pass, Run, Sample, Status};

use crate::export::{ExportOptions, FORMATS, write};
use crate::tests::fixture::{Fixture, sample};

pub(super) const NAN: f64 = f64::NAN;

/// The run in this format, and the sentences that the export returned.
pub(super) fn exported(format: &str, run: &Run) -> (Vec<u8>, Vec<String>) {
    let mut out = Vec::new();
    let format = FORMATS.into_iter().find(|known| known.name == format).unwrap();
    let left_out = write(format, run, &analyze(run), ExportOptions::default(), &mut out).unwrap();
    (out, left_out)
}

pub(super) fn text(format: &str, run: &Run) -> String {
    String::from_utf8(exported(format, run).0).unwrap()
}

/// The names of the formats in this build.
pub(super) fn formats() -> impl Iterator<Item = &'static str> {
    let names = FORMATS.into_iter().map(|known| known.name);
    names.filter(|name| *name != "parquet" || cfg!(feature = "parquet"))
}

/// A method that is measured in two sessions, one whose CPU time is not always known, a skipped one
/// and a failed one.
pub(super) fn small() -> Run {
    let mut run = run(["read", "mmap", "direct", "splice"]);
    run.label = Some("ext4".to_owned());
    run.cells[2].status = Status::Skipped("O_DIRECT is refused".to_owned());
    run.cells[3].status = Status::Failed("it ended with signal 9".to_owned());
    run
}

/// Names that must be harmless.
pub(super) const HOSTILE: [&str; 8] = [
    "a,\"b\"\t|c\r\nd\\e'",
    "<script>alert(1)</script>&amp;`x`**y**@all [a](http://b)",
    "=1+1",
    "\u{1b}[31mred\u{7f}\u{9b}\u{202e}\u{1}",
    "a/b=c-4 %20#{le=\"1\"} Tag=x",
    "ns/op",
    "\u{65e5}\u{672c} \u{1f600}",
    "",
];

/// The same with other names.
pub(super) fn hostile() -> Run {
    let mut run = run([HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3]]);
    run.cells[2].status = Status::Skipped(HOSTILE.concat());
    run.cells[3].status = Status::Failed(HOSTILE.concat());
    run.label = Some(HOSTILE.concat());
    run.experiment = HOSTILE[4].to_owned();
    run.question = HOSTILE[1].to_owned();
    run.environment.facts.insert("cpu_model".to_owned(), HOSTILE[0].into());
    for (at, name) in HOSTILE.into_iter().enumerate() {
        run.points[0].set(name, HOSTILE[(at + 1) % HOSTILE.len()]);
        for cell in &mut run.cells {
            cell.point.set(name, HOSTILE[(at + 1) % HOSTILE.len()]);
        }
        let n = run.cells[0].samples.len();
        let mut column = vec![at as f64; n];
        column[1] = NAN;
        column[2] = f64::INFINITY;
        run.cells[0].values.insert(name.to_owned(), column.into());
    }
    for name in ["method", "name", "x_count", "x-count", "param_size", "session"] {
        let n = run.cells[0].samples.len();
        run.cells[0].values.insert(name.to_owned(), vec![-1.5; n].into());
    }
    run
}

fn run(methods: [&str; 4]) -> Run {
    let mut f = Fixture::new();
    for method in methods {
        f.cell(method, Status::Measured);
        let cell = f.last().0;
        let wall = |at: u32| 1e6 * f64::from(10 + at % 4) + 0.25;
        let add = |sample: Sample, values: &[(&str, f64)], cell: &mut model::run::Cell| {
            cell.push(sample, values);
        };
        add(Sample { warm_up: true, ..sample(0) }, &[("wall_ns", 9e9)], cell);
        let not_counted = Some("not in the page cache".into());
        add(Sample { not_counted, ..sample(1) }, &[("wall_ns", 8e9)], cell);
        for at in 0..6 {
            let taken = Sample { session: at / 3, round: 2 + at, slot: at % 2, ..sample(0) };
            let mut values = vec![
                ("wall_ns", wall(at)),
                ("cpu_ns", wall(at) - 1000.0),
                ("peak_rss_bytes", 4096.0 * f64::from(500 + at)),
                ("throughput_bytes_per_s", 1e17 / wall(at)),
            ];
            if method == methods[1] && at == 4 {
                values.remove(1);
            }
            add(taken, &values, cell);
        }
        for round in 0..2 {
            let taken = Sample { pass: Pass::Counting, session: 2, ..sample(round) };
            add(taken, &[("syscalls", 7.0), ("allocations", 3.0), ("allocated_bytes", 72.0)], cell);
        }
        cell.language = Some("rust".to_owned());
    }
    let facts = [
        ("cpu_model", "Example CPU @ 2 GHz"),
        ("kernel_name", "Linux"),
        ("kernel_architecture", "x86_64"),
        ("cpu_affinity_count", "2"),
    ];
    for (name, value) in facts {
        f.run.environment.facts.insert(name.to_owned(), value.into());
    }
    f.run.environment.facts.insert("cpu_mhz_now".to_owned(), serde_json::json!(1999.5));
    f.run.environment.fingerprint = "0a1b".to_owned();
    f.run
}
