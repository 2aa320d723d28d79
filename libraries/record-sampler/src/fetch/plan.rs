//! Chooses the method to fetch records of a fixed size by a cost model. It measures nothing.

use crate::input::Density;

/// The method by which records are fetched.
///
/// ```
/// use record_sampler::{Format, FetchMethod, Population, Sampler};
/// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
/// let mut out = Vec::new();
/// let stats = Sampler::exactly(3).by(FetchMethod::Mmap).write(&mut population, &mut out)?;
/// assert_eq!(stats.method, FetchMethod::Mmap);
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchMethod {
    /// The method with the least expected cost.
    #[default]
    Auto,
    /// One read per record.
    Pread,
    /// Maps the files. If another process truncates a file meanwhile, this process is ended by
    /// SIGBUS.
    Mmap,
    /// Large sequential reads.
    Sequential,
    /// A ring with up to 64 reads in flight: for records of a fixed size on a device.
    #[cfg(all(feature = "uring", target_os = "linux"))]
    Uring,
    /// Lines at random byte offsets, without counting the lines. A long line is hit more often and
    /// rejected accordingly, which makes the sample exact; but it takes many tries to notice that
    /// `n` exceeds the number of lines. Each try reads a byte or `min_len`, and the number of tries
    /// is the mean line length divided by `min_len`.
    Probe {
        /// A lower bound of the line length, line feed included; 1 is always valid.
        min_len: u32,
    },
    /// One pass over all records, as streams, keys and weights need it.
    Stream,
}

impl std::fmt::Display for FetchMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FetchMethod::Auto => "auto",
            FetchMethod::Pread => "pread",
            FetchMethod::Mmap => "mmap",
            FetchMethod::Sequential => "sequential",
            #[cfg(all(feature = "uring", target_os = "linux"))]
            FetchMethod::Uring => "uring",
            FetchMethod::Probe { .. } => "probe",
            FetchMethod::Stream => "stream",
        })
    }
}

/// The facts that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MethodFacts {
    /// The numbers of chosen records and of all records.
    pub(crate) n: u64,
    pub(crate) total: u64,
    pub(crate) record_bytes: u64,
    /// The share of the file that is in the page cache, if the system reports it.
    pub(crate) cached: Option<f64>,
    /// The bytes that a page fault maps, if known: fewer if the file is cached in single pages.
    pub(crate) fault_bytes: Option<u64>,
    /// Whether the file may be mapped.
    pub(crate) may_map: bool,
}

impl MethodFacts {
    /// Whether mapping may be the best method, so that it is worth finding out how much a fault
    /// maps.
    pub(crate) fn is_map_likely(&self) -> bool {
        self.may_map && self.n >= LEAST_MAPPED && self.missing() <= COLD
    }

    /// The share that is not cached.
    fn missing(&self) -> f64 {
        1.0 - self.cached.unwrap_or(1.0).clamp(0.0, 1.0)
    }
}

/// The method and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodChoice {
    pub(crate) method: FetchMethod,
    pub(crate) reason: String,
    /// Whether requesting reads in advance pays off.
    pub(crate) is_cold: bool,
    /// The share of a mapping that is accessed.
    pub(crate) density: Density,
}

// The costs are in ns, from `cargo bench --bench peers -- way` on an idle virtual machine with 2
// processors (Xeon, 2.8 GHz, kernel 6.18); device figures are those of its disk. A test compares
// the choices with the measurements.
const PREAD_NS: f64 = 550.0;
/// A read through a ring. With a slow disk it costs more than requesting pages in advance.
#[cfg(all(feature = "uring", target_os = "linux"))]
const RING_READ_NS: f64 = 4000.0;
/// Drawing a record, and the cache misses for it.
const RECORD_NS: f64 = 55.0;
const MEMORY_NS_PER_BYTE: f64 = 0.1;
const COPY_NS_PER_BYTE: f64 = 0.05;
/// A fault maps the 16 pages around it if they are cached, or all of a larger folio.
const FAULT_NS: f64 = 6000.0;
const FAULT_BYTES: u64 = 65536;
const LARGE_FAULT_NS: f64 = 5000.0;
/// Reading fewer records takes less time than finding out how much a fault maps could save.
const LEAST_MAPPED: u64 = 4000;
/// From this uncached share on, half of the cost of a sparse sample is that of the device.
const COLD: f64 = 0.05;
/// Mapping all pages at once.
const POPULATE_NS_PER_BYTE: f64 = 0.055;
const READ_NS_PER_BYTE: f64 = 0.13;
const DEVICE_NS_PER_BYTE: f64 = 0.5;
/// A random page, with 64 of them in flight; and a single one.
const DEVICE_PAGE_NS: f64 = 9000.0;
const DEVICE_WAIT_NS: f64 = 70_000.0;
/// Requesting a page in advance, without a ring.
const AHEAD_NS: f64 = 700.0;
const PAGE_BYTES: f64 = 4096.0;

/// The method with the least expected time.
pub(crate) fn choose(facts: &MethodFacts) -> MethodChoice {
    let [n, total, len] = [facts.n, facts.total, facts.record_bytes].map(|n| n as f64);
    let size = total * len;
    let cached = facts.cached.unwrap_or(1.0).clamp(0.0, 1.0);
    let touched = |bytes: f64| touched(n, size, len, bytes);
    let copy = n * len * COPY_NS_PER_BYTE;
    let missing = facts.missing();
    let pages = touched(PAGE_BYTES);
    let device_pages = missing * pages * DEVICE_PAGE_NS;
    let is_cold = missing > COLD;
    let ahead = if is_cold { n * AHEAD_NS } else { 0.0 };
    let pread = n * PREAD_NS + copy + ahead + device_pages;
    let device = missing * size * DEVICE_NS_PER_BYTE;
    let waits = (n * RECORD_NS).min(size * MEMORY_NS_PER_BYTE);
    let sequential = size * READ_NS_PER_BYTE + waits + copy + device;
    // A mapping waits for the device at each fault, and reads ahead unneeded pages of a file that
    // is not cached, unless advised that few are needed.
    let mapped_device = if is_cold { missing * pages * DEVICE_WAIT_NS } else { 1.2 * device };
    let fault_bytes = facts.fault_bytes.unwrap_or(FAULT_BYTES);
    let fault_ns = if fault_bytes > FAULT_BYTES { LARGE_FAULT_NS } else { FAULT_NS };
    let one_by_one = touched(fault_bytes as f64) * fault_ns;
    let at_once = size * POPULATE_NS_PER_BYTE;
    let faults = one_by_one.min(at_once);
    let mmap = faults + waits + copy + mapped_device;
    let ways = [
        (FetchMethod::Pread, pread),
        (FetchMethod::Mmap, mmap),
        (FetchMethod::Sequential, sequential),
    ];
    let ring = if is_cold { by_ring(facts, copy + device_pages) } else { None };
    let is_possible =
        |(method, _): &(FetchMethod, f64)| facts.may_map || *method != FetchMethod::Mmap;
    let ways: Vec<(FetchMethod, f64)> = ways.into_iter().chain(ring).filter(is_possible).collect();
    let best = ways.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&ways[0]);
    let known = if facts.cached.is_some() { "" } else { " (taken for cached)" };
    let costs: Vec<String> =
        ways.iter().map(|(method, ns)| format!("{method} {:.1}", ns / 1e6)).collect();
    let reason =
        format!("{:.0} % is cached{known}; expected {} ms", cached * 100.0, costs.join(", "));
    let density = match is_cold {
        true => Density::Sparse,
        false if one_by_one > at_once => Density::All,
        false => Density::Dense,
    };
    MethodChoice { method: best.0, reason, is_cold, density }
}

/// The cost of a ring of reads besides the device and the copy, if a ring is possible.
#[cfg(all(feature = "uring", target_os = "linux"))]
fn by_ring(facts: &MethodFacts, rest: f64) -> Option<(FetchMethod, f64)> {
    let is_possible = facts.record_bytes <= super::uring::MOST_BYTES && super::uring::is_allowed();
    is_possible.then_some((FetchMethod::Uring, facts.n as f64 * RING_READ_NS + rest))
}

#[cfg(not(all(feature = "uring", target_os = "linux")))]
fn by_ring(_: &MethodFacts, _: f64) -> Option<(FetchMethod, f64)> {
    None
}

/// The expected number of pieces of a file that hold a byte of one of n records at random places.
fn touched(n: f64, size: f64, len: f64, part: f64) -> f64 {
    let parts = (size / part).ceil().max(1.0);
    let hit = ((len / part).ceil() + 1.0).min(2.0).max(1.0 + (len - 1.0) / part);
    let share = (n * (1.0 + (len - 1.0) / part).min(hit) / parts).min(700.0);
    parts * (1.0 - (-share).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts for n of 10⁷ records of 64 bytes.
    fn facts(n: u64, cached: f64) -> MethodFacts {
        let (total, cached, may_map) = (10_000_000, Some(cached), true);
        MethodFacts { n, total, record_bytes: 64, cached, fault_bytes: None, may_map }
    }

    fn check(n: u64, record_bytes: u64, cached: f64, expected: FetchMethod) {
        let facts = MethodFacts { record_bytes, ..facts(n, cached) };
        let choice = choose(&facts);
        assert_eq!(choice.method, expected, "{n} of {record_bytes}, {cached}: {}", choice.reason);
        let unmapped = choose(&MethodFacts { may_map: false, ..facts });
        assert!(unmapped.method != FetchMethod::Mmap && !unmapped.reason.contains("mmap"));
        let kept = if expected == FetchMethod::Mmap { unmapped.method } else { expected };
        assert_eq!(unmapped.method, kept);
    }

    /// n of 10⁷ records of 64 bytes, the cached share, how much a fault maps; and the ms of
    /// `pread`, a mapping and sequential reads, less the 2.2 ms of starting the program; 0 was not
    /// measured.
    const MEASURED: [(u64, f64, u64, [f64; 3]); 11] = [
        (1000, 1.0, 2 << 20, [1.1, 1.5, 0.0]),
        (10_000, 1.0, 2 << 20, [9.0, 3.1, 0.0]),
        (100_000, 1.0, 2 << 20, [63.0, 8.7, 84.0]),
        (1_000_000, 1.0, 2 << 20, [439.0, 59.9, 128.5]),
        (10_000, 1.0, 65536, [6.8, 38.8, 0.0]),
        (100_000, 1.0, 65536, [55.4, 37.4, 84.9]),
        (1_000_000, 1.0, 65536, [0.0, 101.6, 125.2]),
        (1000, 0.0, 65536, [13.5, 70.9, 0.0]),
        (10_000, 0.0, 65536, [98.6, 0.0, 421.8]),
        (30_000, 0.0, 65536, [258.8, 0.0, 420.6]),
        (100_000, 0.0, 65536, [756.9, 0.0, 420.6]),
    ];

    #[test]
    fn what_is_chosen_was_measured_to_be_the_best_or_a_fifth_more() {
        for (n, cached, fault_bytes, measured) in MEASURED {
            let facts = MethodFacts { fault_bytes: Some(fault_bytes), ..facts(n, cached) };
            let choice = choose(&facts);
            let ways = [FetchMethod::Pread, FetchMethod::Mmap, FetchMethod::Sequential];
            let ways = ways.into_iter().zip(measured).filter(|(_, ms)| *ms > 0.0);
            let best = ways.clone().map(|(_, ms)| ms).fold(f64::INFINITY, f64::min);
            let chosen = ways.clone().find(|(method, _)| *method == choice.method);
            assert!(
                chosen.is_some_and(|(_, ms)| ms <= 1.2 * best),
                "{n}, {cached}, {fault_bytes}: {}",
                choice.reason
            );
        }
    }

    #[test]
    fn few_cached_records_are_read_one_by_one_and_many_through_a_mapping() {
        for n in [0, 1, 10, 1000, 10_000, 50_000] {
            check(n, 64, 1.0, FetchMethod::Pread);
        }
        for n in [150_000, 1_000_000] {
            check(n, 64, 1.0, FetchMethod::Mmap);
        }
        // Larger records are further apart, so that more of the file must be mapped.
        check(100_000, 64, 1.0, FetchMethod::Mmap);
        check(100_000, 1024, 1.0, FetchMethod::Pread);
        check(1000, 4096, 1.0, FetchMethod::Pread);
    }

    #[test]
    fn of_an_uncached_file_many_records_are_cheaper_in_one_pass() {
        for n in [1, 1000, 10_000] {
            check(n, 64, 0.0, FetchMethod::Pread);
        }
        check(10, 1, 0.0, FetchMethod::Pread);
        check(1_000_000, 64, 0.0, FetchMethod::Sequential);
        check(100_000, 8, 0.0, FetchMethod::Sequential);
    }

    #[test]
    fn the_state_of_the_cache_changes_the_choice() {
        check(1_000_000, 64, 1.0, FetchMethod::Mmap);
        check(1_000_000, 64, 0.5, FetchMethod::Sequential);
        check(1000, 64, 0.97, FetchMethod::Pread);
        check(1000, 64, 0.5, FetchMethod::Pread);
        check(200_000, 64, 1.0, FetchMethod::Mmap);
        check(200_000, 64, 0.0, FetchMethod::Sequential);
    }

    #[test]
    fn pages_are_mapped_at_once_where_faults_would_cost_more() {
        assert_eq!(choose(&facts(1_000_000, 1.0)).density, Density::All);
        assert_eq!(choose(&facts(1000, 1.0)).density, Density::Dense);
        assert_eq!(choose(&facts(1000, 0.0)).density, Density::Sparse);
    }

    #[test]
    fn the_reason_names_what_it_rests_on() {
        let (total, record_bytes, cached, may_map) = (1000, 10, None, true);
        let facts = MethodFacts { n: 1, total, record_bytes, cached, fault_bytes: None, may_map };
        let choice = choose(&facts);
        assert!(choice.reason.starts_with("100 % is cached (taken for cached); expected pread"));
        assert!(!choice.is_cold && choose(&MethodFacts { cached: Some(0.2), ..facts }).is_cold);
    }

    #[test]
    fn no_more_parts_are_touched_than_there_are() {
        assert!(touched(1e9, 1e9, 64.0, 4096.0) <= 244_141.0);
        assert!((touched(1.0, 1e9, 64.0, 4096.0) - 1.015).abs() < 0.01);
    }
}
