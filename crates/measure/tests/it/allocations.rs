//! The allocations of foreign programs: exact to the byte, in threads and in children, with a
//! reason for each program whose allocations cannot be counted.

use measure::experiment::{Command, Execution, Method};
use model::run::{Cell, Plan, Run, Status};

use crate::script::{GOOD, cell, method, plan, python, run, script};

fn counted(methods: Vec<Method>) -> Run {
    run(methods, Plan { counting: 3, ..plan(2) })
}

fn values(cell: &Cell, metric: &str) -> Vec<f64> {
    cell.counted(metric).map(|(_, value)| value).collect()
}

fn why<'a>(run: &'a Run, method: &str) -> Option<&'a str> {
    let mut notes = run.notes.iter().filter(|note| note.method.as_deref() == Some(method));
    notes
        .find_map(|note| note.missing_metric().filter(|(name, _)| *name == "allocations"))
        .map(|(_, why)| why)
}

/// A worker in Python whose job is `job`, with the C library as `libc`.
fn with_libc(name: &str, job: &str) -> Method {
    let text = format!(
        "import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.labs.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
kept = [None] * 1000
def job():
    {job}"
    );
    python(name, &text)
}

#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn measured(run: &Run, method: &str) -> bool {
    let status = &cell(run, method).status;
    if let Status::Skipped(why) = status {
        println!("skipped: {why}");
    }
    *status == Status::Measured
}

#[test]
fn the_allocations_of_a_worker_are_counted_to_the_byte() {
    let all = "for i in range(1000): kept[i] = libc.malloc(1000)
    for i in range(1000): libc.free(kept[i])";
    let none = "for i in range(1000): kept[i] = libc.labs(1000)
    for i in range(1000): libc.labs(kept[i])";
    let run = counted(vec![with_libc("all", all), with_libc("none", none), script("a", GOOD)]);
    if !measured(&run, "all") {
        return;
    }
    let less = |metric: &str| -> Vec<f64> {
        let [all, none] = ["all", "none"].map(|method| values(cell(&run, method), metric));
        assert!(all.len() >= 2 && none.len() >= 2, "{metric}: {:?}", run.notes);
        all.iter().zip(&none).map(|(all, none)| all - none).collect()
    };
    let is = |metric: &str, n: f64| less(metric).iter().all(|less| (less - n).abs() < 0.5);
    assert!(is("allocations", 1000.0) && is("allocated_bytes", 1_000_000.0), "{:?}", run.notes);
    // The allocator provides a little more than requested, and Python frees some buffers first.
    let peaks = values(cell(&run, "all"), "peak_live_bytes");
    assert!(peaks.iter().all(|peak| (980_000.0..1_050_000.0).contains(peak)), "{peaks:?}");
    // The calls of the library at the start of a process are in no other count.
    let of_library = values(cell(&run, "a"), "syscalls");
    assert!(of_library.len() >= 2, "{:?}", run.notes);
    assert_eq!(of_library, vec![0.0; of_library.len()], "{:?}", run.notes);
}

#[test]
fn the_allocations_of_children_are_counted_apart_from_those_of_their_parent() {
    let job = "child = os.fork()
    for i in range(1000): libc.free(libc.malloc(7_000_000))
    if child == 0: os._exit(0)
    os.waitpid(child, 0)";
    let run = counted(vec![with_libc("fork", job), script("a", GOOD)]);
    if measured(&run, "fork") {
        let found = values(cell(&run, "fork"), "allocated_bytes");
        let of_both = |bytes: &f64| (14e9..14.1e9).contains(bytes);
        assert!(found.len() >= 2 && found.iter().all(of_both), "{found:?} {:?}", run.notes);
    }
}

#[test]
fn a_program_without_the_library_is_not_countable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("static");
    let source = dir.path().join("source");
    std::fs::write(&source, static_program()).unwrap();
    // A program that another test starts meanwhile has what is open here open until it is executed,
    // and a file that is open for writing cannot be executed.
    #[expect(clippy::disallowed_methods, reason = "no other process may inherit the open file")]
    let mut install = std::process::Command::new("install");
    let done = install.args(["-m", "755"]).arg(source).arg(&path).status().unwrap();
    assert!(done.success(), "{done}");
    let argv = vec![path.to_str().unwrap().to_owned()];
    let methods = [("static", argv), ("true", vec!["/bin/true".to_owned()])];
    let methods =
        methods.map(|(name, argv)| method(name, Execution::Command(Command::plain(argv))));
    let run = counted(methods.into_iter().chain([script("a", GOOD)]).collect());
    let reason = "not countable: it is a static program; a worker may report its own counts";
    if cfg!(target_arch = "x86_64") {
        assert_eq!(cell(&run, "static").status, Status::Measured);
        assert_eq!(why(&run, "static"), Some(reason), "{:?}", run.notes);
    }
    assert!(values(cell(&run, "static"), "allocations").is_empty());
    assert_eq!(why(&run, "true"), None, "{:?}", run.notes);
    assert!(values(cell(&run, "true"), "allocations").len() >= 2);
}

/// The smallest program: it ends with status 0 (x86-64).
fn static_program() -> Vec<u8> {
    const CODE: &[u8] = &[0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
    const BASE: u64 = 0x40_0000;
    let mut image = b"\x7fELF\x02\x01\x01".to_vec();
    image.resize(16, 0);
    let half = |image: &mut Vec<u8>, values: &[u16]| {
        image.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let long = |image: &mut Vec<u8>, values: &[u64]| {
        image.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let len = 120 + CODE.len() as u64;
    half(&mut image, &[2, 62, 1, 0]);
    long(&mut image, &[BASE + 120, 64, 0]);
    half(&mut image, &[0, 0, 64, 56, 1, 0, 0, 0]);
    half(&mut image, &[1, 0, 5, 0]);
    long(&mut image, &[0, BASE, BASE, len, len, 0x1000]);
    image.extend(CODE);
    image
}

#[test]
fn a_worker_that_the_library_disturbs_keeps_its_other_counts() {
    let fragile = GOOD.replace("echo \"hello", "[ -n \"$LD_PRELOAD\" ] && exit 5; echo \"hello");
    let run = counted(vec![script("fragile", &fragile), script("a", GOOD)]);
    let fragile = cell(&run, "fragile");
    assert!(values(fragile, "allocations").is_empty());
    let reason = why(&run, "fragile").unwrap();
    assert!(reason.starts_with("not countable: ended with exit status 5"), "{reason}");
    assert_eq!(values(fragile, "syscalls"), values(cell(&run, "a"), "syscalls"));
}

#[test]
fn a_program_with_its_own_allocator_is_not_countable() {
    const SOURCE: &str = "static char pool[1 << 20]; static unsigned long used;
void *malloc(unsigned long n) { used += 64; return pool + used + (n & 0); }
void free(void *p) { (void)p; }
int main(void) { return malloc(1) == 0; }";
    let dir = tempfile::tempdir().unwrap();
    let [source, program] = ["own.c", "own"].map(|name| dir.path().join(name));
    std::fs::write(&source, SOURCE).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a compiler is no method of an experiment")]
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.args(["-fno-builtin", "-w", "-o"]).args([&program, &source]).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("skipped: there is no C compiler");
        return;
    }
    let argv = vec![program.to_str().unwrap().to_owned()];
    let run =
        counted(vec![script("a", GOOD), method("own", Execution::Command(Command::plain(argv)))]);
    assert_eq!(cell(&run, "own").status, Status::Measured);
    assert!(values(cell(&run, "own"), "allocations").is_empty());
    assert!(why(&run, "own").unwrap().contains("it brings its own allocator"), "{:?}", run.notes);
}

#[test]
fn a_worker_that_has_put_the_library_away_is_not_countable() {
    // The same process sent its hello before, as another program.
    let text = "unset LD_PRELOAD; exec /bin/sh -c \"$WORKER\"";
    let argv = ["/usr/bin/env", &format!("WORKER={GOOD}"), "/bin/sh", "-c", text];
    let worker = method("b", Execution::Worker { argv: argv.map(str::to_owned).to_vec() });
    let run = counted(vec![script("a", GOOD), worker]);
    assert_eq!(cell(&run, "b").status, Status::Measured);
    assert!(values(cell(&run, "b"), "allocations").is_empty());
    let reason = why(&run, "b").unwrap();
    assert!(reason.contains("it does not load the library that counts"), "{reason}");
    assert_eq!(values(cell(&run, "a"), "allocations").len(), 2, "{:?}", run.notes);
}
