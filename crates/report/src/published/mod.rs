//! Published results of others, as data files with their source, independent of this machine; and
//! as reference runs, which are shown for orientation only and decide nothing.

mod study;

pub(crate) use self::study::{AcrossMachines, GridLine, Relation, StudyGrid};
pub use self::study::{Claim, Drawing, DrawingKind, Study, StudyColumn, StudyRow};
pub use self::study::{StudyRun, Test, Testable, studies, study};

use serde::Serialize;

const LATENCY: &str = include_str!("latency.csv");
const THREADS: &str = include_str!("threads.csv");
const OTHER: &str = include_str!("iphone-other.csv");

/// The machines, in the order of the columns: the name in the files, and the short name.
pub const MACHINES: [(&str, &str); 4] = [
    ("Latency numbers (2012)", "2012"),
    ("iPhone 5s", "iphone-5s"),
    ("iPhone 6s Plus", "iphone-6s-plus"),
    ("iPhone X", "iphone-x"),
];

/// The published values in ns, by the machine's short name. A figure is named `latency.l1_ns` or
/// `threads.join_ns`, after its file and column, or `other.` and the operation, after its line.
/// `only` names the machines on which it has the same meaning as the row; empty for all.
pub(crate) fn published_values(figure: &str, only: &[&str]) -> Vec<(&'static str, f64)> {
    let (file, what) = figure.split_once('.').unwrap_or_default();
    let value = |machine: &str| match file {
        "latency" => column(LATENCY, machine, what),
        "threads" => column(THREADS, machine, what),
        _ => line(machine, what),
    };
    let wanted = |short: &&str| only.is_empty() || only.contains(short);
    let all = MACHINES.into_iter().filter(|(_, short)| wanted(short));
    all.filter_map(|(machine, short)| Some((short, value(machine)?))).collect()
}

fn column(csv: &str, machine: &str, name: &str) -> Option<f64> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let at = lines.next()?.position(|head| head == name)?;
    let mut of_machine = lines.find(|line| line.clone().next() == Some(machine))?;
    of_machine.nth(at)?.parse().ok()
}

fn line(machine: &str, what: &str) -> Option<f64> {
    let of_machine = OTHER.lines().filter_map(|line| line.strip_prefix(machine)?.strip_prefix(','));
    of_machine.filter_map(|rest| rest.strip_prefix(what)?.strip_prefix(',')).find_map(|rest| {
        // The figure is followed by its unit; some figures are for one element.
        rest.split(',').next()?.parse().ok()
    })
}

/// Reads a value from the columns of a line.
type ColumnParser = fn(&[&str]) -> f64;

const URLSESSION: &str = include_str!("urlsession.csv");
const URLSESSION_SUMMARY: &str = include_str!("urlsession-summary.csv");
const BYTESTRING: &str = include_str!("bytestring.csv");
const FLEECE: &str = include_str!("fleece.csv");

/// The prefix of these names in places where runs are named.
pub const PREFIX: &str = "published:";

/// The results of one machine as a reference run, with its source, its known defects, and the
/// experiment of ours that answers the same question.
pub struct Published {
    pub name: String,
    /// The machine on which it was measured.
    pub machine: String,
    /// The subject of the measurement.
    pub title: &'static str,
    /// The experiment of ours that it may be compared with.
    pub experiment: &'static str,
    pub source: &'static str,
    /// The known defects of the result.
    pub(crate) caveat: &'static str,
    pub figures: Vec<Figure>,
}

/// One metric of one method, under the names that the source uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub method: String,
    pub metric: String,
    pub unit: &'static str,
    /// The median, or the kind of value that the figure is; and the percentiles if they are
    /// published.
    pub p50: f64,
    /// Each p in percent, with its value.
    #[serde(skip)]
    pub percentiles: Vec<(f64, f64)>,
    /// The number of samples, if it is published.
    pub n: Option<u64>,
    /// The value of each run, in the order in which they are published; empty where they are not.
    #[serde(skip)]
    pub runs: Vec<f64>,
}

impl Published {
    pub fn p50(&self, method: &str, metric: &str) -> Option<f64> {
        p50(&self.figures, method, metric)
    }
}

/// The p50 of a metric of a method.
pub(crate) fn p50(figures: &[Figure], method: &str, metric: &str) -> Option<f64> {
    let is_figure = |figure: &&Figure| figure.method == method && figure.metric == metric;
    figures.iter().find(is_figure).map(|figure| figure.p50).filter(|value| value.is_finite())
}

/// All of them, in the order in which they are listed.
pub fn all() -> Vec<Published> {
    let mut all = vec![
        urlsession("urlsession-m2", "M2 MacBook Air"),
        urlsession("urlsession-imac", "10-core iMac Pro"),
    ];
    all.extend(MACHINES.iter().map(|(machine, short)| {
        let name = if *short == "2012" { "latency-2012" } else { short };
        latency(name, machine)
    }));
    all.extend([bytestring(), fleece()]);
    all
}

/// The result of this name, without its prefix.
pub fn find(name: &str) -> Option<Published> {
    all().into_iter().find(|known| known.name == name)
}

fn figure(method: &str, metric: &str, unit: &'static str, p50: f64) -> Figure {
    let (method, metric) = (method.to_owned(), metric.to_owned());
    Figure { method, metric, unit, p50, percentiles: Vec::new(), n: None, runs: Vec::new() }
}

/// The fields of the lines below the heading. No field of these files contains a comma.
fn lines(csv: &str) -> impl Iterator<Item = Vec<&str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

fn urlsession(name: &str, machine: &str) -> Published {
    const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];
    let own = |line: &Vec<&str>| line[0] == machine;
    let figures = lines(URLSESSION).filter(own).map(|line| {
        let values = PERCENTILES.iter().zip(&line[4..]).map(|(p, value)| (*p, number(value)));
        let unit = ["ns", "bytes", "count"].into_iter().find(|unit| *unit == line[3]);
        Figure {
            percentiles: values.collect(),
            n: line[11].parse().ok(),
            ..figure(line[1], line[2], unit.unwrap_or(""), number(line[6]))
        }
    });
    let throughput = lines(URLSESSION_SUMMARY).filter(own).map(|line| {
        let bytes_per_s = number(line[4]) * 1_048_576.0;
        figure(line[1], "throughput_bytes_per_s", "bytes/s", bytes_per_s)
    });
    Published {
        name: name.to_owned(),
        machine: machine.to_owned(),
        title: "14 ways to read a stream of bytes with URLSession, a file of 128 MiB",
        experiment: "reading",
        source: "\"What's the best way to read a stream of bytes with URLSession\" (blog; Swift, \
                 ordo-one package-benchmark, 100 runs or 30 s)",
        caveat: "that the reads came from the page cache was not verified; peak memory is sampled \
                 and may miss peaks; the methods were measured one after the other; \
                 two figures of the M2 differ between its tables (throughput of the delegate with reduce, \
                 peak memory of the completion handler with reduce)",
        figures: figures.chain(throughput).collect(),
    }
}

/// Named like the rows of `numbers`.
fn latency(name: &str, machine: &str) -> Published {
    let mut figures = Vec::new();
    for (file, csv) in [("latency", LATENCY), ("threads", THREADS)] {
        let heads: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
        for line in lines(csv).filter(|line| line[0] == machine) {
            let named = heads.iter().zip(&line).skip(1);
            figures.extend(named.map(|(head, value)| {
                figure(&format!("{file}.{head}"), "wall_ns", "ns", number(value))
            }));
        }
    }
    for line in lines(OTHER).filter(|line| line[0] == machine) {
        let (method, value) = (format!("other.{}", line[1]), number(line[2]));
        figures.push(match line[3] {
            "MB/s as printed" => figure(&method, "throughput_bytes_per_s", "bytes/s", value * 1e6),
            _ => figure(&method, "wall_ns", "ns", value),
        });
    }
    Published {
        name: name.to_owned(),
        machine: machine.to_owned(),
        title: "latency numbers of memory, threads and files",
        experiment: "numbers",
        source: "Dmitry Kurkin, AppsConf talk (Habr, 2019): LMbench on iPhones, beside the table of \
                 2012",
        caveat: "the semaphore of 2012 is a mutex that nobody else wants, on the iPhones a hand-over \
                 between threads; \"disk\" of 2012 is a seek, on the iPhones a small read from an \
                 open, cached file; pages of 4 KiB, TLB misses included; 20 MB/s for a file of 1 MB \
                 contradict 1.3 µs for 1 KB, which are 788 MB/s",
        figures,
    }
}

fn bytestring() -> Published {
    let mut figures: Vec<Figure> = Vec::new();
    let mut programs: Vec<&str> = lines(BYTESTRING).map(|line| line[0]).collect();
    programs.dedup();
    for program in programs {
        let of_program = || lines(BYTESTRING).filter(move |line| line[0] == program);
        let metrics: [(&str, ColumnParser); 4] = [
            ("wall_ns", |line| number(line[2])),
            ("cpu_ns", |line| number(line[3]) + number(line[4])),
            ("user_ns", |line| number(line[3])),
            ("system_ns", |line| number(line[4])),
        ];
        figures.extend(metrics.map(|(metric, parse)| {
            let runs = of_program().map(|line| (parse(&line) * 1e9).round());
            let runs: Vec<f64> = runs.collect();
            let mut ns = runs.clone();
            ns.sort_unstable_by(f64::total_cmp);
            let middle = ns[ns.len() / 2];
            let ends = [(0.0, ns[0]), (50.0, middle), (100.0, ns[ns.len() - 1])];
            Figure {
                percentiles: ends.to_vec(),
                n: Some(ns.len() as u64),
                runs,
                ..figure(program, metric, "ns", middle)
            }
        }));
    }
    Published {
        name: "bytestring-2007".to_owned(),
        machine: "machine not stated".to_owned(),
        title: "512 MB from standard input to standard output (/dev/null), in Haskell",
        experiment: "copying",
        source: "Peter Simons, Haskell libraries list, 2007-08-29: GHC 6.6.1 -O2",
        caveat: "one machine, three runs, their order not interleaved",
        figures,
    }
}

fn fleece() -> Published {
    let mut figures = Vec::new();
    for line in lines(FLEECE) {
        let (metric, unit, ns) = match line[3] {
            "bytes" => ("size_bytes", "bytes", 1.0),
            "us" => ("wall_ns", "ns", 1e3),
            _ => ("wall_ns", "ns", 1.0),
        };
        for (format, value) in [("JSON", line[1]), ("Fleece", line[2])] {
            if !value.is_empty() {
                let method = format!("{}: {format}", line[0]);
                figures.push(figure(&method, metric, unit, number(value) * ns));
            }
        }
    }
    Published {
        name: "fleece".to_owned(),
        machine: "MacBook Pro, 2.3 GHz Core i7".to_owned(),
        title: "1000 people as JSON and as Fleece",
        experiment: "decoding",
        source: "Couchbase, Performance.md of the Fleece repository; the JSON parser is \
                 NSJSONSerialization",
        caveat: "the JSON is said to have no whitespace, and is pretty-printed: Tests/1000people.json of \
                 the repository has these 1,303,317 bytes, minified 1,010,316; today's encoder makes \
                 819,942 bytes of it",
        figures,
    }
}

#[cfg(test)]
mod tests {
    use model::numbers::ROWS;

    use super::*;

    #[test]
    fn the_published_figures_of_the_rows_exist() {
        for row in ROWS.iter().filter(|row| !row.published.is_empty()) {
            let figures = published_values(row.published, row.published_on);
            assert!(!figures.is_empty(), "{}: {}", row.name, row.published);
        }
    }

    #[test]
    fn figures_are_found_by_name_and_machine() {
        let l1 = [("2012", 1.0), ("iphone-5s", 7.0), ("iphone-6s-plus", 5.0), ("iphone-x", 2.0)];
        assert_eq!(published_values("latency.l1_ns", &[]), l1);
        assert_eq!(published_values("latency.semaphore_ns", &["2012"]), [("2012", 25.0)]);
        let join = [("iphone-5s", 30_000.0), ("iphone-6s-plus", 7000.0)];
        assert_eq!(published_values("threads.join_ns", &[]), join);
        let open = published_values("other.open and close a file (any size)", &[]);
        assert_eq!(open, [("iphone-5s", 50_000.0)]);
        assert_eq!(published_values("", &[]), []);
        assert_eq!(published_values("latency.l9_ns", &[]), []);
    }
}

#[cfg(test)]
mod results_tests {
    use super::*;

    fn p50(published: &Published, method: &str, metric: &str) -> f64 {
        let of = |f: &&Figure| f.method == method && f.metric == metric;
        published.figures.iter().find(of).unwrap_or_else(|| panic!("{method} {metric}")).p50
    }

    #[test]
    fn both_tables_of_the_urlsession_study_say_the_same_but_for_two_figures() {
        let (mut compared, mut misfits) = (0, Vec::new());
        for name in ["urlsession-m2", "urlsession-imac"] {
            let published = find(name).unwrap();
            for line in lines(URLSESSION_SUMMARY).filter(|line| line[0] == published.machine) {
                let p50 = |metric: &str| p50(&published, line[1], metric);
                // Tolerances for the rounding to milliseconds and megabytes; 128 MiB in the wall
                // time.
                for (metric, got, published, slack) in [
                    ("wall_ns", p50("wall_ns") / 1e6, line[2], 0.5),
                    ("cpu_ns", p50("cpu_ns") / 1e6, line[3], 0.5),
                    ("throughput", 128e9 / p50("wall_ns"), line[4], 0.01 * number(line[4])),
                    ("peak_rss_bytes", p50("peak_rss_bytes") / 1e6, line[5], 0.5),
                ] {
                    compared += 1;
                    if (got - number(published)).abs() > slack {
                        misfits.push(format!("{} {metric} {got:.0} {published}", line[1]));
                    }
                }
            }
        }
        assert_eq!(compared, 28 * 4);
        // These values were published in this form; the caveat mentions them.
        let published = [
            "dataTask(with:) and an incremental delegate with reduce throughput 181 167",
            "dataTask(with:completionHandler:) and reduce peak_rss_bytes 451 485",
        ];
        assert_eq!(misfits, published);
    }

    #[test]
    fn every_line_of_every_file_is_reported_once() {
        let all = all();
        let count = |experiment: &str| -> usize {
            let of = all.iter().filter(|published| published.experiment == experiment);
            of.map(|published| published.figures.len()).sum()
        };
        assert_eq!(count("reading"), 196 + 28);
        assert_eq!(count("numbers"), 4 * 5 + 2 * 4 + 7);
        assert_eq!(count("copying"), 4 * 4);
        assert_eq!(count("decoding"), 9);
        for published in &all {
            let mut names: Vec<_> =
                published.figures.iter().map(|f| (&f.method, &f.metric)).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), published.figures.len(), "{}", published.name);
            for figure in &published.figures {
                assert!(figure.p50 > 0.0 && !figure.unit.is_empty(), "{figure:?}");
                let rises =
                    figure.percentiles.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1);
                assert!(rises, "{figure:?}");
            }
            assert!(!published.source.is_empty() && !published.caveat.is_empty());
        }
    }

    #[test]
    fn figures_are_those_of_the_files() {
        let check =
            |got: f64, expected: f64| assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        let m2 = find("urlsession-m2").unwrap();
        let fastest =
            "dataTask(with:) and an incremental delegate with for loop inside withUnsafeBytes";
        check(p50(&m2, fastest, "wall_ns"), 36e6);
        check(p50(&find("iphone-x").unwrap(), "latency.memory_ns", "wall_ns"), 146.0);
        check(p50(&find("latency-2012").unwrap(), "latency.disk_ns", "wall_ns"), 150_000.0);
        check(p50(&find("iphone-5s").unwrap(), "threads.join_ns", "wall_ns"), 30_000.0);
        let haskell = find("bytestring-2007").unwrap();
        check(p50(&haskell, "/bin/cat", "wall_ns"), 2.1e9);
        check(p50(&haskell, "lazy ByteString", "cpu_ns"), 8.044e9);
        let fleece = find("fleece").unwrap();
        check(p50(&fleece, "parse trusted: Fleece", "wall_ns"), 600.0);
        check(p50(&fleece, "look up one name: JSON", "wall_ns"), 960.0);
        assert!(find("urlsession-m3").is_none());
    }
}
