//! The comparisons. A goal is the factor by which `bytelab sample` should be faster than its peer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::child::{self, Program};
use crate::data;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) goal: &'static str,
    pub(crate) ours: Program,
    pub(crate) peer: Option<Program>,
    pub(crate) state: State,
}

/// The state of a file in the page cache.
pub(crate) enum State {
    AsIs,
    /// The file is cached as by read-ahead.
    Warm(PathBuf),
    /// A copy in single pages, of which a fault maps fewer at once.
    SinglePages {
        from: PathBuf,
        to: PathBuf,
    },
    /// Not at all.
    Cold(PathBuf),
}

impl State {
    pub(crate) fn before_all(&self) -> io::Result<()> {
        match self {
            State::AsIs | State::Cold(_) => Ok(()),
            State::Warm(path) => child::warm(path),
            State::SinglePages { from, to } => child::copy_in_pages(from, to),
        }
    }

    pub(crate) fn before_each(&self) -> io::Result<()> {
        if let State::Cold(path) = self { child::evict(path) } else { Ok(()) }
    }
}

/// The paths of the files and the programs.
pub(crate) struct Inputs {
    lines: PathBuf,
    indexed: PathBuf,
    fixed: PathBuf,
    csv: PathBuf,
    fastq: PathBuf,
    bytelab: String,
    seekg: String,
}

impl Inputs {
    pub(crate) fn prepare(dir: &Path) -> io::Result<Inputs> {
        fs::create_dir_all(dir)?;
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/bytelab");
        let bytelab = std::env::var("BYTELAB").unwrap_or_else(|_| target.display().to_string());
        let seekg = dir.join("seekg").display().to_string();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/seekg.cpp");
        let _ = run(&["c++", "-O2", "-o", &seekg, source]);
        let lines = data::lines(dir)?;
        let indexed = dir.join("lines-with-index");
        if !indexed.exists() {
            fs::hard_link(&lines, &indexed)?;
        }
        let zst = lines.with_extension("zst");
        if !zst.exists() {
            let (lines, zst) = (lines.display().to_string(), zst.display().to_string());
            let _ = run(&["zstd", "-q", &lines, "-o", &zst]);
        }
        let (fixed, csv, fastq) = (data::fixed(dir)?, data::csv(dir)?, data::fastq(dir)?);
        let inputs = Inputs { lines, indexed, fixed, csv, fastq, bytelab, seekg };
        let indexed = inputs.indexed.display().to_string();
        run(&[&inputs.bytelab, "sample", &indexed, "-n", "1", "--index"])?;
        Ok(inputs)
    }
}

impl Case {
    /// Whether the peer is installed, if there is one.
    pub(crate) fn is_possible(&self) -> bool {
        let programs = self.peer.iter().flat_map(|peer| peer.piped.iter().chain([&peer.argv]));
        programs.into_iter().all(|argv| run(&[&argv[0], "--version"]).is_ok())
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench starts what it compares with")]
fn run(argv: &[&str]) -> io::Result<()> {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(drop)
}

pub(crate) fn all(inputs: &Inputs) -> Vec<Case> {
    [lines(inputs), fixed(inputs), tables(inputs)].into_iter().flatten().collect()
}

const MAPPED: &str = "-n 1000 --method mmap";
const SHUFFLED: &str = "-n 1000000 --shuffle";
const ALL_SHUFFLED: &str = "-p 1 --shuffle";
const ALL_IN_LITTLE_MEMORY: &str = "-p 1 --shuffle --memory 64MiB";
/// Records beyond 256 MiB go to a temporary file.
const ALL_COPIED: &str = "-p 1 --shuffle --method pread";

fn lines(inputs: &Inputs) -> Vec<Case> {
    let Inputs { lines: path, indexed, bytelab, .. } = inputs;
    let (lines, indexed) = (path.display().to_string(), indexed.display().to_string());
    let ours = |rest: &str| Program::new(&format!("{bytelab} sample {rest} -o /dev/null"));
    let peer = |command: &str, n: u32| Some(Program::new(&format!("{command} {n} {lines}")));
    let all = || peer("shuf -n", u32::MAX);
    let case = |name, goal, options: &str, peer| {
        let ours = ours(&format!("{lines} {options}"));
        Case { name, goal, ours, peer, state: State::Warm(path.clone()) }
    };
    let indexed = |name, goal, n: u32| Case {
        ours: ours(&format!("{indexed} -n {n} --index")),
        ..case(name, goal, "", peer("shuf -n", n))
    };
    let piped = |name, goal, feeder: &str| {
        let by = |mut program: Program| {
            program.piped = Some(Program::new(&format!("{feeder} {lines}")).argv);
            program
        };
        let peer = Some(by(Program::new("shuf -n 1000")));
        Case { ours: by(ours("-n 1000")), ..case(name, goal, "", peer) }
    };
    vec![
        case("lines mapped n=1000", "25", MAPPED, peer("shuf -n", 1000)),
        case(
            "lines mapped n=1000, in order",
            "7",
            MAPPED,
            peer("tsv-sample --inorder --num", 1000),
        ),
        case("lines mapped n=1000, uutils", "", MAPPED, peer(&uutils(), 1000)),
        case("lines mapped n=1000, xsv", "", MAPPED, peer("xsv sample --no-headers", 1000)),
        case("lines read n=1000", "18", "-n 1000 --method pread", peer("shuf -n", 1000)),
        case("lines auto n=1000", "25", "-n 1000", peer("shuf -n", 1000)),
        // `shuf` and `tsv-sample` put their lines in random order, which of many is most of the
        // work.
        case("lines shuffled n=1000000", "6", SHUFFLED, peer("shuf -n", 1_000_000)),
        case("lines shuffled n=1000000, tsv", "3.5", SHUFFLED, peer("tsv-sample --num", 1_000_000)),
        case("lines shuffled, all of them", "1.5", ALL_SHUFFLED, all()),
        case("lines shuffled, all, 64 MiB", "1.5", ALL_IN_LITTLE_MEMORY, all()),
        case("lines shuffled, all, not mapped", "1.5", ALL_COPIED, all()),
        case(
            "lines mapped n=1000000, in order",
            "",
            "-n 1000000 --method mmap",
            peer("tsv-sample --inorder --num", 1_000_000),
        ),
        case(
            "lines auto n=1000000, in order",
            "",
            "-n 1000000",
            peer("tsv-sample --inorder --num", 1_000_000),
        ),
        piped("lines piped by cat n=1000", "17", "cat"),
        piped("lines piped by bytelab n=1000", "17", &format!("{bytelab} cat")),
        indexed("lines index n=10", "1000", 10),
        indexed("lines index n=1000", "150", 1000),
        case("lines probed n=10", "2 ms", "-n 10 --method probe --min-length 20", None),
        case("lines probed n=10, min unknown", "2 ms", "-n 10 --method probe", None),
        Case {
            ours: Program::new(&format!("{bytelab} sample --format lines -n 0 /dev/null")),
            state: State::AsIs,
            ..case("start of the program", "", "", None)
        },
    ]
}

/// Rows of CSV, reads of FASTQ and compressed files.
fn tables(inputs: &Inputs) -> Vec<Case> {
    let Inputs { lines, csv, fastq, bytelab, .. } = inputs;
    let ours = |path: &Path, rest: &str| {
        Program::new(&format!("{bytelab} sample {} {rest} -o /dev/null", path.display()))
    };
    let peer = |command: &str, path: &Path| Program::new(&format!("{command} {}", path.display()));
    let case = |name, goal, path: &PathBuf, options: &str, peer| {
        let state = State::Warm(path.clone());
        Case { name, goal, ours: ours(path, options), peer: Some(peer), state }
    };
    let (thousand, per) = ("--format csv --header -n 1000", "--format csv --header --per key=10");
    let zst = lines.with_extension("zst");
    let piped = Program {
        piped: Some(Program::new(&format!("zstd -dcq {}", zst.display())).argv),
        ..Program::new(&format!("{bytelab} sample -n 1000 -o /dev/null"))
    };
    vec![
        case("CSV n=1000", "5", csv, thousand, peer("xan sample 1000", csv)),
        case("CSV n=1000, tsv", "3", csv, thousand, peer("tsv-sample -H --num 1000", csv)),
        case("CSV n=1000, mlr", "", csv, thousand, peer("mlr --csv sample -k 1000", csv)),
        case("CSV 10 of each key", "2.5", csv, per, peer("xan sample 10 -g key", csv)),
        case("CSV 10 of each key, mlr", "", csv, per, peer("mlr --csv sample -k 10 -g key", csv)),
        case("zst n=1000", "1", &zst, "-n 1000", piped),
        case(
            "FASTQ n=1000",
            "",
            fastq,
            "--format fastq -n 1000",
            peer("seqkit sample -n 1000 -j 2 -o /dev/null", fastq),
        ),
    ]
}

/// Its binary is called `shuf`, too: the variable `UU_SHUF` names it.
fn uutils() -> String {
    let path = std::env::var("UU_SHUF");
    format!("{} -n", path.as_deref().unwrap_or("/usr/lib/cargo/bin/coreutils/shuf"))
}

fn fixed(inputs: &Inputs) -> Vec<Case> {
    let Inputs { fixed: path, bytelab, seekg, .. } = inputs;
    let fixed = path.display();
    let ours = |n: u32, method: &str| {
        Program::new(&format!(
            "{bytelab} sample {fixed} --format fixed:64 -n {n} --method {method} -o /dev/null"
        ))
    };
    let peer = |n: u32| Some(Program::new(&format!("{seekg} {fixed} 64 {n} 1 /dev/null")));
    let case = |name, goal, ours, peer, state| Case { name, goal, ours, peer, state };
    let warm = |name, goal, ours, peer| case(name, goal, ours, peer, State::Warm(path.clone()));
    let cold = |name, goal, ours, peer| case(name, goal, ours, peer, State::Cold(path.clone()));
    let pages = path.with_extension("pages");
    let in_pages = |name, n: u32, method: &str| {
        let state = State::SinglePages { from: path.clone(), to: pages.clone() };
        let mut ours = ours(n, method);
        ours.argv[2] = pages.display().to_string();
        case(name, "", ours, None, state)
    };
    let mut cases = vec![
        warm("fixed n=1000", "2", ours(1000, "auto"), peer(1000)),
        warm("fixed n=100000", "16", ours(100_000, "auto"), peer(100_000)),
        warm("fixed n=1000000", "15", ours(1_000_000, "auto"), peer(1_000_000)),
        cold("cold fixed n=1000", "3", ours(1000, "auto"), peer(1000)),
        cold("cold fixed uring n=1000", "3", ours(1000, "uring"), peer(1000)),
        cold("cold fixed auto n=100000", "", ours(100_000, "auto"), None),
    ];
    // The methods that the model chooses from.
    for (name, n, method) in WAYS {
        cases.push(warm(name, "", ours(*n, method), None));
    }
    for (name, n, method) in PAGE_WAYS {
        cases.push(in_pages(name, *n, method));
    }
    for (name, n, method) in COLD_WAYS {
        cases.push(cold(name, "", ours(*n, method), None));
    }
    cases
}

const WAYS: &[(&str, u32, &str)] = &[
    ("way pread n=1000", 1000, "pread"),
    ("way mmap n=1000", 1000, "mmap"),
    ("way auto n=10000", 10_000, "auto"),
    ("way pread n=10000", 10_000, "pread"),
    ("way mmap n=10000", 10_000, "mmap"),
    ("way pread n=100000", 100_000, "pread"),
    ("way mmap n=100000", 100_000, "mmap"),
    ("way sequential n=100000", 100_000, "sequential"),
    ("way pread n=1000000", 1_000_000, "pread"),
    ("way mmap n=1000000", 1_000_000, "mmap"),
    ("way sequential n=1000000", 1_000_000, "sequential"),
];

const PAGE_WAYS: &[(&str, u32, &str)] = &[
    ("pages way auto n=10000", 10_000, "auto"),
    ("pages way pread n=10000", 10_000, "pread"),
    ("pages way mmap n=10000", 10_000, "mmap"),
    ("pages way pread n=100000", 100_000, "pread"),
    ("pages way mmap n=100000", 100_000, "mmap"),
    ("pages way sequential n=100000", 100_000, "sequential"),
    ("pages way mmap n=1000000", 1_000_000, "mmap"),
    ("pages way sequential n=1000000", 1_000_000, "sequential"),
];

const COLD_WAYS: &[(&str, u32, &str)] = &[
    ("cold way mmap n=1000", 1000, "mmap"),
    ("cold way pread n=10000", 10_000, "pread"),
    ("cold way uring n=10000", 10_000, "uring"),
    ("cold way sequential n=10000", 10_000, "sequential"),
    ("cold way pread n=30000", 30_000, "pread"),
    ("cold way uring n=30000", 30_000, "uring"),
    ("cold way pread n=100000", 100_000, "pread"),
    ("cold way uring n=100000", 100_000, "uring"),
    ("cold way sequential n=100000", 100_000, "sequential"),
];
