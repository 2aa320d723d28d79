//! Any bytes as Parquet, and a sound file with some of its bytes replaced: no panic that gets out, no endless loop;
//! what is drawn is a Parquet file of as many rows as were asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record_sampler::Sampler;

const SOUND: &[u8] = include_bytes!("../rows.parquet");

fuzz_target!(|bytes: &[u8]| {
    // A panic in the decoder is an error of `write_parquet`, and not one of this target.
    std::panic::set_hook(Box::new(|_| {}));
    let Some((kind, rest)) = bytes.split_first() else { return };
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let path = dir.path().join("rows");
    let text = if kind & 1 == 0 {
        // Each three bytes: where, and what instead.
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
    for sampler in [Sampler::at_most(5), Sampler::at_most(5).inverted(), Sampler::probability(0.3)] {
        let mut out = Vec::new();
        if let Ok(stats) = sampler.seed(u64::from(*kind)).write_parquet([&path], &mut out) {
            std::fs::write(&path, &out).expect("room for a small file");
            let again = Sampler::at_most(u64::MAX).write_parquet([&path], &mut Vec::new());
            assert_eq!(again.expect("a sound file").taken, stats.taken);
        }
    }
});
