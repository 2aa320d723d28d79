//! The processor time that a sample takes, without that of starting a program: it can be compared
//! where other work shares the machine, and wall time cannot.
//!
//! ```sh
//! cargo run --release --example cpu -- FILE lines|BYTES N auto|pread|mmap|sequential|stream|index|shuffle|shuffle-copied…
//! ```
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "asks for the processor time"))]

use std::fs::File;
use std::io::{self, Write};

use record_sampler::{FetchMethod, Format, Population, Sampler};

/// The CPU time of all threads, in ms.
fn cpu_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, format, n, ways @ ..] = arguments.as_slice() else {
        return Err("FILE lines|BYTES N WAY…".into());
    };
    let format = match format.as_str() {
        "lines" => Format::Lines,
        bytes => Format::Fixed(bytes.parse()?),
    };
    let mut times = vec![Vec::new(); ways.len()];
    for seed in 0..7 {
        for (way, times) in ways.iter().zip(&mut times) {
            let sampler = Sampler::exactly(n.parse()?).seed(seed);
            let sampler = match way.as_str() {
                "pread" => sampler.by(FetchMethod::Pread),
                "mmap" => sampler.by(FetchMethod::Mmap),
                "sequential" => sampler.by(FetchMethod::Sequential),
                "stream" => sampler.by(FetchMethod::Stream),
                "shuffle" => sampler.with_mapping().shuffled(),
                "shuffle-copied" => sampler.shuffled(),
                "index" => sampler.with_index(),
                _ => sampler.with_mapping(),
            };
            let start = cpu_ms();
            let mut out = File::options().write(true).open("/dev/null")?;
            let stats = sampler.write(&mut Population::open([file], format)?, &mut out)?;
            times.push((cpu_ms() - start, stats.method));
        }
    }
    for (way, times) in ways.iter().zip(&mut times) {
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (middle, method) = times[times.len() / 2];
        writeln!(io::stdout(), "{way:<10} {method:<10} {middle:>9.2} ms")?;
    }
    Ok(())
}
