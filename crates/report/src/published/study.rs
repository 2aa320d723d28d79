//! A published study as data: what its author measured and claimed, and which methods of ours
//! answer the same. Each study is a file in TOML beside the figures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use model::param::ParamValue;
use serde::Deserialize;

use super::{Figure, Published};

/// The files of the studies.
const FILES: [&str; 5] = [
    include_str!("urlsession.toml"),
    include_str!("latency.toml"),
    include_str!("bytestring.toml"),
    include_str!("fleece.toml"),
    include_str!("sampling.toml"),
];

static STUDIES: LazyLock<Vec<Study>> = LazyLock::new(|| {
    // A test reads all of them.
    FILES.iter().filter_map(|text| read(text).ok()).collect()
});

/// By way of JSON: a program that reads these types from TOML itself is larger by 200 kB.
fn read(text: &str) -> Result<Study> {
    Ok(serde_json::from_value(toml::from_str(text)?)?)
}

/// All studies, in the order in which they are listed.
pub fn studies() -> &'static [Study] {
    &STUDIES
}

/// The study of this name, without the prefix.
pub fn study(name: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.name == name)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    pub name: String,
    pub title: String,
    /// Where the author's words are.
    pub(crate) address: String,
    /// The names of its published results, one for each machine.
    pub published: Vec<String>,
    /// Where it was published, and what is known against it, if no published result says so.
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub(crate) caveat: String,
    /// How often the author measured, and how often a run of the preset does.
    pub(crate) replicates: String,
    /// The differences that every run of ours has: machine, system, language, data.
    pub differs: Vec<String>,
    /// Further differences of runs on data that were made.
    #[serde(default)]
    pub(crate) differs_if_made: Vec<String>,
    /// What a reader of the table needs to know.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    /// Why the author's own programs cannot be measured, where a row names none of them.
    #[serde(default)]
    pub(crate) not_here: String,
    /// The columns of the table, in the author's order.
    pub columns: Vec<StudyColumn>,
    /// The author's table, if its columns are things and not metrics.
    pub(crate) grid: Option<StudyGrid>,
    pub rows: Vec<StudyRow>,
    /// The keys of the rows whose counts are listed, with their system calls by name.
    #[serde(default)]
    pub(crate) counts_of: Vec<String>,
    /// The param that is the size of a chunk, if these counts are those of a chunk.
    #[serde(default)]
    pub(crate) chunk: String,
    pub parts: Vec<StudyRun>,
    pub claims: Vec<Claim>,
    /// The figures of the report.
    pub figures: Vec<Drawing>,
}

/// A column of the table: a metric, in the author's word and unit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyColumn {
    pub metric: String,
    /// The author's word; empty: ours.
    #[serde(default)]
    pub(crate) title: String,
    /// The author's unit; empty: one that fits the column.
    #[serde(default)]
    pub(crate) unit: String,
    /// How many digits the author prints after the point, in that unit.
    #[serde(default)]
    pub(crate) decimals: usize,
    /// Whether only a wide table has it.
    #[serde(default)]
    pub(crate) wide: bool,
}

/// A table that has a column for each of several things that are compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyGrid {
    pub(crate) columns: Vec<String>,
    pub(crate) lines: Vec<GridLine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GridLine {
    /// The author's words.
    pub(crate) title: String,
    pub(crate) metric: String,
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) decimals: usize,
    /// The key of the row of each column; empty where there is none.
    pub(crate) rows: Vec<String>,
}

/// A figure as the author drew it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    pub kind: DrawingKind,
    pub title: String,
    pub metric: String,
    /// The param at the axis.
    #[serde(default)]
    pub by: String,
    /// The params whose values have a panel each.
    #[serde(default)]
    pub(crate) panels: Vec<String>,
    /// The values of params at which the methods are drawn.
    #[serde(default)]
    pub(crate) at: BTreeMap<String, ParamValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawingKind {
    /// The values of each row: the author's, and our own.
    Bars,
    /// The distribution of the samples at each value of a param.
    Boxes,
    /// The percentiles of each row.
    Curves,
    /// Our own values over those of a param, as a line of each method.
    Sweep,
}

/// The run of one experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRun {
    pub experiment: String,
    /// The options of `run`, by their long names, in place of the defaults.
    pub options: BTreeMap<String, String>,
    /// The author's values of params. A run at other values is not of the same amount of work.
    #[serde(default)]
    pub theirs: BTreeMap<String, ParamValue>,
}

/// A line of the author's table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRow {
    /// The name in claims.
    pub key: String,
    /// The method in the published figures; empty if it is not among them.
    #[serde(default)]
    pub published: String,
    /// The title that is shown instead of that name.
    #[serde(default)]
    title: String,
    /// The published results that have this row; empty for all of the study.
    #[serde(default)]
    only: Vec<String>,
    /// The experiment of its methods; empty: that of the first part.
    #[serde(default)]
    experiment: String,
    /// The method that measures the same quantity by the same means.
    pub method: Option<String>,
    /// Another method that does the same job in the same way.
    pub stand_in: Option<String>,
    /// The values of params at which these methods do this row's job; `#2` stands for the second
    /// value that a run has.
    #[serde(default)]
    pub at: BTreeMap<String, ParamValue>,
    /// The metric in the column of the wall time; empty: the wall time.
    #[serde(default)]
    metric: String,
    /// The metrics of this row; empty: those of all columns.
    #[serde(default)]
    shows: Vec<String>,
    /// Rows of one group are the same quantity, and have ratios to the first one of them. A row
    /// without a group stands alone.
    #[serde(default)]
    pub group: String,
    /// Why the author's own program cannot be measured.
    #[serde(default)]
    pub(crate) not_here: String,
}

/// How many claims of a study can have a verdict on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Testable {
    /// By the methods that the author measured.
    pub by_own_methods: usize,
    /// The same, or by methods in their place.
    pub in_all: usize,
}

/// A conclusion of the author.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub says: String,
    /// The author's own words, in the language of the source; empty where we have none.
    #[serde(default)]
    pub(crate) quote: String,
    /// The author's figures for it.
    pub figures: String,
    /// All of them are needed.
    #[serde(default)]
    pub tests: Vec<Test>,
    /// The tests with stand-ins, where they are not the same ones.
    pub(crate) stand_in_tests: Option<Vec<Test>>,
    /// The tests of the author's own figures, where they are not the same ones.
    pub(crate) by_figures: Option<Vec<Test>>,
    /// What the tests cannot see.
    pub(crate) unseen: String,
    /// The part of what is said that no test of a run is about; empty if there is none.
    #[serde(default)]
    pub(crate) untested: String,
    /// Why it cannot be tested by the author's methods.
    #[serde(default)]
    pub(crate) not_here: String,
}

/// A quantity and the range in which it should lie.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The keys of two rows, whose ratio it is. Without a second one, the value itself is meant.
    #[serde(default)]
    pub of: String,
    pub to: Option<String>,
    /// The key of a row whose value is subtracted from that of the first one.
    pub(crate) less: Option<String>,
    pub metric: String,
    /// The metric of the second row, if it is another one.
    pub(crate) to_metric: Option<String>,
    /// The param whose value takes the place of the second row; with `less`, the difference is
    /// divided by it.
    pub(crate) to_param: Option<String>,
    pub(crate) relation: Relation,
    pub factor: f64,
    /// The factor by which `about` may differ from the factor, in both directions.
    #[serde(default = "fifth")]
    pub(crate) within: f64,
    /// Whether it is shown beside the others and decides nothing.
    #[serde(default)]
    pub(crate) beside: bool,
    /// The keys of further rows whose outliers count.
    #[serde(default)]
    pub(crate) among: Vec<String>,
    /// Of the author's figures: what is compared between two machines, in place of two rows.
    pub(crate) across: Option<AcrossMachines>,
    /// Of the author's figures: the names of the published results; empty for all of the study.
    #[serde(default)]
    pub(crate) only: Vec<String>,
}

fn fifth() -> f64 {
    1.25
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relation {
    AtLeast,
    AtMost,
    /// Within a fifth of the factor, or what `within` says.
    About,
    /// Different by less than the factor in either direction.
    Same,
    /// At least so many samples lie beyond the whiskers of their box. That none was seen refutes
    /// nothing.
    Outliers,
}

/// What is compared between the first two machines of a study, over all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AcrossMachines {
    /// The rank correlation of their columns (Spearman).
    Order,
    /// The greatest ratio of the second machine's value to that of the first.
    Greatest,
}

impl Study {
    pub fn row(&self, key: &str) -> Option<&StudyRow> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// The index of the column of a metric.
    pub(crate) fn column(&self, metric: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.metric == metric)
    }

    /// The author's value of a param.
    pub(crate) fn theirs(&self, row: &StudyRow, param: &str) -> Option<f64> {
        let experiment = self.experiment(row);
        let part = self.parts.iter().find(|part| part.experiment == experiment)?;
        match part.theirs.get(param)? {
            ParamValue::Number(n) => Some(*n as f64),
            ParamValue::Text(_) => None,
        }
    }

    /// The experiment of a row.
    pub fn experiment<'a>(&'a self, row: &'a StudyRow) -> &'a str {
        let first = self.parts.first().map_or("", |part| part.experiment.as_str());
        if row.experiment.is_empty() { first } else { &row.experiment }
    }

    /// The number of claims that a run can test where these methods are: by the author's methods,
    /// and by these or by what stands in their place.
    pub fn testable(&self, is_here: impl Fn(&str) -> bool) -> Testable {
        let has = |key: &str, is_own: bool| {
            let row = self.row(key);
            let other = row.filter(|_| !is_own).and_then(|row| row.stand_in.as_deref());
            let method = other.or_else(|| row?.method.as_deref());
            method.is_some_and(&is_here)
        };
        let has_rows = |test: &Test, is_own: bool| {
            let mut keys = std::iter::once(&test.of).chain(&test.to).chain(&test.less);
            keys.all(|key| has(key, is_own))
        };
        let can = |tests: &[Test], is_own: bool| {
            tests.iter().any(|test| !test.beside && has_rows(test, is_own))
        };
        let is_own = |claim: &&Claim| claim.not_here.is_empty() && can(&claim.tests, true);
        let is_any = |claim: &&Claim| {
            is_own(claim) || can(claim.stand_in_tests.as_ref().unwrap_or(&claim.tests), false)
        };
        Testable {
            by_own_methods: self.claims.iter().filter(is_own).count(),
            in_all: self.claims.iter().filter(is_any).count(),
        }
    }

    /// The methods that a part measures, each once, in the order of the rows.
    pub fn methods(&self, part: &StudyRun) -> Vec<&str> {
        let mut methods = Vec::new();
        for row in self.rows.iter().filter(|row| self.experiment(row) == part.experiment) {
            for method in row.method.iter().chain(&row.stand_in) {
                if !methods.contains(&method.as_str()) {
                    methods.push(method);
                }
            }
        }
        methods
    }
}

impl StudyRow {
    pub fn label(&self) -> &str {
        if self.title.is_empty() { &self.published } else { &self.title }
    }

    /// The metric that is measured for this column of the study.
    pub fn metric<'a>(&'a self, column: &'a str) -> &'a str {
        if column == model::metric::WALL && !self.metric.is_empty() { &self.metric } else { column }
    }

    pub fn shows(&self, column: &str) -> bool {
        self.shows.is_empty() || self.shows.iter().any(|shown| shown == column)
    }

    /// The published p50 of this column.
    pub fn figure(&self, published: &Published, column: &str) -> Option<f64> {
        if !(self.only.is_empty() || self.only.contains(&published.name)) {
            return None;
        }
        published.p50(&self.published, column).filter(|_| self.shows(column))
    }

    /// The published values of each run, in the author's order; empty where only one is published.
    pub(crate) fn runs<'a>(&self, published: &'a Published, column: &str) -> &'a [f64] {
        let is_figure = |f: &&Figure| f.method == self.published && f.metric == column;
        let figure = published.figures.iter().find(is_figure).filter(|_| self.shows(column));
        figure.map_or(&[][..], |figure| figure.runs.as_slice())
    }
}

impl Test {
    /// The bounds of the claimed range.
    pub fn range(&self) -> [f64; 2] {
        let factor = self.factor;
        match self.relation {
            Relation::AtLeast | Relation::Outliers => [factor, f64::INFINITY],
            // A difference has a sign.
            Relation::AtMost if self.less.is_some() => [f64::NEG_INFINITY, factor],
            Relation::AtMost => [0.0, factor],
            Relation::About => [factor / self.within, factor * self.within],
            Relation::Same => [1.0 / factor, factor],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{all, find};
    use super::*;

    #[test]
    fn every_file_is_a_study() {
        for text in FILES {
            if let Err(error) = read(text) {
                panic!("{error}");
            }
        }
        assert_eq!(studies().len(), FILES.len());
    }

    #[test]
    fn every_published_result_is_of_one_study_and_every_method_of_it_has_a_row() {
        for published in all() {
            let of = studies().iter().filter(|study| study.published.contains(&published.name));
            let studies: Vec<&Study> = of.collect();
            let [study] = studies[..] else { panic!("{}: {}", published.name, studies.len()) };
            let mut parts = study.parts.iter();
            let of_part = parts.any(|part| part.experiment == published.experiment);
            assert!(of_part, "{}", published.name);
            for figure in &published.figures {
                let row = study.rows.iter().find(|row| {
                    row.published == figure.method
                        && (row.only.is_empty() || row.only.contains(&published.name))
                });
                assert!(row.is_some(), "{}: {}", published.name, figure.method);
            }
        }
    }

    #[test]
    fn what_a_study_names_exists() {
        for study in studies() {
            let names: Vec<&str> = study.parts.iter().map(|part| &*part.experiment).collect();
            for (n, row) in study.rows.iter().enumerate() {
                let twice = study.rows[..n].iter().any(|other| other.key == row.key);
                assert!(!twice && !row.label().is_empty(), "{}: {}", study.name, row.key);
                assert!(names.contains(&study.experiment(row)), "{}: {}", study.name, row.key);
                let known = row.only.iter().all(|name| study.published.contains(name));
                assert!(known, "{}: {}", study.name, row.key);
                let is_here = row.method.is_some() || !row.not_here.is_empty();
                assert!(is_here || !study.not_here.is_empty() || row.stand_in.is_some());
            }
            assert!(study.published.iter().all(|name| find(name).is_some()), "{}", study.name);
            assert!(!study.published.is_empty() || !study.source.is_empty(), "{}", study.name);
            for claim in &study.claims {
                let is_tested = !claim.tests.is_empty();
                assert!(is_tested == claim.not_here.is_empty(), "{}", claim.id);
                assert!(!claim.unseen.is_empty(), "{}", claim.id);
                let in_a_run = claim.tests.iter().chain(claim.stand_in_tests.iter().flatten());
                assert!(in_a_run.clone().all(|test| test.across.is_none()), "{}", claim.id);
                for test in in_a_run.chain(claim.by_figures.iter().flatten()) {
                    let keys = Some(&test.of).filter(|_| test.across.is_none());
                    let keys = keys.into_iter().chain(&test.to).chain(&test.less);
                    for key in keys.chain(&test.among) {
                        assert!(study.row(key).is_some(), "{}: {key}", claim.id);
                    }
                    assert!(test.to.is_none() || test.to_param.is_none(), "{}", claim.id);
                    assert!(test.only.iter().all(|name| study.published.contains(name)));
                    let [min, max] = test.range();
                    assert!(min <= max && (0.0 <= min || test.less.is_some()), "{}", claim.id);
                }
            }
        }
    }

    #[test]
    fn the_units_of_a_study_are_known_and_its_keys_are_rows() {
        for study in studies() {
            for column in study.columns.iter().filter(|column| !column.unit.is_empty()) {
                let stored = model::metric::unit(&column.metric);
                let unit = crate::views::units::Unit::named(stored, &column.unit);
                assert!(unit.is_some(), "{}: {}", study.name, column.unit);
            }
            let lines = study.grid.iter().flat_map(|grid| {
                assert!(grid.lines.iter().all(|line| line.rows.len() == grid.columns.len()));
                &grid.lines
            });
            for line in lines {
                let stored = model::metric::unit(&line.metric);
                let unit = crate::views::units::Unit::named(stored, &line.unit);
                assert!(unit.is_some(), "{}: {}", study.name, line.unit);
                for key in line.rows.iter().filter(|key| !key.is_empty()) {
                    assert!(study.row(key).is_some(), "{}: {key}", study.name);
                }
            }
            assert!(study.counts_of.iter().all(|key| study.row(key).is_some()), "{}", study.name);
        }
    }

    #[test]
    fn a_claim_is_testable_where_the_methods_of_one_of_its_tests_are() {
        let of = |name: &str, is_here: fn(&str) -> bool| study(name).unwrap().testable(is_here);
        let check = |name: &str, is_here: fn(&str) -> bool, by_own_methods, in_all| {
            assert_eq!(of(name, is_here), Testable { by_own_methods, in_all }, "{name}");
        };
        check("latency", |_| true, 14, 14);
        check("latency", |_| false, 0, 0);
        // The file systems of two claims are Apple's.
        check("sampling", |_| true, 2, 2);
        // The parser is Apple's.
        check("fleece", |_| true, 0, 6);
        check("urlsession", |name| !name.starts_with("swift-"), 0, 5);
        check("bytestring", |name| !name.starts_with("haskell-"), 0, 5);
    }
}
