//! An index whose counts are wrong, or that is no index at all: no panic, no endless loop; records
//! that are not lines of the file are never more than the file has bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record_sampler::{Format, Population, Sampler, forge_index};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let path = dir.path().join("lines");
    // Several blocks of 16 KiB, each of the same few bytes.
    let (counts, text) = rest.split_at(rest.len().min(24));
    let text: Vec<u8> = text.iter().copied().cycle().take(if text.is_empty() { 0 } else { 70_000 }).collect();
    std::fs::write(&path, &text).expect("room for a small file");
    if kind & 1 == 0 {
        forge_index(&path, counts).expect("room for a small file");
    } else {
        std::fs::write(dir.path().join("lines.nlx"), rest).expect("room for a small file");
    }
    for sampler in [Sampler::at_most(5), Sampler::at_most(5).shuffled(), Sampler::at_most(5).with_replacement()] {
        let population = Population::open([&path], Format::Lines).expect("it was just written");
        let mut population = if kind & 2 == 0 { population } else { population.with_header() };
        if let Ok(records) = sampler.seed(u64::from(*kind)).with_index().records(&mut population) {
            assert!(records.iter().all(|record| record.len() <= text.len()));
        }
    }
});
