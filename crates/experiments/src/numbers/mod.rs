#![doc = include_str!("README.md")]

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use measure::cache::available_bytes;
use measure::experiment::{Data, Execution, Experiment, Method, Task, Work, skip};
use measure::stop::Stop;
use model::numbers::{EXPERIMENT, NumbersRow, ROWS, row};
use model::param::{Param, ParamKind, ParamValue, Point};

use super::measuring::MEASURING;
use super::memory::announced;

/// Each row is a separate point: rows do different things and are not compared with each other.
pub(crate) fn experiment() -> Experiment {
    let about = "the method of another experiment that the row names";
    Experiment {
        name: EXPERIMENT,
        question: "What do the basic operations of programs cost on this machine?",
        readme: include_str!("README.md"),
        params: vec![
            Param::new("row", ParamKind::Word(&NAMES), &ALL)
                .help("the rows of the table [default: all]"),
            Param::new("dir", ParamKind::Path, "")
                .help("where files are made [default: where made data is kept]"),
        ],
        methods: vec![Method {
            // Rows that write to files may make the device read the file system's own blocks.
            bypasses_cache: true,
            ..Method::built_in(METHOD, about, build).reads(&["row", "dir"])
        }],
        dir: None,
        data: Box::new(data),
    }
}

const METHOD: &str = "row";

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ROWS.iter().map(|row| row.name).collect());
static ALL: LazyLock<String> = LazyLock::new(|| NAMES.join(","));

/// The data of the row's own experiment, at the row's point.
fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let row = row_of(point)?;
    let source = source(row)?;
    let mut inner = inner_point(row, &source)?;
    if let Some(dir) = point.get("dir").filter(|_| declares(&source, "dir")) {
        inner.set("dir", dir.clone());
    }
    let mut data = (source.data)(&inner, dir, stop).with_context(|| format!("row {}", row.name))?;
    data.arguments.set("row", row.name);
    Ok(data)
}

fn row_of(point: &Point) -> Result<&'static NumbersRow> {
    let name = point.text("row")?;
    row(name).with_context(|| format!("there is no row {name}"))
}

fn source(row: &NumbersRow) -> Result<Experiment> {
    let found = MEASURING.iter().find(|(name, _)| *name == row.experiment);
    let found = found
        .with_context(|| format!("row {}: there is no experiment {}", row.name, row.experiment));
    found.map(|(_, experiment)| experiment())
}

fn declares(experiment: &Experiment, name: &str) -> bool {
    experiment.params.iter().any(|param| param.name == name)
}

/// The row's values; every other param has its first default.
fn inner_point(row: &NumbersRow, source: &Experiment) -> Result<Point> {
    let mut given: Vec<(&str, &str)> =
        row.point.split_whitespace().filter_map(|value| value.split_once('=')).collect();
    let mut point = Point::default();
    for param in &source.params {
        let own = given.iter().position(|(name, _)| *name == param.name);
        let text = match own.map(|at| given.swap_remove(at).1) {
            Some(text) => sized(text),
            None if param.default.is_empty() => continue,
            None => param.default.to_owned(),
        };
        let value = param.parse(&text)?.into_iter().next();
        point.set(param.name, value.with_context(|| format!("row {}: no value", row.name))?);
    }
    ensure!(given.is_empty(), "row {}: {} has no such param: {given:?}", row.name, source.name);
    Ok(point)
}

/// Converts a size that depends on this machine to bytes; other texts are unchanged.
fn sized(text: &str) -> String {
    let level = |level: u64, usual: u64| {
        let found = announced().iter().find(|cache| cache.level == level);
        found.map_or(usual, |cache| cache.bytes)
    };
    let bytes = match text {
        "L1/2" => level(1, 32 << 10) / 2,
        "L2/2" => level(2, 256 << 10) / 2,
        // In a virtual machine, and if cores share the cache, only a part of it is available.
        "L3/4" => level(3, 0) / 4,
        "memory" => memory_bytes(),
        "memory/2" => memory_bytes() / 2,
        "memory/4" => memory_bytes() / 4,
        _ => return text.to_owned(),
    };
    // The minimum that the param accepts: `build` then skips the row.
    bytes.max(NO_SUCH_CACHE).to_string()
}

const NO_SUCH_CACHE: u64 = 256;

/// Four times the largest cache; all rows together leave most of the free memory unused.
fn memory_bytes() -> u64 {
    const ROWS_AT_ONCE: u64 = 32;
    let largest = announced().iter().map(|cache| cache.bytes).max().unwrap_or(16 << 20);
    let free = available_bytes().unwrap_or(8 << 30);
    (4 * largest).clamp(64 << 20, 256 << 20).min(free / ROWS_AT_ONCE) & !0xffff
}

/// A task of another experiment.
struct BorrowedTask {
    task: Box<dyn Task>,
    size: Option<u64>,
}

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let row = row_of(point)?;
    let source = source(row)?;
    let method = source.methods.iter().find(|method| method.name == row.method);
    let Some(Method { execution: Execution::BuiltIn(build), .. }) = method else {
        return Err(skip(format!(
            "{} has no method {} on this system",
            row.experiment, row.method
        )));
    };
    let point = coerce(point, &source)?;
    let size = ["size", "span", "set"].iter().find_map(|name| point.number(name).ok());
    if row.experiment == "memory" && size == Some(NO_SUCH_CACHE) {
        return Err(skip("the system announces no such cache"));
    }
    Ok(Box::new(BorrowedTask { task: build(&point)?, size }))
}

/// The protocol passes texts; the params of the source define which are numbers.
fn coerce(point: &Point, source: &Experiment) -> Result<Point> {
    let mut coerced = Point::default();
    for (name, value) in point.iter() {
        let kind = source.params.iter().find(|param| param.name == name).map(|param| &param.kind);
        let value = match (kind, value) {
            (Some(ParamKind::Bytes(..) | ParamKind::Count(..)), ParamValue::Text(text)) => {
                ParamValue::Number(text.parse().with_context(|| format!("param {name}: {text}"))?)
            }
            (_, value) => value.clone(),
        };
        coerced.set(name, value);
    }
    Ok(coerced)
}

impl Task for BorrowedTask {
    fn before(&mut self) -> Result<()> {
        self.task.before()
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        self.task.run(ops)
    }

    fn between(&mut self) -> Result<()> {
        self.task.between()
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        self.task.digest()
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        let size = self.size.map(|size| ("size_bytes", size as f64));
        self.task.metrics().into_iter().chain(size).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_method_at_a_point_of_its_experiment() {
        for row in ROWS {
            let source = source(row).unwrap();
            let point = inner_point(row, &source).unwrap();
            let method = source.methods.iter().find(|method| method.name == row.method);
            if cfg!(target_os = "linux") {
                let method = method.unwrap_or_else(|| panic!("{}: no {}", row.name, row.method));
                assert!(method.competes_at(&point), "{}: another job", row.name);
                for (name, _) in row.point.split_whitespace().filter_map(|v| v.split_once('=')) {
                    assert!(method.reads.contains(&name), "{}: {name} is not read", row.name);
                }
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_machine() {
        assert_eq!(sized("64KiB"), "64KiB");
        for text in ["L1/2", "L2/2", "L3/4", "memory"] {
            assert!(sized(text).parse::<u64>().unwrap() >= NO_SUCH_CACHE);
        }
    }

    #[test]
    fn texts_become_the_numbers_that_the_source_declares() {
        let source = source(row("l1-load").unwrap()).unwrap();
        let mut point = Point::default();
        point.set("size", "4096");
        point.set("pages", "huge");
        let typed = coerce(&point, &source).unwrap();
        assert_eq!(typed.number("size").unwrap(), 4096);
        assert_eq!(typed.text("pages").unwrap(), "huge");
        point.set("size", "many");
        assert!(super::coerce(&point, &source).is_err());
    }
}
