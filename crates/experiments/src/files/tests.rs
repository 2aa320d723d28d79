//! Every method on a real directory; a refusal there must be a skip, and an error must name the
//! file.

use std::fs;
use std::path::Path;

use measure::experiment::{Data, Execution, Method, Skip, Task};
use measure::stop::Stop;
use model::param::{ParamValue, Point};

use super::experiment;

/// Calls `check` for each method at a few points of this directory.
fn each(dir: &Path, mut check: impl FnMut(&Method, &Point, anyhow::Result<Box<dyn Task>>)) {
    let experiment = experiment();
    for method in &experiment.methods {
        let Execution::BuiltIn(build) = method.execution else {
            panic!("{} is not built in", method.name)
        };
        let axes: Vec<(&str, Vec<ParamValue>)> = method
            .reads
            .iter()
            .map(|name| match *name {
                "job" => ("job", vec![method.job.unwrap().into()]),
                "dir" => ("dir", vec![dir.to_path_buf().into()]),
                "size" => ("size", [0, 1, 5000, 300_000].map(ParamValue::from).to_vec()),
                "span" => ("span", [4096, 500_000].map(ParamValue::from).to_vec()),
                "entries" => ("entries", [0, 1, 2500].map(ParamValue::from).to_vec()),
                _ => panic!("a new param {name}"),
            })
            .collect();
        for point in Point::product(&axes) {
            let Data { arguments, guard, .. } =
                (experiment.data)(&point, dir, &Stop::default()).unwrap();
            check(method, &arguments, build(&arguments));
            drop(guard);
        }
    }
}

/// A directory next to the program: the directory for temporary files may be in memory.
fn on_the_device() -> tempfile::TempDir {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    tempfile::tempdir_in(folder).unwrap()
}

#[test]
fn every_method_does_its_work_several_times_and_leaves_nothing() {
    let dir = on_the_device();
    let mut digests: Vec<(Point, u64)> = Vec::new();
    let mut n = 0;
    each(dir.path(), |method, point, task| {
        let mut task = match task {
            Ok(task) => task,
            Err(error) => {
                assert!(error.is::<Skip>(), "{} {point}: {error:#}", method.name);
                assert_eq!(method.job, Some("random-cold"), "{error:#}");
                return;
            }
        };
        if let Some(digest) = task.digest().unwrap() {
            let known = point.only(|name| ["job", "size", "span"].contains(&name));
            match digests.iter().find(|(point, _)| *point == known) {
                Some((_, other)) => assert_eq!(digest, *other, "{} {known}", method.name),
                None => digests.push((known, digest)),
            }
        }
        for ops in [1, 3] {
            let work = task.run(ops).unwrap();
            assert!(work.ops >= 1 && work.answer.is_none(), "{} {point}", method.name);
            if method.job == Some("read") {
                assert_eq!(work.bytes, work.ops * point.number("size").unwrap());
            }
            for (name, value) in task.metrics() {
                let known = ["create_ns", "write_ns", "close_ns", "sync_ns", "again_ratio"];
                assert!(known.contains(&name) && value >= 0.0, "{} {name} {value}", method.name);
            }
            task.between().unwrap();
        }
        n += 1;
    });
    assert!(n >= 40, "{n}");
    // The marker of the last run's end is in the data folder, which is this one.
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["files-ended"]);
}

#[test]
fn a_created_file_has_its_size_until_it_is_emptied() {
    let dir = on_the_device();
    let experiment = experiment();
    let method = experiment.methods.iter().find(|m| m.name == "create-write-close").unwrap();
    let Execution::BuiltIn(build) = method.execution else { panic!() };
    let mut point = Point::default();
    point.set("job", "create");
    point.set("dir", dir.path().to_path_buf());
    // Two of them remain.
    let size = 60u64 << 20;
    point.set("size", size);
    let data = (experiment.data)(&point, dir.path(), &Stop::default()).unwrap();
    let mut task = build(&data.arguments).unwrap();
    let sizes = || {
        let mut sizes = Vec::new();
        let mut folders = vec![data.arguments.path("folder").unwrap()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.metadata().unwrap() {
                    metadata if metadata.is_dir() => folders.push(entry.path()),
                    metadata => sizes.push(metadata.len()),
                }
            }
        }
        sizes.sort_unstable();
        sizes
    };
    for expected in [vec![size], vec![size, size], vec![0, size, size]] {
        task.run(1).unwrap();
        task.between().unwrap();
        assert_eq!(sizes(), expected);
    }
    drop(task);
    assert_eq!(sizes(), [0, 0, 0], "the next session needs the space");
}

#[test]
fn a_directory_that_is_removed_meanwhile_is_an_error_that_names_it() {
    let dir = on_the_device();
    each(dir.path(), |method, point, task| {
        let Ok(mut task) = task else { return };
        let Ok(folder) = point.path("folder") else { return };
        // Removes all content, as the lock is on the folder itself.
        fs::remove_dir_all(&folder).unwrap();
        let outcome = task.run(1).and_then(|_| task.between());
        fs::create_dir(&folder).unwrap();
        // A method that keeps a file open does not need its name.
        let open = ["pread", "random-pread", "random-mmap", "cold-direct", "fsync", "fdatasync"];
        let open = open.iter().chain(&["o-dsync", "append", "append-buffered", "append-durable"]);
        if open.chain(&["fstat"]).any(|name| method.name == *name) {
            return;
        }
        let error = format!("{:#}", outcome.unwrap_err());
        let named = error.contains(folder.to_str().unwrap()) && !error.contains('\n');
        assert!(named && error.contains("No such file"), "{} {point}: {error}", method.name);
    });
}

#[test]
fn what_needs_more_space_or_memory_than_there_is_is_skipped() {
    let dir = on_the_device();
    let experiment = experiment();
    for (job, name, number) in [
        ("read", "pread", "size"),
        ("random", "random-pread", "span"),
        ("create", "create-write-close", "size"),
        ("unlink", "unlink", "size"),
        ("map", "map-touch", "size"),
    ] {
        let mut point = Point::default();
        point.set("job", job);
        point.set("dir", dir.path().to_path_buf());
        point.set(number, 1u64 << 50);
        let data = (experiment.data)(&point, dir.path(), &Stop::default()).unwrap();
        let method = experiment.methods.iter().find(|method| method.name == name).unwrap();
        let Execution::BuiltIn(build) = method.execution else { panic!() };
        let error = build(&data.arguments).err().expect("a refusal");
        assert!(error.is::<Skip>(), "{name}: {error:#}");
        let text = error.to_string();
        let space = text.starts_with("needs ") && text.ends_with("are free");
        let memory = text.starts_with("touches ") && text.ends_with("of memory that there are");
        assert!(if job == "map" { memory } else { space }, "{name}: {text}");
    }
}
