//! A published study as data: what its author measured and claimed, and which methods of ours
//! answer the same. Each study is a file in TOML beside the figures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use model::param::ParamValue;
use serde::Deserialize;

use super::Published;

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
    /// Why the author's own programs cannot be measured, where a row names none of them.
    #[serde(default)]
    pub(crate) not_here: String,
    /// The metrics of the table, in the author's order.
    pub columns: Vec<String>,
    /// The columns that only a wide table has.
    #[serde(default)]
    pub wide: Vec<String>,
    pub rows: Vec<StudyRow>,
    pub parts: Vec<StudyRun>,
    pub claims: Vec<Claim>,
    /// The figures of the report.
    pub figures: Vec<Drawing>,
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
    /// The latency of memory by the size of the set.
    Ladder,
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

/// A conclusion of the author.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub says: String,
    /// The author's figures for it.
    pub figures: String,
    /// Whether one of the tests is enough to confirm it; otherwise all are needed.
    #[serde(default)]
    pub any: bool,
    #[serde(default)]
    pub tests: Vec<Test>,
    /// The tests with stand-ins, where they are not the same ones.
    pub(crate) stand_in_tests: Option<Vec<Test>>,
    /// Why it cannot be tested at all.
    #[serde(default)]
    pub(crate) not_here: String,
}

/// A ratio and the range in which it should lie.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The keys of two rows. Without a second one, the value itself is meant.
    pub of: String,
    pub to: Option<String>,
    pub metric: String,
    /// The metric of the second row, if it is another one.
    pub(crate) to_metric: Option<String>,
    /// The param whose value takes the place of the second row.
    pub(crate) to_param: Option<String>,
    pub(crate) relation: Relation,
    pub factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Relation {
    AtLeast,
    AtMost,
    /// Within a fifth of the factor.
    About,
    /// Different by less than the factor in either direction.
    Same,
}

impl Study {
    pub fn row(&self, key: &str) -> Option<&StudyRow> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// The experiment of a row.
    pub fn experiment<'a>(&'a self, row: &'a StudyRow) -> &'a str {
        let first = self.parts.first().map_or("", |part| part.experiment.as_str());
        if row.experiment.is_empty() { first } else { &row.experiment }
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
}

impl Test {
    /// The bounds of the claimed range.
    pub fn range(&self) -> [f64; 2] {
        let factor = self.factor;
        match self.relation {
            Relation::AtLeast => [factor, f64::INFINITY],
            Relation::AtMost => [0.0, factor],
            Relation::About => [factor * 0.8, factor * 1.25],
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
                for test in claim.tests.iter().chain(claim.stand_in_tests.iter().flatten()) {
                    let keys = std::iter::once(&test.of).chain(&test.to);
                    for key in keys {
                        assert!(study.row(key).is_some(), "{}: {key}", claim.id);
                    }
                    assert!(test.to.is_none() || test.to_param.is_none(), "{}", claim.id);
                    let [min, max] = test.range();
                    assert!(0.0 <= min && min <= max, "{}", claim.id);
                }
            }
        }
    }

    /// Otherwise the claim was copied wrongly. The table of 2012 and the telephones disagree with
    /// each other, so that one machine is enough.
    #[test]
    fn each_claim_holds_for_the_figures_of_its_author() {
        let mut held = 0;
        for study in studies() {
            let machines: Vec<Published> =
                study.published.iter().filter_map(|name| find(name)).collect();
            for (claim, test) in
                study.claims.iter().flat_map(|claim| claim.tests.iter().map(move |t| (claim, t)))
            {
                let Some(to) = &test.to else { continue };
                let [min, max] = test.range();
                let to_metric = test.to_metric.as_ref().unwrap_or(&test.metric);
                let all: Vec<[Option<f64>; 2]> = machines
                    .iter()
                    .map(|machine| {
                        let figure = |key: &str, metric: &str| {
                            study.row(key).and_then(|row| row.figure(machine, metric))
                        };
                        [figure(&test.of, &test.metric), figure(to, to_metric)]
                    })
                    .collect();
                // The semaphore of the telephones, the mutex of 2012.
                let first = |at: usize| all.iter().find_map(|pair| pair[at]);
                let ratios = all.iter().filter_map(|[a, b]| Some((*a)? / (*b)?));
                let ratios: Vec<f64> = ratios.collect();
                let ratios = match (ratios.is_empty(), first(0), first(1)) {
                    (true, Some(a), Some(b)) => vec![a / b],
                    _ => ratios,
                };
                held += ratios.len();
                let fits = ratios.iter().any(|ratio| (min..=max).contains(ratio));
                assert!(ratios.is_empty() || fits, "{}: {ratios:?} {min} {max}", claim.id);
            }
        }
        assert!(held > 40, "{held}");
    }
}
