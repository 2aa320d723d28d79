//! Memory bandwidth: a pass over the whole set, by one thread or by several with a set each. The
//! loops are plain Rust, which the compiler vectorizes; on x86-64 with AVX2 if the processor has
//! it. A naive test, which does not show the caches, is beside them.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work, skip};
use model::param::Point;

use super::pages::{Pages, WINDOW_NS, fits, last_bytes};
use crate::shared::{allowed_cpus, start_on};

/// The first one is the reference.
pub(super) fn methods() -> Vec<Method> {
    let bandwidth = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build)
            .job("bandwidth")
            .reads(&["job", "size", "pages", "threads"])
    };
    vec![
        bandwidth("read", "sum += p[i]", build::<Read>),
        bandwidth("read-4th", "sum += p[i] for every 4th i", build::<ReadFourth>),
        bandwidth("write", "p[i] = x", build::<Write>),
        bandwidth("write-4th", "p[i] = x for every 4th i", build::<WriteFourth>),
        bandwidth("read-write", "p[i] *= 2", build::<ReadWrite>),
        bandwidth("read-write-4th", "p[i] *= 2 for every 4th i", build::<ReadWriteFourth>),
        bandwidth("copy", "memcpy of one set to another", build::<Copy>),
        bandwidth("fill", "memset", build::<Fill>),
        bandwidth("write-around", "stores that bypass the caches", build::<WriteAround>),
        bandwidth("copy-around", "a copy by such stores", build::<CopyAround>),
    ]
}

struct OneThread<K> {
    set: WorkingSet,
    passes: u64,
    warm: bool,
    kernel: PhantomData<K>,
}

fn build<K: Kernel>(point: &Point) -> Result<Box<dyn Task>> {
    K::possible()?;
    let size = point.number("size")?;
    let pages = point.text("pages")?;
    let threads = usize::try_from(point.number("threads")?)?;
    if threads > 1 {
        fits(size.saturating_mul(threads as u64))?;
        return Ok(Box::new(Team::<K>::new(threads, size, pages)?));
    }
    let mut set = WorkingSet::new::<K>(size, pages)?;
    let passes = set.passes::<K>();
    let warm = size <= last_bytes() * 3 / 2;
    Ok(Box::new(OneThread::<K> { set, passes, warm, kernel: PhantomData }))
}

impl<K: Kernel> Task for OneThread<K> {
    fn before(&mut self) -> Result<()> {
        if self.warm {
            self.set.pass::<K>();
        }
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = ops.max(self.passes);
        for _ in 0..ops {
            self.set.pass::<K>();
        }
        let size = self.set.len();
        Ok(Work { ops, bytes: ops * (size / K::ONE_OF), answer: None })
    }
}

/// One pass over a set, as a loop. The elements of `-4th` have 4 bytes, so every 4th element is one
/// in each 16 bytes, and each line is still accessed.
pub(super) trait Kernel: Send + 'static {
    /// Copies need a second part of the same size.
    const TWO_PARTS: bool = false;
    /// One byte in this many is accessed.
    const ONE_OF: u64 = 1;

    /// Skips a kernel that this processor does not support.
    fn possible() -> Result<()> {
        Ok(())
    }

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32;
}

/// The loop in two forms: for any processor, and for one with AVX2.
macro_rules! kernel {
    ($name:ident, $one_of:expr, |$set:ident| $body:expr) => {
        pub(super) struct $name;

        impl Kernel for $name {
            const ONE_OF: u64 = $one_of;

            #[cfg_attr(
                target_arch = "x86_64",
                expect(
                    unsafe_code,
                    reason = "a function for AVX2 may only be called where that is"
                )
            )]
            fn pass(from: &mut [u32], _: &mut [u32]) -> u32 {
                #[inline(always)]
                fn plain($set: &mut [u32]) -> u32 {
                    $body
                }

                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2")]
                    fn with_avx2(set: &mut [u32]) -> u32 {
                        plain(set)
                    }
                    if is_x86_feature_detected!("avx2") {
                        // SAFETY: the processor has AVX2.
                        return unsafe { with_avx2(from) };
                    }
                }
                plain(from)
            }
        }
    };
}

kernel!(Read, 1, |set| set.iter().fold(0, |sum, element| sum.wrapping_add(*element)));
kernel!(ReadFourth, 4, |set| {
    set.as_chunks::<4>().0.iter().fold(0, |sum, four| sum.wrapping_add(four[0]))
});
kernel!(Write, 1, |set| {
    // Hidden from the compiler, which would otherwise call memset.
    let value = black_box(0x0123_4567);
    for element in set.iter_mut() {
        *element = value;
    }
    value
});
kernel!(WriteFourth, 4, |set| {
    let value = black_box(0x0123_4567);
    set.as_chunks_mut::<4>().0.iter_mut().for_each(|four| four[0] = value);
    value
});
kernel!(ReadWrite, 1, |set| {
    for element in set.iter_mut() {
        *element = element.wrapping_mul(2);
    }
    0
});
kernel!(ReadWriteFourth, 4, |set| {
    set.as_chunks_mut::<4>().0.iter_mut().for_each(|four| four[0] = four[0].wrapping_mul(2));
    0
});
kernel!(Fill, 1, |set| {
    set.fill(black_box(0));
    0
});

pub(super) struct Copy;

impl Kernel for Copy {
    const TWO_PARTS: bool = true;

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32 {
        to.copy_from_slice(from);
        0
    }
}

struct WriteAround;
struct CopyAround;

impl Kernel for WriteAround {
    fn possible() -> Result<()> {
        around::possible()
    }

    fn pass(from: &mut [u32], _: &mut [u32]) -> u32 {
        around::write(from, black_box(0x0123_4567));
        0
    }
}

impl Kernel for CopyAround {
    const TWO_PARTS: bool = true;

    fn possible() -> Result<()> {
        around::possible()
    }

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32 {
        around::copy(from, to);
        0
    }
}

/// Every x86-64 has these stores, of 16 bytes; four fill a line, which is then written to memory as
/// a whole.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "stores that bypass the caches have no safe form")]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "sets begin at a page, and 16 bytes are taken at a time"
)]
mod around {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_set1_epi32, _mm_sfence, _mm_stream_si128,
    };

    use anyhow::Result;

    #[expect(clippy::unnecessary_wraps, reason = "elsewhere they are not there")]
    pub(super) fn possible() -> Result<()> {
        Ok(())
    }

    pub(super) fn write(to: &mut [u32], value: u32) {
        // SAFETY: every x86-64 has SSE2.
        unsafe { write_with_sse2(to, value) }
    }

    pub(super) fn copy(from: &[u32], to: &mut [u32]) {
        // SAFETY: every x86-64 has SSE2.
        unsafe { copy_with_sse2(from, to) }
    }

    #[target_feature(enable = "sse2")]
    fn write_with_sse2(to: &mut [u32], value: u32) {
        let value = _mm_set1_epi32(value as i32);
        for to in to.as_chunks_mut::<4>().0 {
            // SAFETY: 16 bytes, at a multiple of 16, because sets begin at a page.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), value) };
        }
        _mm_sfence();
    }

    #[target_feature(enable = "sse2")]
    fn copy_with_sse2(from: &[u32], to: &mut [u32]) {
        for (from, to) in from.as_chunks::<4>().0.iter().zip(to.as_chunks_mut::<4>().0) {
            // SAFETY: 16 bytes, at any alignment.
            let value = unsafe { _mm_loadu_si128(from.as_ptr().cast::<__m128i>()) };
            // SAFETY: 16 bytes, at a multiple of 16, because sets begin at a page.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), value) };
        }
        _mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod around {
    use anyhow::Result;
    use measure::experiment::skip;

    pub(super) fn possible() -> Result<()> {
        Err(skip("stores that bypass the caches are made for x86-64 only"))
    }

    pub(super) fn write(_to: &mut [u32], _value: u32) {}

    pub(super) fn copy(_from: &[u32], _to: &mut [u32]) {}
}

/// The working set of one thread: one part, or two of the same size.
struct WorkingSet {
    parts: Vec<Pages>,
}

impl WorkingSet {
    fn new<K: Kernel>(size: u64, pages: &str) -> Result<WorkingSet> {
        let parts = if K::TWO_PARTS { 2 } else { 1 };
        fits(size * parts)?;
        let parts = (0..parts).map(|_| Pages::new(size, pages)).collect::<Result<_>>()?;
        Ok(WorkingSet { parts })
    }

    fn pass<K: Kernel>(&mut self) {
        let pass = |from: &mut [u32], to: &mut [u32]| black_box(K::pass(from, to));
        match self.parts.as_mut_slice() {
            [from, to] => pass(black_box(from.elements_mut()), black_box(to.elements_mut())),
            [only] => pass(black_box(only.elements_mut()), &mut []),
            _ => 0,
        };
    }

    /// The number of passes that fill about one window.
    fn passes<K: Kernel>(&mut self) -> u64 {
        let mut shortest_ns = u64::MAX;
        for _ in 0..3 {
            let start_ns = now_ns();
            self.pass::<K>();
            shortest_ns = shortest_ns.min(now_ns() - start_ns);
        }
        WINDOW_NS.div_ceil(shortest_ns.max(1))
    }

    /// The length of one part.
    fn len(&self) -> u64 {
        self.parts.first().map_or(0, Pages::len) as u64
    }
}

/// The minimum in all, so that waking the threads has little influence.
const BYTES_MIN: u64 = 256 << 20;

/// Several threads that make passes at the same time, each on its own CPU and over its own set.
/// They sleep between the samples.
struct Team<K> {
    threads: Vec<JoinHandle<Option<()>>>,
    shared: Arc<TeamState>,
    /// The intended number of threads.
    n: usize,
    size: u64,
    kernel: PhantomData<K>,
}

struct TeamState {
    start: Barrier,
    end: Barrier,
    /// The number of passes of each thread in the next sample; 0 ends the threads.
    passes: AtomicU64,
}

impl<K: Kernel> Team<K> {
    fn new(n: usize, size: u64, pages: &str) -> Result<Team<K>> {
        let cpus = allowed_cpus()?;
        if n > cpus.len() {
            return Err(skip(format!("{n} threads, and this process may use {} CPUs", cpus.len())));
        }
        let barrier = || Barrier::new(n + 1);
        let shared =
            Arc::new(TeamState { start: barrier(), end: barrier(), passes: AtomicU64::new(0) });
        let mut team = Team { threads: Vec::new(), shared, n, size, kernel: PhantomData };
        let (say, heard) = mpsc::channel();
        for cpu in cpus.into_iter().take(n) {
            let (shared, say, pages) = (Arc::clone(&team.shared), say.clone(), pages.to_owned());
            let body = move || {
                // The thread that uses a set is the one that touches it first.
                let (set, ready) = match WorkingSet::new::<K>(size, &pages) {
                    Ok(set) => (Some(set), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let _ = say.send(ready);
                drop(say);
                work::<K>(&shared, set);
            };
            team.threads.push(start_on(Some(cpu), body)?);
        }
        let all = (0..n).map(|_| heard.recv().context("a thread ended before it began")?);
        all.collect::<Result<Vec<()>>>()?;
        Ok(team)
    }

    fn sample(&self, passes: u64) {
        self.shared.passes.store(passes, Ordering::Release);
        self.shared.start.wait();
        self.shared.end.wait();
    }
}

fn work<K: Kernel>(shared: &TeamState, mut set: Option<WorkingSet>) {
    loop {
        shared.start.wait();
        let passes = shared.passes.load(Ordering::Acquire);
        if passes == 0 {
            return;
        }
        if let Some(set) = &mut set {
            (0..passes).for_each(|_| set.pass::<K>());
        }
        shared.end.wait();
    }
}

impl<K: Kernel> Task for Team<K> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let threads = self.threads.len() as u64;
        let ops = ops.max(BYTES_MIN.div_ceil(self.size * threads));
        self.sample(ops);
        Ok(Work { ops, bytes: ops * threads * (self.size / K::ONE_OF), answer: None })
    }
}

impl<K> Drop for Team<K> {
    fn drop(&mut self) {
        // If a thread could not be started, the others wait for it until the process ends.
        if self.threads.len() == self.n {
            self.shared.passes.store(0, Ordering::Release);
            self.shared.start.wait();
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

/// A test that does not show the caches: an XOR over an array of growing size. The next addresses
/// are predictable, so the prefetchers load the data during the computation.
pub(super) fn naive() -> Vec<Method> {
    let xor = Method::built_in("xor", "x ^= p[i], per element of 4 bytes", build_xor);
    vec![xor.job("naive").reads(&["job", "size", "pages"])]
}

struct Xor {
    pages: Pages,
    passes: u64,
}

fn build_xor(point: &Point) -> Result<Box<dyn Task>> {
    let mut pages = Pages::new(point.number("size")?, point.text("pages")?)?;
    let mut shortest_ns = u64::MAX;
    for _ in 0..3 {
        let start_ns = now_ns();
        xor_pass(&mut pages);
        shortest_ns = shortest_ns.min(now_ns() - start_ns);
    }
    Ok(Box::new(Xor { pages, passes: WINDOW_NS.div_ceil(shortest_ns.max(1)) }))
}

/// Returns the number of elements.
fn xor_pass(pages: &mut Pages) -> u64 {
    let elements = black_box(pages.elements_mut());
    let mut sum = 0;
    for element in &*elements {
        // As in the original: one element after the other, without vectors.
        sum = black_box(sum ^ element);
    }
    elements.len() as u64
}

impl Task for Xor {
    fn before(&mut self) -> Result<()> {
        xor_pass(&mut self.pages);
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let elements = self.pages.len() as u64 / 4;
        let passes = self.passes.max(ops.div_ceil(elements.max(1)));
        let ops = (0..passes).map(|_| xor_pass(&mut self.pages)).sum();
        Ok(Work { ops, bytes: 4 * ops, answer: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: u32 = 0x5566_7788;

    fn pass<K: Kernel>() -> (u32, Vec<u32>, Vec<u32>) {
        // Has the alignment of sets.
        let mut set = Pages::new(128, "small").unwrap();
        let mut other = Pages::new(128, "small").unwrap();
        set.elements_mut().fill(X);
        let sum = K::pass(set.elements_mut(), other.elements_mut());
        (sum, set.elements_mut().to_vec(), other.elements_mut().to_vec())
    }

    #[test]
    fn the_loops_compute_the_named_operation() {
        assert_eq!(pass::<Read>().0, X.wrapping_mul(32));
        assert_eq!(pass::<ReadFourth>().0, X.wrapping_mul(8));
        assert_eq!(pass::<Write>().1, [0x0123_4567; 32]);
        assert_eq!(pass::<WriteFourth>().1, [0x0123_4567, X, X, X].repeat(8));
        assert_eq!(pass::<ReadWrite>().1, [X.wrapping_mul(2); 32]);
        assert_eq!(pass::<ReadWriteFourth>().1, [X.wrapping_mul(2), X, X, X].repeat(8));
        assert_eq!(pass::<Fill>().1, [0; 32]);
        assert_eq!(pass::<Copy>().2, [X; 32]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn stores_round_the_caches_arrive() {
        assert_eq!(pass::<WriteAround>().1, [0x0123_4567; 32]);
        assert_eq!(pass::<CopyAround>().2, [X; 32]);
    }
}
