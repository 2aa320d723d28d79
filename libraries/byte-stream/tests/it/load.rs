//! Loading: each way gives the same bytes, and what goes wrong is an error with its place.

use std::ops::Range;
use std::path::Path;

use byte_stream::{Cancel, ErrorKind, LoadOptions, LoadReason, LoadWay, load};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::kinds::bytes;

const MIB: usize = 1 << 20;
/// All but `Map`, which loads one range only.
const COPYING: [LoadWay; 4] = [LoadWay::Auto, LoadWay::Read, LoadWay::Pread, LoadWay::Direct];

fn file(data: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), data).unwrap();
    file
}

fn options(way: LoadWay) -> LoadOptions {
    #[expect(unsafe_code, reason = "a promise")]
    // SAFETY: no other process has access to the file.
    let options = unsafe { LoadOptions::new().allow_map() };
    options.way(way)
}

#[test]
fn every_way_gives_the_bytes_of_files_of_any_length() {
    for len in [0, 1, 511, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 9 * MIB + 7] {
        let data = bytes(len);
        let file = file(&data);
        for way in COPYING.into_iter().chain([LoadWay::Map]) {
            let loaded = load(file.path(), &options(way).threads(3)).unwrap();
            assert!(*loaded == *data, "{way} {len}: {}", loaded.choice());
            assert_eq!(loaded.part(0).map(<[u8]>::len), Some(len));
            let refused = loaded.choice().why == LoadReason::DirectRefused;
            let expected = if refused { LoadWay::Pread } else { way };
            let chosen = loaded.choice().way;
            assert!(way == LoadWay::Auto || len == 0 || chosen == expected, "{way} {len}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_are_those_of_the_file_in_their_order(
        ends in prop::collection::vec((0..=300_000u64, 0..=300_000u64), 1..8),
        align in prop::sample::select(vec![1u64, 512, 4096]),
    ) {
        let data = bytes(300_000);
        let file = file(&data);
        let place = |at: u64| at / align * align;
        let parts: Vec<Range<u64>> =
            ends.iter().map(|(a, b)| place(*a.min(b))..place(*a.max(b))).collect();
        let slice = |part: &Range<u64>| &data[part.start as usize..part.end as usize];
        let expected: Vec<u8> = parts.iter().flat_map(slice).copied().collect();
        for way in COPYING {
            let loaded = load(file.path(), &options(way).parts(parts.clone()).threads(2)).unwrap();
            prop_assert!(*loaded == *expected, "{way} {parts:?}");
            for (index, part) in parts.iter().enumerate() {
                prop_assert_eq!(loaded.part(index), Some(slice(part)));
            }
            prop_assert_eq!(loaded.part(parts.len()), None);
        }
        let loaded = load(file.path(), &options(LoadWay::Map).parts(parts.first().cloned())).unwrap();
        prop_assert!(*loaded == *slice(&parts[0]), "map {:?}", parts[0]);
    }
}

fn check(path: impl AsRef<Path>, options: &LoadOptions, kind: ErrorKind, text: &str) {
    let error = load(&path, options).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (kind, format!("{}: {text}", path.as_ref().display()))
    );
}

#[test]
fn what_cannot_be_loaded_is_an_error_with_its_path() {
    let new = LoadOptions::new;
    check("/no/such", &new(), ErrorKind::Io, "No such file or directory (os error 2)");
    check("/", &new(), ErrorKind::Io, "Is a directory (os error 21) at byte 0");
    let text = "parts can be loaded of regular files only";
    check("/dev/null", &new().parts(Some(0..0)), ErrorKind::InvalidUse, text);
    let file = file(&bytes(100));
    let text = "part 1, 99..101, is not inside the 100 bytes at byte 99";
    check(file.path(), &new().parts([0..100, 99..101]), ErrorKind::InvalidUse, text);
    let text = "a mapping needs LoadOptions::allow_map";
    check(file.path(), &new().way(LoadWay::Map), ErrorKind::InvalidUse, text);
    let text = "a mapping needs parts that follow one another, or no parts";
    let apart = options(LoadWay::Map).parts([0..10, 20..30]);
    check(file.path(), &apart, ErrorKind::InvalidUse, text);
    for threads in [0, 257] {
        let text = "the number of threads is from 1 to 256";
        check(file.path(), &new().threads(threads), ErrorKind::InvalidUse, text);
    }
}

#[test]
fn what_has_no_size_is_read_to_its_end() {
    for way in COPYING {
        let loaded = load("/proc/self/cgroup", &options(way)).unwrap();
        assert!(*loaded == *std::fs::read("/proc/self/cgroup").unwrap());
        assert_eq!(loaded.choice().why, LoadReason::UnknownSize);
        assert_eq!(loaded.choice().size_bytes, loaded.len() as u64);
    }
    assert!(load("/dev/null", &LoadOptions::new()).unwrap().is_empty());
    let nothing = load("/proc/self/exe", &LoadOptions::new().parts([])).unwrap();
    assert_eq!((nothing.len(), nothing.part(0)), (0, None));
}

#[test]
fn progress_grows_up_to_the_size() {
    let file = file(&bytes(5 * MIB + 1));
    let total = Some(5 * MIB as u64 + 1);
    for way in [LoadWay::Read, LoadWay::Pread, LoadWay::Direct, LoadWay::Map] {
        let (sender, receiver) = std::sync::mpsc::channel();
        let report = move |progress| {
            let _ = sender.send(progress);
        };
        load(file.path(), &options(way).threads(3).on_progress(report)).unwrap();
        let reports: Vec<byte_stream::Progress> = receiver.iter().collect();
        assert!(reports.is_sorted_by_key(|progress| progress.done_bytes), "{way}: {reports:?}");
        // A mapping is populated only where the kernel can report errors of it.
        let last = reports.last().map(|progress| progress.done_bytes);
        assert!(last == total || way == LoadWay::Map && last.is_none(), "{last:?}");
        assert!(reports.iter().all(|progress| progress.total_bytes == total));
    }
}

#[test]
fn a_cancelled_load_is_an_error() {
    let file = file(&bytes(32 * MIB));
    for way in [LoadWay::Auto, LoadWay::Read, LoadWay::Pread, LoadWay::Direct] {
        let cancel = Cancel::new().unwrap();
        let stop = cancel.clone();
        let options = options(way).threads(2).cancel(&cancel).on_progress(move |_| stop.cancel());
        let error = load(file.path(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{way}");
        assert!(error.to_string().starts_with(&file.path().display().to_string()), "{error}");
        // The handle stays cancelled.
        assert_eq!(load(file.path(), &options).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn a_load_that_is_cancelled_at_its_last_step_is_an_error() {
    let file = file(&bytes(100));
    for way in COPYING {
        let cancel = Cancel::new().unwrap();
        let stop = cancel.clone();
        let options = options(way).cancel(&cancel).on_progress(move |_| stop.cancel());
        assert_eq!(load(file.path(), &options).unwrap_err().kind(), ErrorKind::Cancelled, "{way}");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_loaded_is_an_error() {
    for way in COPYING {
        let file = file(&bytes(32 * MIB));
        let cut = file.reopen().unwrap();
        let cut = move |_| cut.set_len(5000).unwrap();
        // A mapping is not allowed: it would have its bytes before it is cut.
        let options = LoadOptions::new().way(way).threads(2).on_progress(cut);
        let error = load(file.path(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{way}: {error}");
        assert!(error.offset().is_some_and(|at| (5000..32 << 20).contains(&at)), "{error}");
    }
}

#[test]
fn a_cached_file_is_mapped_where_that_is_allowed() {
    let data = bytes(9 * MIB + 7);
    let file = file(&data);
    let (sender, receiver) = std::sync::mpsc::channel();
    let report = move |progress: byte_stream::Progress| {
        let _ = sender.send(progress.done_bytes);
    };
    let loaded = load(file.path(), &options(LoadWay::Auto).on_progress(report)).unwrap();
    assert!(*loaded == *data);
    let choice = loaded.choice();
    // What was written may have been evicted.
    if choice.cached_share.is_some_and(|share| share >= 0.9) {
        assert_eq!((choice.way, choice.why), (LoadWay::Map, LoadReason::Cached), "{choice}");
        assert_eq!(receiver.iter().collect::<Vec<u64>>(), [data.len() as u64]);
    }
    let parts = [0..MIB as u64, 3 * MIB as u64..9 * MIB as u64];
    let apart = load(file.path(), &options(LoadWay::Auto).parts(parts)).unwrap();
    assert_ne!(apart.choice().way, LoadWay::Map);
}

#[test]
fn a_file_that_is_not_cached_is_loaded_in_a_way_that_says_so() {
    let data = bytes(20 * MIB);
    let file = file(&data);
    file.as_file().sync_all().unwrap();
    // Not all file systems drop what they are asked to drop.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed);
    let loaded = load(file.path(), &LoadOptions::new()).unwrap();
    assert!(*loaded == *data);
    let choice = loaded.choice();
    assert!(matches!(choice.way, LoadWay::Pread | LoadWay::Direct), "{choice}");
    assert_eq!(choice.size_bytes, 20 << 20);
    let is_cached = choice.cached_share.is_some_and(|share| share >= 0.5);
    assert_eq!(choice.why == LoadReason::Cached, is_cached, "{choice:?}");
    assert!(choice.medium.is_none() || !is_cached, "{choice:?}");
    assert!(choice.to_string().starts_with(&choice.way.to_string()), "{choice}");
}

/// What is present in memory of the mapping of a file in this process, if there is one.
#[cfg(target_os = "linux")]
fn mapped_kib(path: &Path) -> Option<u64> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let lines = || smaps.lines();
    let of_file = lines().position(|line| line.ends_with(path.to_str().unwrap()))?;
    let rss = lines().skip(of_file).find_map(|line| line.strip_prefix("Rss:")).unwrap();
    Some(rss.trim().strip_suffix(" kB").unwrap().parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_mapping_of_what_is_not_cached_is_read_in_the_background() {
    let data = bytes(40 * MIB);
    let file = file(&data);
    let evict = || {
        file.as_file().sync_all().unwrap();
        // Not all file systems drop what they are asked to drop.
        let _ = rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed);
    };
    evict();
    let loaded = load(file.path(), &options(LoadWay::Auto)).unwrap();
    assert_eq!(loaded.choice().way, LoadWay::Map, "{}", loaded.choice());
    assert!(*loaded == *data);
    drop(loaded);
    evict();
    let untouched = load(file.path(), &options(LoadWay::Auto)).unwrap();
    // A control group may have no room for it; then nothing is read before it is used.
    if untouched.choice().why == LoadReason::NotCached {
        let mut waits = 0..100_000;
        while mapped_kib(file.path()).unwrap() < 40 << 10 {
            assert!(waits.next().is_some(), "nothing has read the mapping");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    drop(untouched);
    evict();
    drop(load(file.path(), &options(LoadWay::Auto)).unwrap());
    // A thread that still read would hold the mapping.
    assert_eq!(mapped_kib(file.path()), None);
    evict();
    let cut = load(file.path(), &options(LoadWay::Auto)).unwrap();
    // What only the background would touch ends no process.
    file.as_file().set_len(5000).unwrap();
    drop(cut);
}
