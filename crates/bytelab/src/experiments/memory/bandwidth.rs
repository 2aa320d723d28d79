//! Memory bandwidth: a pass over the whole set, by one thread or by several with a set each. The
//! loops are plain Rust, which the compiler vectorizes; on x86-64 with AVX2 if the processor has
//! it.

use anyhow::Result;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use super::caches;
use super::kernel::{self, Kernel};
use super::pages::fits;
use super::set::Set;
use super::team::Team;

/// The first one is the reference.
pub(super) fn methods() -> Vec<Method> {
    let bandwidth = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build)
            .job("bandwidth")
            .reads(&["job", "size", "pages", "threads"])
    };
    vec![
        bandwidth("read", "sum += p[i]", build::<kernel::Read>),
        bandwidth("read-4th", "sum += p[i] for every 4th i", build::<kernel::ReadFourth>),
        bandwidth("write", "p[i] = x", build::<kernel::Write>),
        bandwidth("write-4th", "p[i] = x for every 4th i", build::<kernel::WriteFourth>),
        bandwidth("read-write", "p[i] *= 2", build::<kernel::ReadWrite>),
        bandwidth("read-write-4th", "p[i] *= 2 for every 4th i", build::<kernel::ReadWriteFourth>),
        bandwidth("copy", "memcpy of one set to another", build::<kernel::Copy>),
        bandwidth("fill", "memset", build::<kernel::Fill>),
        bandwidth("write-around", "stores that go round the caches", build::<kernel::WriteAround>),
        bandwidth("copy-around", "a copy by such stores", build::<kernel::CopyAround>),
    ]
}

struct Alone<K> {
    set: Set,
    passes: u64,
    warm: bool,
    kernel: std::marker::PhantomData<K>,
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
    let mut set = Set::new::<K>(size, pages)?;
    let passes = set.passes::<K>();
    let warm = size <= caches::last_bytes() * 3 / 2;
    Ok(Box::new(Alone::<K> { set, passes, warm, kernel: std::marker::PhantomData }))
}

impl<K: Kernel> Task for Alone<K> {
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
