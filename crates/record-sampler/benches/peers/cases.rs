//! What is held against what. A goal is how many times as fast as its peer `bytelab sample` is to be.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::child::Program;
use crate::data;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) goal: &'static str,
    pub(crate) ours: Program,
    pub(crate) peer: Option<Program>,
    /// What is dropped from the page cache before each run.
    pub(crate) cold: Option<PathBuf>,
}

/// Where the files and the programs are.
pub(crate) struct Place {
    lines: PathBuf,
    indexed: PathBuf,
    fixed: PathBuf,
    bytelab: String,
    seekg: String,
}

impl Place {
    pub(crate) fn prepare(dir: &Path) -> io::Result<Place> {
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
        let place = Place { lines, indexed, fixed: data::fixed(dir)?, bytelab, seekg };
        let indexed = place.indexed.display().to_string();
        run(&[&place.bytelab, "sample", &indexed, "-n", "1", "--index"])?;
        Ok(place)
    }
}

impl Case {
    /// Whether the peer is installed, if there is one.
    pub(crate) fn is_possible(&self) -> bool {
        self.peer.as_ref().is_none_or(|peer| run(&[&peer.argv[0], "--version"]).is_ok())
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench starts what it compares with")]
fn run(argv: &[&str]) -> io::Result<()> {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(drop)
}

pub(crate) fn all(place: &Place) -> Vec<Case> {
    [lines(place), fixed(place)].into_iter().flatten().collect()
}

fn lines(place: &Place) -> Vec<Case> {
    let Place { lines, indexed, bytelab, .. } = place;
    let (lines, indexed) = (lines.display().to_string(), indexed.display().to_string());
    let ours = |rest: &str| Program::new(&format!("{bytelab} sample {rest} -o /dev/null"));
    let shuf = |n: u32| Some(Program::new(&format!("shuf -n {n} {lines}")));
    let piped = |mut program: Program| {
        program.piped = Some(lines.clone());
        program
    };
    let tsv = || Some(Program::new(&format!("tsv-sample --inorder --num 1000 {lines}")));
    let case = |name, goal, ours, peer| Case { name, goal, ours, peer, cold: None };
    vec![
        case(
            "lines mapped n=1000",
            "25",
            ours(&format!("{lines} -n 1000 --method mmap")),
            shuf(1000),
        ),
        case(
            "lines mapped n=1000 in order",
            "7",
            ours(&format!("{lines} -n 1000 --method mmap")),
            tsv(),
        ),
        case(
            "lines read n=1000",
            "18",
            ours(&format!("{lines} -n 1000 --method pread")),
            shuf(1000),
        ),
        case("lines auto n=1000", "25", ours(&format!("{lines} -n 1000")), shuf(1000)),
        case(
            "lines mapped n=1000000",
            "17",
            ours(&format!("{lines} -n 1000000 --method mmap")),
            shuf(1_000_000),
        ),
        case("lines auto n=1000000", "17", ours(&format!("{lines} -n 1000000")), shuf(1_000_000)),
        case(
            "lines piped n=1000",
            "17",
            piped(ours("-n 1000")),
            Some(piped(Program::new("shuf -n 1000"))),
        ),
        case("lines index n=10", "1000", ours(&format!("{indexed} -n 10 --index")), shuf(10)),
        case("lines index n=1000", "150", ours(&format!("{indexed} -n 1000 --index")), shuf(1000)),
        case(
            "lines probed n=10",
            "2 ms",
            ours(&format!("{lines} -n 10 --method probe --min-length 20")),
            None,
        ),
        case(
            "lines probed n=10, min unknown",
            "2 ms",
            ours(&format!("{lines} -n 10 --method probe")),
            None,
        ),
        case("start of the program", "", Program::new(&format!("{bytelab} --version")), None),
    ]
}

fn fixed(place: &Place) -> Vec<Case> {
    let Place { fixed, bytelab, seekg, .. } = place;
    let cold = fixed.clone();
    let fixed = fixed.display();
    let ours = |n: u32, method: &str| {
        Program::new(&format!(
            "{bytelab} sample {fixed} --format fixed:64 -n {n} --method {method} -o /dev/null"
        ))
    };
    let seekg = |n: u32| Some(Program::new(&format!("{seekg} {fixed} 64 {n} 1 /dev/null")));
    let warm = |name, goal, ours, peer| Case { name, goal, ours, peer, cold: None };
    let cold = |name, goal, ours, peer| Case { name, goal, ours, peer, cold: Some(cold.clone()) };
    vec![
        warm("fixed n=1000", "2", ours(1000, "auto"), seekg(1000)),
        warm("fixed n=100000", "16", ours(100_000, "auto"), seekg(100_000)),
        warm("fixed n=1000000", "15", ours(1_000_000, "auto"), seekg(1_000_000)),
        warm("fixed mmap n=100000", "", ours(100_000, "mmap"), None),
        warm("fixed pread n=100000", "", ours(100_000, "pread"), None),
        warm("fixed sequential n=100000", "", ours(100_000, "sequential"), None),
        warm("fixed mmap n=1000000", "", ours(1_000_000, "mmap"), None),
        warm("fixed sequential n=1000000", "", ours(1_000_000, "sequential"), None),
        cold("cold fixed n=1000", "3", ours(1000, "auto"), seekg(1000)),
        cold("cold fixed n=100000", "", ours(100_000, "auto"), None),
        cold("cold fixed pread n=100000", "", ours(100_000, "pread"), None),
        cold("cold fixed sequential n=100000", "", ours(100_000, "sequential"), None),
    ]
}
