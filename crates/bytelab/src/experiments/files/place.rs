//! What the methods that work in the run's folder share: their folder in it, and their phases.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use lab::experiment::{Build, Method, skip};
use lab::param::Point;

use crate::experiments::shared::aligned_buffer::Buffer;

use super::data::OrRefuse;

/// A method that reads cached data.
pub(super) fn cached(
    job: &'static str,
    name: &str,
    about: &str,
    reads: &[&'static str],
    build: Build,
) -> Method {
    Method::built_in(name, about, build).job(job).reads(&["job"]).reads(reads)
}

/// A method that may read from the device, even if only the file system's own blocks.
pub(super) fn changing(
    job: &'static str,
    name: &str,
    about: &str,
    reads: &[&'static str],
    build: Build,
) -> Method {
    Method { bypasses_cache: true, ..cached(job, name, about, reads, build) }
}

/// A folder for this process in the folder of the run.
pub(super) fn own_folder(point: &Point) -> Result<PathBuf> {
    let folder = point.path("folder")?;
    let path = folder.join(std::process::id().to_string());
    fs::create_dir_all(&path).or_refuse(|| format!("making {}", path.display()))?;
    Ok(path)
}

/// The files that the job's methods share; skips with the reason if they could not be created.
pub(super) fn shared(point: &Point) -> Result<PathBuf> {
    match point.text("refused") {
        Ok(reason) => Err(skip(reason)),
        Err(_) => point.path("shared"),
    }
}

/// The folders of a method that creates files: a new one for each sample, and none is removed,
/// because ext4 checks every inode that was freed in the last minutes when it searches for a free
/// one.
pub(super) struct Fresh {
    own: PathBuf,
    n: u64,
    /// The folder of the next sample.
    pub(super) folder: PathBuf,
}

impl Fresh {
    pub(super) fn new(point: &Point) -> Result<Fresh> {
        let own = own_folder(point)?;
        let mut fresh = Fresh { folder: own.clone(), own, n: 0 };
        fresh.next()?;
        Ok(fresh)
    }

    pub(super) fn next(&mut self) -> Result<()> {
        let folder = self.own.join(self.n.to_string());
        fs::create_dir(&folder).or_refuse(|| format!("making {}", folder.display()))?;
        self.n += 1;
        self.folder = folder;
        Ok(())
    }
}

/// The times of the phases of each operation in the last sample.
pub(super) struct Phases<const N: usize> {
    names: [&'static str; N],
    ns: [Vec<u64>; N],
}

impl<const N: usize> Phases<N> {
    pub(super) fn new(names: [&'static str; N]) -> Phases<N> {
        Phases { names, ns: std::array::from_fn(|_| Vec::new()) }
    }

    pub(super) fn clear(&mut self) {
        self.ns.iter_mut().for_each(Vec::clear);
    }

    /// Takes the moments that delimit the phases: one more than there are phases.
    pub(super) fn push(&mut self, moments: &[u64]) {
        for (ns, pair) in self.ns.iter_mut().zip(moments.windows(2)) {
            ns.push(pair[1].saturating_sub(pair[0]));
        }
    }

    /// The medians by nearest rank; none without operations.
    pub(super) fn medians(&mut self) -> Vec<(&'static str, f64)> {
        let median = |ns: &mut Vec<u64>| {
            ns.sort_unstable();
            ns.get(ns.len().saturating_sub(1) / 2).map(|ns| *ns as f64)
        };
        let all = self.names.into_iter().zip(&mut self.ns);
        all.filter_map(|(name, ns)| Some((name, median(ns)?))).collect()
    }
}

/// The buffer with which a file of this size is read or written, of the usual length. It starts at
/// a page: a `pread` of 4 KiB into a buffer 16 bytes behind a page start took three times as long.
pub(super) fn buffer(size: u64) -> Result<Buffer> {
    const LEN_MAX: u64 = 128 << 10;
    Buffer::new(usize::try_from(size.clamp(1, LEN_MAX))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_between_moments_and_have_medians() {
        let mut phases = Phases::new(["a_ns", "b_ns"]);
        assert_eq!(phases.medians(), []);
        for moments in [[0, 10, 30], [100, 105, 200], [300, 301, 302]] {
            phases.push(&moments);
        }
        assert_eq!(phases.medians(), [("a_ns", 5.0), ("b_ns", 20.0)]);
        phases.clear();
        assert_eq!(phases.medians(), []);
    }
}
