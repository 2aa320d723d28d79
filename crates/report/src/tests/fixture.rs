//! Runs and analyses constructed for the tests of the reports.

use std::collections::BTreeMap;

use analysis::{
    Analysis, CellSummary, Comparison, Family, LongerRun, Percentile, Summary, Verdict,
};
use model::metric;
use model::param::Point;
use model::run::{CacheState, Cell, Plan, Role, Run, Sample, Status};

pub(crate) struct Fixture {
    pub run: Run,
    pub analysis: Analysis,
}

/// The values of a contender: p50 of wall in ms, CPU in ms, peak RSS in MiB.
pub(crate) type Figures = [f64; 3];

impl Fixture {
    /// A run of one point, `size=128Mi`, without cells.
    pub(crate) fn new() -> Fixture {
        let mut fixture = Fixture {
            run: Run {
                schema: model::run::SCHEMA,
                id: "7".to_owned(),
                experiment: "reading".to_owned(),
                question: "What is the fastest way to hand every byte of a file to the program?"
                    .to_owned(),
                started: "2026-01-02T03:04:05Z".to_owned(),
                complete: true,
                plan: plan(),
                ..Run::default()
            },
            analysis: Analysis::default(),
        };
        fixture.point(&[("size", 128 << 20)]);
        fixture
    }

    /// The seven methods of a typical run.
    pub(crate) fn reading() -> Fixture {
        let mut f = Fixture::new();
        f.measured("read", [13.8, 13.7, 2.1]);
        f.measured("mmap", [9.71, 9.68, 133.0]).versus(Verdict::Faster, [0.704, 0.689, 0.718]);
        f.measured("mmap-window", [9.52, 9.51, 4.5])
            .versus(Verdict::Faster, [0.690, 0.664, 0.716])
            .pareto();
        f.measured("read-4k", [16.2, 16.1, 2.1]).versus(Verdict::Slower, [1.174, 1.160, 1.188]);
        f.measured("buf-reader", [13.9, 13.8, 2.1]).versus(Verdict::Same, [1.002, 0.995, 1.008]);
        f.measured("pread-threads", [13.2, 25.0, 2.3])
            .versus(Verdict::Undecided, [0.97, 0.90, 1.04])
            .found(7.2, 3100);
        f.measured("memory", [9.23, 9.2, 130.0]).yardstick();
        f.cell_mut(0).0.about = "read(2) into a reused buffer".to_owned();
        f.analysis.families[0].best = vec![2, 1];
        f
    }

    /// Adds a point; cells that are added from now on belong to it.
    pub(crate) fn point(&mut self, values: &[(&str, u64)]) -> &mut Fixture {
        let mut point = Point::default();
        for (name, value) in values {
            point.set(*name, *value);
        }
        if self.run.cells.is_empty() {
            self.run.points.clear();
            self.analysis.families.clear();
        }
        self.run.points.push(point.clone());
        self.analysis.families.push(Family { point, metric: "wall_ns", ..Family::default() });
        self
    }

    /// Adds a measured cell of 100 samples. The first one of a point becomes the reference.
    pub(crate) fn measured(&mut self, method: &str, [wall, cpu, peak]: Figures) -> &mut Fixture {
        self.cell(method, Status::Measured);
        let metrics = [
            ("wall_ns", wall * 1e6),
            ("cpu_ns", cpu * 1e6),
            ("throughput_bytes_per_s", f64::from(128 << 20) * 1e3 / wall),
            ("peak_rss_bytes", peak * 1_048_576.0),
        ];
        for (name, value) in metrics {
            self.metric(name, value, 100);
        }
        let index = self.run.cells.len() - 1;
        let family = self.family();
        family.compared.push(index);
        family.reference.get_or_insert(index);
        self
    }

    /// Adds a cell without any summary.
    pub(crate) fn cell(&mut self, method: &str, status: Status) -> &mut Fixture {
        let cell = self.run.cells.len();
        let point = self.run.points.last().cloned().unwrap_or_default();
        self.run.cells.push(Cell {
            method: method.to_owned(),
            about: String::new(),
            role: Role::Contender,
            language: None,
            point,
            status,
            digest: None,
            syscalls_by_name: None,
            samples: Vec::new(),
            values: BTreeMap::new(),
        });
        self.analysis.cells.push(CellSummary {
            cell,
            metrics: Vec::new(),
            not_counted: 0,
            pareto: false,
            answer: Some("9f1c".to_owned()),
            wrong_answer: false,
            left_running: None,
            unusable: None,
        });
        self.family().cells.push(cell);
        self
    }

    /// Gives the last cell a metric with n samples around this p50, and adds the samples to the
    /// cell.
    pub(crate) fn metric(&mut self, name: &str, p50: f64, n: usize) -> &mut Fixture {
        let percentiles = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0].map(|p| {
            let value = p50 * (1.0 + (p - 50.0) / 1000.0);
            let inner = p > 0.0 && p < 100.0;
            // The upper bound of p99 is the first that needs many samples.
            let needed = if p > 90.0 { 368 } else { 6 };
            let low = (inner && n >= 6).then_some(value * 0.99);
            let high = (inner && n >= needed).then_some(value * 1.012);
            Percentile { p, value, low, high }
        });
        let summary = Summary {
            metric: name.to_owned(),
            unit: metric::unit(name),
            n,
            sessions: n.div_ceil(10),
            ops: 1,
            percentiles: if n == 0 { Vec::new() } else { percentiles.to_vec() },
            constant: false,
        };
        let (cell, of_cell) = self.last();
        of_cell.metrics.retain(|metric| metric.metric != name);
        of_cell.metrics.push(summary);
        while cell.samples.len() < n {
            let round = cell.samples.len() as u32;
            cell.samples.push(sample(round));
        }
        cell.values.insert(name.to_owned(), vec![p50; cell.samples.len()].into());
        self
    }

    /// Adds a count to a cell, equal in all samples or not.
    pub(crate) fn count(&mut self, index: usize, name: &str, p50: f64, constant: bool) {
        let percentile = Percentile { p: 50.0, value: p50, low: None, high: None };
        self.analysis.cells[index].metrics.push(Summary {
            metric: name.to_owned(),
            unit: metric::unit(name),
            n: 5,
            sessions: 1,
            ops: 1,
            percentiles: vec![percentile],
            constant,
        });
    }

    /// Compares the last cell with the reference: ratio, low, high (NaN: no bound).
    pub(crate) fn versus(&mut self, verdict: Verdict, numbers: [f64; 3]) -> &mut Fixture {
        let cell = self.run.cells.len() - 1;
        let family = self.family();
        let (reference_cell, metric) = (family.reference.unwrap_or(cell), family.metric);
        let point = family.point.clone();
        let [ratio, low, high] = numbers.map(|x| Some(x).filter(|x| !x.is_nan()));
        self.analysis.comparisons.push(Comparison {
            method: self.run.cells[cell].method.clone(),
            reference: self.run.cells[reference_cell].method.clone(),
            point,
            metric: metric.to_owned(),
            cell,
            reference_cell,
            decides: true,
            n: 100,
            sessions: 10,
            ratio,
            low,
            high,
            level: 0.95,
            p: None,
            p_holm: None,
            verdict,
            beside_load: false,
            doubt: None,
            reason: None,
            below_relevance: false,
            found_percent: None,
            sessions_for_1_percent: None,
            longer_run: None,
        });
        self
    }

    pub(crate) fn found(&mut self, percent: f64, sessions: u64) -> &mut Fixture {
        let last = self.comparison();
        (last.found_percent, last.sessions_for_1_percent) = (Some(percent), Some(sessions));
        last.longer_run = Some(match sessions {
            0..=1000 => LongerRun::Flag(format!("--time {sessions}s")),
            _ => LongerRun::NotHere,
        });
        self
    }

    pub(crate) fn comparison(&mut self) -> &mut Comparison {
        self.analysis.comparisons.last_mut().unwrap()
    }

    pub(crate) fn pareto(&mut self) -> &mut Fixture {
        let last = self.run.cells.len() - 1;
        self.last().1.pareto = true;
        self.family().pareto.push(last);
        self
    }

    pub(crate) fn yardstick(&mut self) -> &mut Fixture {
        let last = self.run.cells.len() - 1;
        self.last().0.role = Role::Yardstick;
        self.family().compared.retain(|cell| *cell != last);
        self
    }

    pub(crate) fn wrong(&mut self, answer: Option<&str>) -> &mut Fixture {
        let summary = self.last().1;
        summary.wrong_answer = true;
        summary.answer = answer.map(str::to_owned);
        self.versus(Verdict::WrongAnswer, [f64::NAN; 3])
    }

    pub(crate) fn note(&mut self, method: Option<&str>, point: Option<usize>, text: &str) {
        let point = point.map(|i| self.run.points[i].clone());
        let method = method.map(str::to_owned);
        let text = serde_json::json!({"method": method, "point": point, "text": text});
        self.analysis.notes.push(serde_json::from_value(text).unwrap());
    }

    /// Everything that has a name or a reason has this one; a second point has another value.
    pub(crate) fn named(&mut self, name: &str, other_value: &str) {
        self.metric(name, 5.0, 100);
        self.cell(name, Status::Skipped(name.to_owned()));
        self.cell(name, Status::Failed(name.to_owned()));
        self.run.label = Some(name.to_owned());
        for text in [&mut self.run.experiment, &mut self.run.question, &mut self.run.id] {
            name.clone_into(text);
        }
        self.run.points[0].set(name, name);
        self.analysis.families[0].point = self.run.points[0].clone();
        let mut other = self.run.points[0].clone();
        other.set(name, other_value);
        self.run.points.push(other);
        self.note(Some(name), Some(0), name);
    }

    pub(crate) fn last(&mut self) -> (&mut Cell, &mut CellSummary) {
        self.cell_mut(self.run.cells.len() - 1)
    }

    pub(crate) fn cell_mut(&mut self, index: usize) -> (&mut Cell, &mut CellSummary) {
        (&mut self.run.cells[index], &mut self.analysis.cells[index])
    }

    pub(crate) fn family(&mut self) -> &mut Family {
        self.analysis.families.last_mut().unwrap()
    }
}

pub(crate) fn sample(round: u32) -> Sample {
    Sample { round, ops: 1, bytes: 128 << 20, answer: Some("9f1c".into()), ..Sample::default() }
}

fn plan() -> Plan {
    Plan {
        rounds: 100,
        time_limit_ns: 30_000_000_000,
        warm_up: 1,
        sessions: 1,
        seed: 1,
        cache: CacheState::Warm,
        sample_limit_ns: 60_000_000_000,
        ..Plan::default()
    }
}
