//! Which way to reach records of fixed size: a model of what each way costs. It measures nothing.

use crate::input::Density;

/// How records are reached.
///
/// ```
/// use record_sampler::{Format, Method, Population, Sampler};
/// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
/// let mut out = Vec::new();
/// let stats = Sampler::exactly(3).by(Method::Mmap).write(&mut population, &mut out)?;
/// assert_eq!(stats.method, Method::Mmap);
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// What the cost model expects to be the fastest.
    #[default]
    Auto,
    /// A read for each record.
    Pread,
    /// The files mapped. If another process cuts a file meanwhile, this process is ended by SIGBUS.
    Mmap,
    /// Large reads one after the other.
    Sequential,
    /// A ring of reads, 64 of them in flight: for records of a fixed size on a device.
    #[cfg(all(feature = "uring", target_os = "linux"))]
    Uring,
    /// Lines at random byte offsets, without counting the lines. A long line is hit more often, and is
    /// refused as much more often, which makes it exact; but no one notices that `n` is larger than the
    /// number of lines before many tries. It reads a byte or `min_len` for each try, and needs as many
    /// tries as the mean length of a line divided by `min_len`.
    Probe {
        /// No line is shorter, its line feed included; 1 is always true.
        min_len: u32,
    },
    /// One pass over all records: what streams, keys and weights need.
    Stream,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Method::Auto => "auto",
            Method::Pread => "pread",
            Method::Mmap => "mmap",
            Method::Sequential => "sequential",
            #[cfg(all(feature = "uring", target_os = "linux"))]
            Method::Uring => "uring",
            Method::Probe { .. } => "probe",
            Method::Stream => "stream",
        })
    }
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// How many records are wanted, of how many.
    pub(crate) n: u64,
    pub(crate) total: u64,
    pub(crate) record_bytes: u64,
    /// The share of the file that is in the page cache, if the system tells.
    pub(crate) cached: Option<f64>,
}

/// A method and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) method: Method,
    pub(crate) reason: String,
    /// Whether reads ahead of time are worth asking for.
    pub(crate) is_cold: bool,
    /// How much of a mapping is looked at.
    pub(crate) density: Density,
}

// In ns of processor time, from `cargo bench --bench peers -- fixed` on a virtual machine with 2 processors (Xeon,
// 2.8 GHz, kernel 6.18, shared with other work), the device's from one with a network disk. Their ratios decide; where
// two ways cost about the same, either choice is good.
const PREAD_NS: f64 = 500.0;
#[cfg(all(feature = "uring", target_os = "linux"))]
const RING_READ_NS: f64 = 400.0;
/// The records of a mapping are waited for together; those of a buffer lie in the cache.
const MAPPED_RECORD_NS: f64 = 25.0;
const MEMORY_NS_PER_BYTE: f64 = 0.1;
const COPY_NS_PER_BYTE: f64 = 0.05;
/// A fault maps the 16 pages around it, if they are cached.
const FAULT_NS: f64 = 4500.0;
const FAULT_BYTES: f64 = 65536.0;
/// To map all pages at once.
const POPULATE_NS_PER_BYTE: f64 = 0.067;
const READ_NS_PER_BYTE: f64 = 0.15;
const DEVICE_NS_PER_BYTE: f64 = 0.95;
/// For a page at random, with 64 of them in flight.
const DEVICE_PAGE_NS: f64 = 9000.0;
/// To ask for a page ahead of time, where there is no ring.
const AHEAD_NS: f64 = 700.0;
const PAGE_BYTES: f64 = 4096.0;

/// The method with the least expected time.
pub(crate) fn choose(facts: &Facts) -> Choice {
    let [n, total, len] = [facts.n, facts.total, facts.record_bytes].map(|n| n as f64);
    let size = total * len;
    let cached = facts.cached.unwrap_or(1.0).clamp(0.0, 1.0);
    let touched = |bytes: f64| touched(n, size, len, bytes);
    let copy = n * len * COPY_NS_PER_BYTE;
    let missing = 1.0 - cached;
    let pages = touched(PAGE_BYTES);
    let device_pages = missing * pages * DEVICE_PAGE_NS;
    // Half of the cost of a sparse sample is the device's as soon as 5 % are missing.
    let is_cold = missing > 0.05;
    let ahead = if is_cold { n * AHEAD_NS } else { 0.0 };
    let pread = n * PREAD_NS + copy + ahead + device_pages;
    let device = missing * size * DEVICE_NS_PER_BYTE;
    let sequential = size * READ_NS_PER_BYTE + copy + device;
    // A mapping reads ahead what nobody wants, so what is not cached counts as read; and it waits for
    // the device at each fault.
    let faults = (touched(FAULT_BYTES) * FAULT_NS).min(size * POPULATE_NS_PER_BYTE);
    let waits = (n * MAPPED_RECORD_NS).min(size * MEMORY_NS_PER_BYTE);
    let mmap = faults + waits + copy + 1.2 * device;
    let ways = [(Method::Pread, pread), (Method::Mmap, mmap), (Method::Sequential, sequential)];
    let ring = if is_cold { by_ring(facts, copy + device_pages) } else { None };
    let ways: Vec<(Method, f64)> = ways.into_iter().chain(ring).collect();
    let best = ways.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&ways[0]);
    let known = if facts.cached.is_some() { "" } else { " (taken for cached)" };
    let costs: Vec<String> =
        ways.iter().map(|(method, ns)| format!("{method} {:.1}", ns / 1e6)).collect();
    let reason =
        format!("{:.0} % is cached{known}; expected {} ms", cached * 100.0, costs.join(", "));
    let density = match is_cold {
        true => Density::Sparse,
        false if touched(FAULT_BYTES) * FAULT_NS > size * POPULATE_NS_PER_BYTE => Density::All,
        false => Density::Dense,
    };
    Choice { method: best.0, reason, is_cold, density }
}

/// What a ring of reads costs beside the device and the copy, where there may be one.
#[cfg(all(feature = "uring", target_os = "linux"))]
fn by_ring(facts: &Facts, rest: f64) -> Option<(Method, f64)> {
    let is_possible = facts.record_bytes <= super::uring::MOST_BYTES && super::uring::is_allowed();
    is_possible.then_some((Method::Uring, facts.n as f64 * RING_READ_NS + rest))
}

#[cfg(not(all(feature = "uring", target_os = "linux")))]
fn by_ring(_: &Facts, _: f64) -> Option<(Method, f64)> {
    None
}

/// How many parts of a file hold a byte of one of n records at random places.
fn touched(n: f64, size: f64, len: f64, part: f64) -> f64 {
    let parts = (size / part).ceil().max(1.0);
    let hit = ((len / part).ceil() + 1.0).min(2.0).max(1.0 + (len - 1.0) / part);
    let share = (n * (1.0 + (len - 1.0) / part).min(hit) / parts).min(700.0);
    parts * (1.0 - (-share).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What few records of a device are read by: the ring, where there is one.
    #[cfg(not(all(feature = "uring", target_os = "linux")))]
    const SPARSE: Method = Method::Pread;
    #[cfg(all(feature = "uring", target_os = "linux"))]
    const SPARSE: Method = Method::Uring;

    fn check(n: u64, record_bytes: u64, cached: f64, expected: Method) {
        let facts = Facts { n, total: 10_000_000, record_bytes, cached: Some(cached) };
        let choice = choose(&facts);
        #[cfg(all(feature = "uring", target_os = "linux"))]
        let expected = match expected {
            // The kernel may refuse.
            Method::Uring if !super::super::uring::is_allowed() => Method::Pread,
            expected => expected,
        };
        assert_eq!(choice.method, expected, "{n} of {record_bytes}, {cached}: {}", choice.reason);
    }

    #[test]
    fn few_cached_records_are_read_one_by_one_and_many_through_a_mapping() {
        for n in [0, 1, 10, 1000, 10_000, 50_000] {
            check(n, 64, 1.0, Method::Pread);
        }
        for n in [150_000, 1_000_000] {
            check(n, 64, 1.0, Method::Mmap);
        }
        // Larger records lie further apart: more of the file has to be mapped.
        check(100_000, 64, 1.0, Method::Mmap);
        check(100_000, 1024, 1.0, Method::Pread);
        check(1000, 4096, 1.0, Method::Pread);
    }

    #[test]
    fn of_an_uncached_file_many_records_are_cheaper_in_one_pass() {
        for n in [1, 1000, 10_000] {
            check(n, 64, 0.0, SPARSE);
        }
        check(10, 1, 0.0, SPARSE);
        check(1_000_000, 64, 0.0, Method::Sequential);
        check(100_000, 8, 0.0, Method::Sequential);
    }

    #[test]
    fn the_state_of_the_cache_changes_the_choice() {
        check(1_000_000, 64, 1.0, Method::Mmap);
        check(1_000_000, 64, 0.5, Method::Sequential);
        check(1000, 64, 0.97, Method::Pread);
        check(1000, 64, 0.5, SPARSE);
        check(200_000, 64, 1.0, Method::Mmap);
        check(200_000, 64, 0.0, Method::Sequential);
    }

    #[test]
    fn pages_are_mapped_at_once_where_faults_would_cost_more() {
        let facts =
            |n, cached| Facts { n, total: 10_000_000, record_bytes: 64, cached: Some(cached) };
        assert_eq!(choose(&facts(1_000_000, 1.0)).density, Density::All);
        assert_eq!(choose(&facts(1000, 1.0)).density, Density::Dense);
        assert_eq!(choose(&facts(1000, 0.0)).density, Density::Sparse);
    }

    #[test]
    fn the_reason_names_what_it_rests_on() {
        let facts = Facts { n: 1, total: 1000, record_bytes: 10, cached: None };
        let choice = choose(&facts);
        assert!(choice.reason.starts_with("100 % is cached (taken for cached); expected pread"));
        assert!(!choice.is_cold && choose(&Facts { cached: Some(0.2), ..facts }).is_cold);
    }

    #[test]
    fn no_more_parts_are_touched_than_there_are() {
        assert!(touched(1e9, 1e9, 64.0, 4096.0) <= 244_141.0);
        assert!((touched(1.0, 1e9, 64.0, 4096.0) - 1.015).abs() < 0.01);
    }
}
