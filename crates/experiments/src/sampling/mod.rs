#![doc = include_str!("README.md")]

mod check;
mod data;
mod drawing;

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use measure::experiment::{Build, Execution, Experiment, Method, Task, skip};
use model::param::{Param, ParamKind, Point};
use record_sampler::{FetchMethod, Population, Rng, Sampler};

use self::check::{OneByOne, Promise};
use self::drawing::{DrawTask, DrawUsage, PARAMS, Request, contender, of_kind};
use super::shared::{must_be_installed, run_command};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "sampling",
        question: "What is the fastest way to draw random records from a large file?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data::data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("samples", ParamKind::Count(1, 1 << 40), "1000")
            .help("how many records are drawn"),
        Param::new("records", ParamKind::Count(1, 1 << 40), "1000000")
            .help("how many records the generated file has; with --file, those of the file"),
        Param::new("kind", ParamKind::Word(&["text", "binary"]), "text")
            .help("lines of about 60 bytes, or records of 64 bytes"),
        Param::new("dir", ParamKind::Path, "")
            .help("where the file is made; a list alternates file systems within the rounds"),
        Param::new("file", ParamKind::Path, "").help(
            "a file of your own to draw from; what is in it is known by an ending such as .vcf",
        ),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = vec![scanning()];
    methods.extend(skipping());
    methods.extend(in_cpp());
    methods.extend(commands());
    methods
}

/// The method of the study that needed a sampler: read every record, and keep it with a
/// probability.
fn scanning() -> Method {
    let about = "every record read (`getline`, or `read` of 64 bytes), kept with a probability";
    contender("scan", about, build_scan)
}

/// The number of drawn records is approximate: within 8 standard deviations, which is checked
/// untimed.
fn build_scan(point: &Point) -> Result<Box<dyn Task>> {
    DrawTask::task(point, Promise { is_exact: false, in_order: true }, Box::new(scan))
}

fn scan(job: &Request, seed: u64, out: &mut File) -> Result<DrawUsage> {
    let mut rng = Rng::new(seed);
    let p = job.samples as f64 / job.records as f64;
    let mut is_kept = || rng.unit() <= p;
    let mut records = OneByOne::new(job.open()?, &job.layout)?;
    let mut out = BufWriter::new(out);
    out.write_all(&records.header)?;
    let mut record = Vec::new();
    while records.next(&mut record)? {
        if is_kept() {
            out.write_all(&record)?;
        }
    }
    out.flush()?;
    Ok(DrawUsage::default())
}

const PROMISE: Promise = Promise { is_exact: true, in_order: true };

/// The methods of `record-sampler`: unwanted records are skipped.
fn skipping() -> Vec<Method> {
    vec![
        contender("auto", "what `bytelab sample` chooses", |point| {
            build_draw(point, FetchMethod::Auto)
        }),
        contender("pread", "pread of what is wanted; lines are counted first", |point| {
            build_draw(point, FetchMethod::Pread)
        }),
        contender("mmap", "the same, through a mapping", |point| {
            Request::from_point(point)?.must_be_numbered()?;
            build_draw(point, FetchMethod::Mmap)
        }),
        of_kind("binary", "sequential", "large reads in order, binary only", |point| {
            Request::from_point(point)?.must_be_uncompressed()?;
            build_draw(point, FetchMethod::Sequential)
        }),
        #[cfg(target_os = "linux")]
        of_kind("binary", "io-uring", "64 reads in flight in a ring, binary only", |point| {
            Request::from_point(point)?.must_be_uncompressed()?;
            let refused = |error| skip(format!("the kernel gives no ring: {error}"));
            io_uring::IoUring::new(1).map_err(refused)?;
            build_draw(point, FetchMethod::Uring)
        }),
        contender("reservoir", "one pass as over a pipe, algorithm L", |point| {
            DrawTask::task(point, PROMISE, Box::new(reservoir))
        }),
        of_kind(
            "text",
            "index",
            "the lines counted once, kept beside the file; text only",
            |point| {
                Request::from_point(point)?.must_be_numbered()?;
                DrawTask::task(
                    point,
                    PROMISE,
                    Box::new(|job, seed, out| {
                        draw(job, &Sampler::exactly(job.samples).seed(seed).with_index(), out)
                    }),
                )
            },
        ),
        of_kind("text", "probe", "random byte offsets, length bias rejected; text only", |point| {
            let job = Request::from_point(point)?;
            job.must_be_plain()?;
            let Request { samples, records, .. } = job;
            if samples > records / 2 {
                return Err(skip(
                    "finds mostly lines that it has already: more than half are wanted",
                ));
            }
            build_draw(point, FetchMethod::Probe { min_len: 1 })
        }),
    ]
}

fn build_draw(point: &Point, method: FetchMethod) -> Result<Box<dyn Task>> {
    let draw = move |job: &Request, seed: u64, out: &mut File| {
        draw(job, &Sampler::exactly(job.samples).seed(seed).by(method).with_mapping(), out)
    };
    DrawTask::task(point, PROMISE, Box::new(draw))
}

fn draw(job: &Request, sampler: &Sampler, out: &mut File) -> Result<DrawUsage> {
    Ok(sampler.write(&mut job.population()?, out)?.into())
}

/// The file as a stream that can be read only once.
fn reservoir(job: &Request, seed: u64, out: &mut File) -> Result<DrawUsage> {
    let population = Population::stream(job.open()?, job.layout.format);
    let mut population = population.with_header_rule(job.layout.header.clone());
    Ok(Sampler::exactly(job.samples).seed(seed).write(&mut population, out)?.into())
}

/// The study was in C++: this is its program, unchanged.
fn in_cpp() -> Vec<Method> {
    vec![
        cpp(
            "binary",
            "read",
            "C++: ifstream::read of 64 bytes, kept with a probability; binary only",
        ),
        cpp("text", "getline", "C++: getline, kept with a probability; text only"),
    ]
}

fn cpp(kind: &'static str, name: &str, about: &str) -> Method {
    let execution = Execution::worker(["{workers/cpp}", "sampling", name]);
    let method =
        Method::contender(format!("cpp-{name}"), about, execution).reads(&PARAMS).job(kind);
    Method { default: false, ..method }
}

const AWK: &str = r#"BEGIN { srand(); n = ARGV[1]; ARGV[1] = "" }
NR <= n { kept[NR] = $0; next }
{ i = int(rand() * NR) + 1; if (i <= n) kept[i] = $0 }
END { for (i in kept) print kept[i] }"#;

/// Common tools as plain commands: each is started again for every sample, and writes in its own
/// order. They support only lines.
fn commands() -> Vec<Method> {
    vec![
        of_kind("text", "shuf", "shuf -n; text only", |point| command(point, "shuf", shuf)),
        of_kind("text", "awk", "a reservoir in awk; text only", |point| command(point, "awk", awk)),
        // These take minutes for large files.
        if_named("sort", "sort -R | head; text only", |point| command(point, "sort", sort)),
        if_named("sqlite", "sqlite3: import, order by random(); text only", |point| {
            command(point, "sqlite3", sqlite)
        }),
        if_named("duckdb", "duckdb: USING SAMPLE reservoir; text only", |point| {
            command(point, "duckdb", duckdb)
        }),
    ]
}

fn shuf(job: &Request) -> Vec<String> {
    words(["shuf", "-n", &job.samples.to_string(), &job.name()])
}

fn awk(job: &Request) -> Vec<String> {
    words(["awk", AWK, &job.samples.to_string(), &job.name()])
}

fn sort(job: &Request) -> Vec<String> {
    let script = r#"sort -R "$0" | head -n "$1""#;
    words(["/bin/sh", "-c", script, &job.name(), &job.samples.to_string()])
}

fn sqlite(job: &Request) -> Vec<String> {
    let import = format!(".import {} t", quoted(&job.name()));
    let select = format!("select line from t order by random() limit {};", job.samples);
    // Lines are read unchanged: no byte of them is a column separator.
    let separator = r#".separator "\001" "\n""#;
    words(["sqlite3", "-batch", ":memory:", ".mode ascii", separator, "create table t(line);"])
        .into_iter()
        .chain([import, ".mode list".to_owned(), select])
        .collect()
}

fn duckdb(job: &Request) -> Vec<String> {
    let query = format!(
        "select line from read_csv({}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, \
         header = false, delim = '\\x01', quote = '', escape = '') using sample reservoir({} rows)",
        quoted(&job.name()),
        job.samples
    );
    words(["duckdb", "-list", "-noheader", "-c", &query])
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Quoted for SQL and for sqlite's own commands.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

fn command(
    point: &Point,
    program: &str,
    argv: impl Fn(&Request) -> Vec<String> + 'static,
) -> Result<Box<dyn Task>> {
    must_be_installed(program)?;
    Request::from_point(point)?.must_be_plain()?;
    let draw = move |job: &Request, _seed: u64, out: &mut File| {
        let input = File::open("/dev/null").context("/dev/null")?;
        let cpu = run_command(&argv(job), &[], input.into(), out.try_clone()?.into())?;
        Ok(DrawUsage { cpu: Some(cpu), ..DrawUsage::default() })
    };
    DrawTask::task(point, Promise { is_exact: true, in_order: false }, Box::new(draw))
}

fn if_named(name: &str, about: &str, build: Build) -> Method {
    Method { default: false, ..of_kind("text", name, about, build) }
}

#[cfg(test)]
mod tests;
