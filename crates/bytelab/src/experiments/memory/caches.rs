//! The data caches as the operating system reports them. The steps of a ladder are compared with
//! these.

use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) level: u64,
    pub(crate) bytes: u64,
    pub(crate) line_bytes: u64,
}

/// The caches by level; empty if the system does not report them.
pub(crate) fn announced() -> &'static [Cache] {
    static CACHES: LazyLock<Vec<Cache>> = LazyLock::new(read);
    &CACHES
}

pub(super) fn line_bytes() -> u64 {
    // No known processor has a larger line.
    let line = announced().first().map(|cache| cache.line_bytes);
    line.filter(|line| [64, 128].contains(line)).unwrap_or(DEFAULT_LINE)
}

const DEFAULT_LINE: u64 =
    if cfg!(all(target_vendor = "apple", target_arch = "aarch64")) { 128 } else { 64 };

/// The size of the largest cache; if none is reported, a size that is large enough for most
/// processors.
pub(super) fn last_bytes() -> u64 {
    announced().iter().map(|cache| cache.bytes).max().unwrap_or(32 << 20)
}

#[cfg(target_os = "linux")]
fn read() -> Vec<Cache> {
    let text = |index: u32, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let cache = |index| {
        let kind = text(index, "type")?;
        let cache = Cache {
            level: text(index, "level")?.parse().ok()?,
            bytes: lab::param::parse_bytes(&text(index, "size")?).ok()?,
            line_bytes: text(index, "coherency_line_size")?.parse().ok()?,
        };
        (kind != "Instruction").then_some(cache)
    };
    let mut caches: Vec<Cache> = (0..10).filter_map(cache).collect();
    caches.sort_unstable_by_key(|cache| cache.level);
    caches
}

#[cfg(not(target_os = "linux"))]
fn read() -> Vec<Cache> {
    Vec::new()
}
