//! Every method with every pair of kinds: either all bytes arrive, or the method gives the reason
//! why it cannot run.

use measure::experiment::{Execution, Skip};
use model::param::Point;

use super::experiment;

fn arguments(dir: &std::path::Path, input: &str, output: &str, size: u64) -> Point {
    let experiment = experiment();
    let mut point = Point::default();
    for param in &experiment.params {
        point.set(param.name, param.parse(param.default).unwrap().remove(0));
    }
    point.set("size", size);
    point.set("input", input);
    point.set("output", output);
    (experiment.data)(&point, dir, &measure::stop::Stop::default()).unwrap().arguments
}

/// How many methods copied, and how many do not compete.
fn copies_from(input: &str) -> [u32; 2] {
    let dir = tempfile::tempdir().unwrap();
    let [mut done, mut left_out] = [0, 0];
    for output in ["null", "file", "pipe", "socket"] {
        for size in [1, 300_001] {
            let point = arguments(dir.path(), input, output, size);
            for method in experiment().methods {
                let Execution::BuiltIn(build) = method.execution else { continue };
                if !method.competes_at(&point) {
                    left_out += 1;
                    continue;
                }
                let what = format!("{} {input} {output} {size}", method.name);
                match build(&point) {
                    Ok(mut task) => {
                        let digest = task.digest().unwrap_or_else(|e| panic!("{what}: {e:#}"));
                        assert_eq!(digest, (output != "null").then_some(size), "{what}");
                        let work = task.run(2).unwrap_or_else(|e| panic!("{what}: {e:#}"));
                        assert_eq!((work.ops, work.bytes, work.answer), (2, 2 * size, Some(size)));
                        assert_eq!(task.metrics()[0].0, "cpu_ns");
                        done += 1;
                    }
                    Err(error) => {
                        assert!(error.is::<Skip>(), "{what}: {error:#}");
                        // Methods that may not be installed, or that a kernel may refuse.
                        let may = ["pv", "gnu-cat", "uutils-cat", "io-uring"];
                        assert!(may.contains(&method.name.as_str()), "{what}: {error:#}");
                    }
                }
            }
        }
    }
    [done, left_out]
}

#[test]
fn every_method_copies_every_byte_between_all_kinds() {
    let counts = std::thread::scope(|scope| {
        let threads =
            ["file", "pipe", "socket"].map(|input| scope.spawn(move || copies_from(input)));
        threads.map(|thread| thread.join().unwrap())
    });
    let [done, left_out] = [0, 1].map(|i| counts.iter().map(|of_input| of_input[i]).sum::<u32>());
    assert!(done > 200, "{done}");
    #[cfg(target_os = "linux")]
    assert_eq!(
        left_out / 2,
        8 + 11 + 11 + 9 + 8,
        "sendfile, copy-file-range, cp, vmsplice, mmap-write"
    );
}

#[test]
fn a_reader_that_drops_needs_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let mut point = arguments(dir.path(), "file", "pipe", 1000);
    point.set("reader", "drops");
    let experiment = experiment();
    assert!((experiment.data)(&point, dir.path(), &measure::stop::Stop::default()).is_ok());
    for method in experiment.methods.iter().filter(|method| method.competes_at(&point)) {
        let Execution::BuiltIn(build) = method.execution else { continue };
        if let Ok(mut task) = build(&point) {
            assert_eq!(task.run(1).unwrap().bytes, 1000, "{}", method.name);
        }
    }
    point.set("output", "file");
    assert!((experiment.data)(&point, dir.path(), &measure::stop::Stop::default()).is_err());
}
