//! Advice to the system about reads to come. It affects speed only.

use std::num::NonZero;

use super::PlainFile;

/// How a part of a file will be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// At random, so that the system should not read ahead.
    Random,
    /// Soon: a read is started without waiting for it.
    WillNeed,
}

/// Gives advice for a part of the file; without a length, for the rest of it.
#[cfg(target_os = "linux")]
pub(crate) fn advise(file: &PlainFile, offset: u64, len: Option<NonZero<u64>>, advice: Advice) {
    let advice = match advice {
        Advice::Random => rustix::fs::Advice::Random,
        Advice::WillNeed => rustix::fs::Advice::WillNeed,
    };
    if let Ok(open) = file.handle.get() {
        let _ = rustix::fs::fadvise(&*open, offset, len, advice);
    }
}

/// Other systems do without it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_: &PlainFile, _: u64, _: Option<NonZero<u64>>, _: Advice) {}
