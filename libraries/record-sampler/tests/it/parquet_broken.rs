//! Broken Parquet files: an error, or a sample, and no panic. Those of the Parquet library are
//! errors, ours are not.

use std::panic;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{fs, io};

use ::parquet::basic::Compression;
use record_sampler::{Sampler, Stats};

use crate::parquet;
use crate::parquet_rows::{Layout, PAGES_OF_100, rows, write};

static OWN_PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn own_panics() -> MutexGuard<'static, Vec<String>> {
    OWN_PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Breaks each byte in turn, and draws: what the errors say. A panic in the sources of this crate
/// fails the test, even if somebody catches it; what others panic with is not printed.
fn errors(path: &Path, draw: impl Fn() -> record_sampler::Result<()>) -> Vec<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let file = info.location().map_or("", |location| location.file());
            if file.contains("record-sampler/src") {
                own_panics().push(info.to_string());
            }
            if Path::new(file).is_relative() {
                print(info);
            }
        }));
    });
    let sound = fs::read(path).unwrap();
    let mut errors = Vec::new();
    for at in 0..sound.len() {
        let mut broken = sound.clone();
        // Also the lowest bit, which is the sign of a number in a footer or header.
        broken[at] ^= 0x55;
        fs::write(path, broken).unwrap();
        errors.extend(draw().err().map(|error| error.to_string()));
    }
    let ours = own_panics().clone();
    assert_eq!(ours, [""; 0]);
    errors
}

#[test]
fn a_broken_byte_anywhere_is_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    parquet::write(&path, &[0..125, 125..250], true, Compression::SNAPPY);
    let draw = || Sampler::exactly(20).write_parquet([&path], &mut io::sink()).map(|_| ());
    let errors = errors(&path, draw);
    let has = |text: &str| errors.iter().any(|error| error.contains(text));
    assert!(has(" bytes at offset -") && has(" has -"), "{errors:#?}");
}

#[test]
fn a_broken_byte_anywhere_is_no_panic_by_any_choice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write(&path, &rows(0..60), Layout { page_rows: 20, ..PAGES_OF_100 });
    let by_weight = Sampler::at_most(5).weighted_by("w");
    let by_kind = Sampler::probability(0.5).per("kind");
    let split = || -> record_sampler::Result<Vec<Stats>> {
        let outs: &mut [&mut (dyn io::Write + Send)] = &mut [&mut io::sink(), &mut io::sink()];
        Sampler::probability(1.0).split_parquet([&path], &[0.5, 0.5], outs)
    };
    let errors = errors(&path, || {
        let drawn = [&by_weight, &by_kind].map(|s| s.write_parquet([&path], &mut io::sink()));
        split()?;
        drawn.into_iter().try_for_each(|drawn| drawn.map(|_| ()))
    });
    assert!(errors.len() > 100, "{errors:#?}");
}
