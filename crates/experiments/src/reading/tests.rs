//! Compares every method with a naive computation, and tests files that change or cannot be read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Result;
use measure::experiment::{Execution, Experiment, Method, Skip, Task, Work};
use model::param::{ParamValue, Point};
use tempfile::TempDir;

use super::fold::{Digest, Fold, combined};
use super::source::{Input, ReadingTask, Source};
use super::{experiment, http};
use crate::shared::default_point;

/// The arguments of the methods for the default values, replaced by these.
fn arguments(dir: &Path, values: &[(&str, ParamValue)]) -> Point {
    let experiment = experiment();
    let point = default_point(&experiment, values);
    (experiment.data)(&point, dir, &measure::stop::Stop::default()).unwrap().arguments
}

/// The arguments without the params that the method does not declare.
fn declared(experiment: &Experiment, method: &Method, arguments: &Point) -> Point {
    let is_param = |name: &str| experiment.params.iter().any(|param| param.name == name);
    arguments.only(|name| !is_param(name) || method.reads.contains(&name))
}

/// Each built-in method prepared for the arguments; only these two may be refused.
fn tasks(arguments: &Point) -> Vec<(String, Result<Box<dyn Task>>)> {
    let experiment = experiment();
    let is_file = arguments.text("source").unwrap() == "file";
    let mut tasks = Vec::new();
    for method in &experiment.methods {
        if let Execution::BuiltIn(build) = method.execution
            && method.competes_at(arguments)
        {
            let task = build(&declared(&experiment, method, arguments));
            if task.as_ref().is_err_and(anyhow::Error::is::<Skip>) {
                assert!(["direct", "io-uring"].contains(&method.name.as_str()), "{}", method.name);
            } else {
                tasks.push((method.name.clone(), task));
            }
        }
    }
    assert!(tasks.len() >= if is_file { 20 } else { 9 });
    tasks
}

fn naive_digest(bytes: &[u8]) -> u64 {
    let mut digest = Digest::at(0);
    digest.chunk(bytes);
    digest.result()
}

/// Checks that all methods give the result of the loop here.
fn check(arguments: &Point) {
    let parallel = arguments.number("parallel").unwrap();
    let (mut sum, mut digests, mut len) = (0, Vec::new(), 0);
    for index in 0..parallel {
        let bytes = fs::read(arguments.path(&super::source::argument(index)).unwrap()).unwrap();
        sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        digests.push(naive_digest(&bytes));
        len += bytes.len() as u64;
    }
    let digest = combined(digests);
    for (name, task) in tasks(arguments) {
        let mut task = task.unwrap();
        let answer = (!name.starts_with("bare-")).then_some(sum);
        // An unoptimised test takes long for a large file.
        let ops = if len < 100_000 { 3 } else { 1 };
        let work = task.run(ops).unwrap();
        assert_eq!(work, Work { ops, bytes: ops * len, answer }, "{name} {arguments}");
        let expected = (!name.starts_with("bare-")).then_some(digest);
        assert_eq!(task.digest().unwrap(), expected, "{name} {arguments}");
    }
}

#[test]
fn every_method_hands_over_every_byte_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for size in [1u64, 4095, 4096, 4097, (1 << 20) + 1] {
        for buffer in [1u64, 4096, 5000, 128 << 10] {
            if size / buffer < 100_000 {
                check(&arguments(dir.path(), &[("size", size.into()), ("buffer", buffer.into())]));
            }
        }
    }
    let large = (5u64 << 20) + 3;
    check(&arguments(dir.path(), &[("size", large.into())]));
}

#[test]
fn several_files_at_once_give_the_sum_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let values = [("size", 300_001u64.into()), ("parallel", 3u64.into())];
    check(&arguments(dir.path(), &values));
    let own = dir.path().join("own");
    fs::write(&own, [1, 2, 3]).unwrap();
    check(&arguments(dir.path(), &[("file", own.into()), ("parallel", 2u64.into())]));
}

#[test]
fn any_number_of_threads_and_reads_in_flight_will_do() {
    let dir = tempfile::tempdir().unwrap();
    for (threads, depth) in [(1u64, 1u64), (3, 3), (64, 100)] {
        for size in [1u64, 50_000] {
            check(&arguments(
                dir.path(),
                &[
                    ("size", size.into()),
                    ("buffer", 4096u64.into()),
                    ("threads", threads.into()),
                    ("depth", depth.into()),
                ],
            ));
        }
    }
}

/// Serves the same files from a server in this process, by HTTP or by TLS.
fn serve(source: &str, arguments: &mut Point) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("www")).unwrap();
    if source == "https" {
        http::serve::make_certificate(dir.path()).unwrap();
        arguments.set("certificates", http::serve::certificate_of(dir.path()));
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for index in 0..arguments.number("parallel").unwrap() {
        let file = arguments.path(&super::source::argument(index)).unwrap();
        std::os::unix::fs::symlink(file, dir.path().join(format!("www/{index}"))).unwrap();
        let url = format!("{source}://{address}/{index}");
        arguments.set(super::source::numbered("url", index), url.as_str());
    }
    arguments.set("source", source);
    let files = http::serve::ServedFiles::from_directory(dir.path()).unwrap();
    // The thread waits for connections until the tests end.
    std::thread::spawn(move || files.serve(&listener));
    dir
}

#[test]
fn every_client_gets_every_byte_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for source in ["http", "https"] {
        for (size, buffer, parallel) in
            [(1u64, 1u64, 1u64), (4097, 5000, 2), ((3 << 20) + 5, 128 << 10, 1)]
        {
            let values = [
                ("size", size.into()),
                ("buffer", buffer.into()),
                ("parallel", parallel.into()),
                ("ranges", 3u64.into()),
            ];
            let mut arguments = arguments(dir.path(), &values);
            let _server = serve(source, &mut arguments);
            check(&arguments);
        }
    }
}

/// Runs the task while its file has another size.
fn run_resized(task: &mut dyn Task, path: &Path, len: usize) -> Result<Work> {
    let whole = fs::read(path).unwrap();
    let mut bytes = whole.clone();
    bytes.resize(len, 1);
    fs::write(path, bytes).unwrap();
    let done = task.run(1);
    fs::write(path, whole).unwrap();
    done
}

#[test]
fn a_resource_that_is_not_as_it_was_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = arguments(dir.path(), &[("size", 20_000u64.into())]);
    let path = arguments.path("file").unwrap();
    let _server = serve("http", &mut arguments);
    let url = arguments.text("url").unwrap().to_owned();
    for (name, task) in tasks(&arguments) {
        let mut task = task.unwrap();
        for changed in [0, 12_345, 20_001] {
            let error = format!("{:#}", run_resized(&mut *task, &path, changed).expect_err(&name));
            assert!(error.contains(&url) && !error.contains('\n'), "{name}: {error}");
        }
        task.run(1).unwrap();
    }
}

/// A method that cheats: it changes the bytes before it passes them on.
struct Cheat(Input, fn(&mut Vec<u8>));

impl Source for Cheat {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut bytes = fs::read(&self.0.path)?;
        (self.1)(&mut bytes);
        fold.chunk(&bytes);
        Ok(())
    }
}

#[test]
fn a_source_that_skips_repeats_or_reorders_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = arguments(dir.path(), &[("size", 20_000u64.into())]);
    let results = |cheat| {
        let mut reading = ReadingTask::new(&arguments, |input| Ok(Cheat(input, cheat))).unwrap();
        (reading.run(1).unwrap().answer, reading.digest().unwrap())
    };
    let honest = results(|_| ());
    // Skipping a byte of 0, or changing the order, does not change the sum.
    for cheat in [
        (|bytes| bytes.swap(8, 9)) as fn(&mut Vec<u8>),
        |bytes| bytes.rotate_left(4096),
        |bytes| bytes.extend([0; 8]),
        |bytes| {
            let zero = bytes.iter().position(|byte| *byte == 0).unwrap();
            bytes.remove(zero);
        },
    ] {
        let (answer, digest) = results(cheat);
        assert_eq!(answer, honest.0);
        assert_ne!(digest, honest.1);
    }
}

#[test]
fn a_file_that_grows_or_shrinks_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = arguments(dir.path(), &[("size", 20_000u64.into())]);
    let path = arguments.path("file").unwrap();
    for (name, task) in tasks(&arguments) {
        let mut task = task.unwrap();
        for changed in [0, 12_288, 12_345, 20_001, 40_000] {
            let error = run_resized(&mut *task, &path, changed);
            if name == "memory" {
                error.unwrap();
                continue;
            }
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains(path.to_str().unwrap()), "{name}: {error}");
            assert!(error.contains("20000") && !error.contains('\n'), "{name}: {error}");
        }
        task.run(1).unwrap();
    }
}

#[test]
fn a_read_that_fails_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("directory");
    fs::create_dir(&directory).unwrap();
    let size = fs::metadata(&directory).unwrap().len();
    // Reads fail immediately: for the first path with EIO, for the second with EISDIR.
    for (path, size) in [(Path::new("/proc/self/mem"), 20_000), (&directory, size)] {
        let mut arguments = arguments(dir.path(), &[("size", 20_000u64.into())]);
        arguments.set("file", path.to_path_buf());
        arguments.set("size", size);
        for (name, task) in tasks(&arguments) {
            let Err(error) = task.and_then(|mut task| task.run(1)) else {
                panic!("{name} reads {}", path.display());
            };
            let error = format!("{error:#}");
            assert!(error.contains(path.to_str().unwrap()), "{name}: {error}");
            assert!(!error.contains('\n'), "{name}: {error}");
        }
    }
}

#[test]
fn a_failed_read_reports_the_offset() {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = arguments(dir.path(), &[("size", 1u64.into())]);
    arguments.set("file", "/proc/self/mem");
    for (name, task) in tasks(&arguments) {
        if ["read", "read-bytes", "buf-reader", "read-into-vec", "tokio-read"].contains(&&*name) {
            let error = format!("{:#}", task.unwrap().run(1).unwrap_err());
            let expected = "reading /proc/self/mem at offset 0: Input/output error (os error 5)";
            assert_eq!(error, expected, "{name}");
        }
    }
}

#[test]
fn what_does_not_fit_in_memory_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = arguments(dir.path(), &[("size", 1u64.into())]);
    arguments.set("size", 1u64 << 60);
    let experiment = experiment();
    for name in ["read-to-vec", "read-into-vec", "memory", "byte-stream-whole"] {
        let method = experiment.methods.iter().find(|method| method.name == name).unwrap();
        let Execution::BuiltIn(build) = method.execution else { panic!("{name} is built in") };
        let error = build(&arguments).err().expect("an error");
        assert!(error.is::<Skip>(), "{name}: {error:#}");
    }
}

#[test]
fn every_param_is_read_by_a_method_and_read_is_the_reference() {
    let experiment = experiment();
    for param in &experiment.params {
        let is_read = experiment.methods.iter().any(|method| method.reads.contains(&param.name));
        assert!(is_read, "no method reads {}", param.name);
    }
    assert_eq!(experiment.methods[0].name, "read");
}

/// A file whose second half is removed after it was opened, and the input that has the original
/// size.
pub(super) fn cut_file() -> (TempDir, Point, Input, File) {
    let dir = tempfile::tempdir().unwrap();
    let arguments =
        arguments(dir.path(), &[("size", 40_960u64.into()), ("buffer", 8192u64.into())]);
    let path: PathBuf = arguments.path("file").unwrap();
    let file = File::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(20_000).unwrap();
    (dir, arguments, Input { path, size: 40_960 }, file)
}

/// Checks the error of reading such a file.
pub(super) fn check_cut<T>(result: Result<T>) {
    let error = format!("{:#}", result.err().expect("an error"));
    assert!(error.ends_with("ended at offset 20000 of 40960: it has been cut"), "{error}");
}
