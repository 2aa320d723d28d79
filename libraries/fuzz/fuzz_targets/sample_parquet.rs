//! Any bytes as Parquet, and a sound file with some of its bytes replaced: no panic of ours or that
//! gets out, no endless loop; what is drawn, by each choice, is a Parquet file of as many rows as
//! were requested, and a split has them all.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use record_sampler::{Column, Sampler};

const SOUND: &[u8] = include_bytes!("../rows.parquet");

fuzz_target!(|bytes: &[u8]| {
    // A panic in the decoder is an error of `write_parquet`, and not one of this target, unless it
    // is our own.
    std::panic::set_hook(Box::new(|info| {
        if info.location().is_some_and(|at| at.file().contains("record-sampler/src")) {
            eprintln!("{info}");
            std::process::abort();
        }
    }));
    let Some((kind, rest)) = bytes.split_first() else { return };
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let (path, sample) = (dir.path().join("rows"), dir.path().join("sample"));
    let text = if kind & 1 == 0 {
        // Each three bytes are an offset and the byte to put there.
        let mut text = SOUND.to_vec();
        for patch in rest.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % text.len();
            text[at] = patch[2];
        }
        text
    } else {
        rest.to_vec()
    };
    std::fs::write(&path, text).expect("room for a small file");
    let column = || Column::Number(usize::from(kind >> 1) % 4 + 1);
    for sampler in [
        Sampler::at_most(5),
        Sampler::at_most(5).inverted(),
        Sampler::probability(0.3),
        Sampler::at_most(5).weighted_by(column()),
        Sampler::at_most(2).per(column()),
        Sampler::probability(0.3).per(column()),
    ] {
        let mut out = Vec::new();
        if let Ok(stats) = sampler.seed(u64::from(*kind)).write_parquet([&path], &mut out) {
            assert_eq!(rows(&sample, &out), stats.taken);
        }
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let split = Sampler::probability(1.0).split_parquet([&path], &[3.0, 1.0], &mut [&mut a, &mut b]);
    if let Ok(stats) = split {
        assert_eq!([rows(&sample, &a), rows(&sample, &b)], [stats[0].taken, stats[1].taken]);
        assert_eq!(stats[0].seen, Some(stats[0].taken + stats[1].taken));
    }
});

/// The number of its rows, all of which can be read.
fn rows(path: &Path, bytes: &[u8]) -> u64 {
    std::fs::write(path, bytes).expect("room for a small file");
    let all = Sampler::at_most(u64::MAX).write_parquet([path], &mut Vec::new());
    all.expect("a sound file").taken
}
