//! The cost of counting allocations: the allocator of the program, and the library that is
//! preloaded into other programs, each compared with the one that does not count, in turns.
//!
//! `cargo bench -p bytelab-measure --bench allocator`.
#![expect(clippy::print_stdout, reason = "prints its result, as a benchmark does")]
#![expect(unsafe_code, reason = "calls allocators as the language does")]
#![expect(clippy::unwrap_used, reason = "a benchmark may end at what it does not expect")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use allocation_shim::Tally;
use measure::clock;
use measure::count::CountingAllocator;

const ROUNDS: usize = 400;
const SMALL: usize = 64;
const LARGE: usize = 100_000;

fn main() {
    if std::env::args().any(|argument| argument == "child") {
        return child();
    }
    println!("ns per pair, smallest and median of {ROUNDS} turns");
    for size in [SMALL, LARGE] {
        in_process(&format!("alloc and dealloc of {size} bytes"), |allocator| {
            pairs(allocator, size)
        });
        in_process(&format!("realloc from {size} to {} bytes and back", size + 8), |allocator| {
            resizings(allocator, size)
        });
    }
    preloaded();
}

fn in_process(what: &str, job: impl Fn(&dyn Ask) -> f64) {
    let mut taken: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        taken[0].push(job(&System));
        taken[1].push(job(&CountingAllocator));
        CountingAllocator::start();
        taken[2].push(job(&CountingAllocator));
        CountingAllocator::stop();
    }
    let names = ["the system's", "not counting", "counting"];
    for (name, taken) in names.iter().zip(&mut taken) {
        println!("{what:<46} {name:<14} {}", summary(taken));
    }
}

/// An allocator whose calls are not inlined into each other.
trait Ask {
    fn pair(&self, layout: Layout, n: u32);
    fn resize(&self, layout: Layout, n: u32);
}

impl<A: GlobalAlloc> Ask for A {
    fn pair(&self, layout: Layout, n: u32) {
        for _ in 0..n {
            // SAFETY: the size of the layout is not 0.
            let memory = black_box(unsafe { self.alloc(layout) });
            // SAFETY: it was allocated with this layout.
            unsafe { self.dealloc(memory, layout) };
        }
    }

    fn resize(&self, layout: Layout, n: u32) {
        let longer = Layout::from_size_align(layout.size() + 8, layout.align()).unwrap();
        // SAFETY: the size of the layout is not 0.
        let mut memory = unsafe { self.alloc(layout) };
        for _ in 0..n {
            // SAFETY: it has this layout, and the new size is not 0.
            memory = black_box(unsafe { self.realloc(memory, layout, longer.size()) });
            // SAFETY: it has this layout, and the new size is not 0.
            memory = black_box(unsafe { self.realloc(memory, longer, layout.size()) });
        }
        // SAFETY: it has this layout.
        unsafe { self.dealloc(memory, layout) };
    }
}

const PAIRS: u32 = 20_000;

fn pairs(allocator: &dyn Ask, size: usize) -> f64 {
    let layout = Layout::from_size_align(size, 8).unwrap();
    let start_ns = clock::now_ns();
    allocator.pair(layout, PAIRS);
    (clock::now_ns() - start_ns) as f64 / f64::from(PAIRS)
}

fn resizings(allocator: &dyn Ask, size: usize) -> f64 {
    let layout = Layout::from_size_align(size, 8).unwrap();
    let start_ns = clock::now_ns();
    allocator.resize(layout, PAIRS);
    (clock::now_ns() - start_ns) as f64 / f64::from(PAIRS)
}

/// Three processes in turns: without the library, with it, and with it while it counts.
fn preloaded() {
    let library = concat!(env!("OUT_DIR"), "/allocation-shim.so");
    let page = tempfile::NamedTempFile::new().unwrap();
    page.as_file().set_len(size_of::<Tally>() as u64).unwrap();
    // The first word is the flag that enables counting.
    let count = |yes: u32| page.as_file().write_all_at(&yes.to_ne_bytes(), 0).unwrap();
    let with = |preload: &str| {
        #[expect(clippy::disallowed_methods, reason = "the bench is no method of an experiment")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("child").env("LD_PRELOAD", preload);
        command.env("BYTELAB_ALLOCATIONS", page.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut plain = with("");
    let mut counted = with(library);
    let mut taken: [Vec<[f64; 2]>; 3] = Default::default();
    for _ in 0..ROUNDS {
        taken[0].push(ask(&mut plain));
        count(0);
        taken[1].push(ask(&mut counted));
        count(1);
        taken[2].push(ask(&mut counted));
    }
    let names = ["not preloaded", "not counting", "counting"];
    for (i, size) in [SMALL, LARGE].into_iter().enumerate() {
        for (name, taken) in names.iter().zip(&taken) {
            let mut taken: Vec<f64> = taken.iter().map(|taken| taken[i]).collect();
            let what = format!("preloaded: malloc and free of {size} bytes");
            println!("{what:<46} {name:<14} {}", summary(&mut taken));
        }
    }
    for mut child in [plain, counted] {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

fn ask(child: &mut Child) -> [f64; 2] {
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let mut line = String::new();
    // No data is lost in the buffer: the child writes one line at a time.
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [numbers[0], numbers[1]]
}

fn child() {
    for line in std::io::stdin().lines() {
        line.unwrap();
        println!("{} {}", pairs(&System, SMALL), pairs(&System, LARGE));
    }
}

fn summary(taken: &mut [f64]) -> String {
    taken.sort_by(f64::total_cmp);
    format!("{:>7.2} {:>7.2}", taken[0], taken[taken.len() / 2])
}
