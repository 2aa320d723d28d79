//! Reads of 4 KiB at random offsets of a file that is not cached, which is verified before each
//! sample.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use measure::cache;
use measure::clock::now_ns;
use measure::experiment::{Method, Task, Work, skip};
use model::run::CacheState;

use super::data::changing;
use super::read::{BLOCK, DIGEST_BLOCKS, ShuffledBlocks, open};

/// The minimum number of reads in a cold sample.
const COLD_MIN: u64 = 16;

pub(super) fn methods() -> Vec<Method> {
    vec![
        changing(
            "random-cold",
            "cold-pread",
            "pread of 4 KiB, none cached",
            &["dir", "span"],
            |p| {
                let blocks = ShuffledBlocks::from_point(p)?;
                let file = open(&blocks.path, 0)?;
                device_of(&blocks.path)?;
                let advice = rustix::fs::Advice::Random;
                rustix::fs::fadvise(&file, 0, None, advice).context("fadvise")?;
                let mut cold = Cold { blocks, file, evicts: true, again_ratio: None };
                cold.between()?;
                Ok(Box::new(cold))
            },
        ),
        changing("random-cold", "cold-direct", "O_DIRECT read of 4 KiB", &["dir", "span"], |p| {
            let mut blocks = ShuffledBlocks::from_point(p)?;
            device_of(&blocks.path)?;
            let file = open(&blocks.path, libc::O_DIRECT)?;
            blocks.next(&file).map_err(|error| skip(format!("O_DIRECT is refused: {error:#}")))?;
            let mut cold = Cold { blocks, file, evicts: false, again_ratio: None };
            cold.again_ratio = Some(cold.again_ratio()?);
            Ok(Box::new(cold))
        }),
    ]
}

/// Skips a file system in memory, which may accept `O_DIRECT` but has no device.
fn device_of(path: &Path) -> Result<()> {
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    let stat =
        rustix::fs::statfs(path).with_context(|| format!("looking at {}", path.display()))?;
    if IN_MEMORY.contains(&(stat.f_type as u32)) {
        return Err(skip(format!("{} is on a file system in memory: no device", path.display())));
    }
    Ok(())
}

struct Cold {
    blocks: ShuffledBlocks,
    file: File,
    /// Whether reads fill the page cache, so that the pages must be evicted.
    evicts: bool,
    again_ratio: Option<f64>,
}

impl Cold {
    /// The time for reading the same blocks again, divided by the time of the first read: far below
    /// 1 means that a layer below the kernel caches them, too.
    fn again_ratio(&mut self) -> Result<f64> {
        let mut ns = [0, 0];
        for ns in &mut ns {
            self.blocks.next = 0;
            let start_ns = now_ns();
            for _ in 0..DIGEST_BLOCKS {
                self.blocks.next(&self.file)?;
            }
            *ns = now_ns() - start_ns;
        }
        Ok(ns[1] as f64 / ns[0] as f64)
    }
}

impl Task for Cold {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = ops.max(COLD_MIN).min(self.blocks.order.len() as u64);
        for _ in 0..ops {
            self.blocks.next(&self.file)?;
        }
        Ok(Work { ops, bytes: ops * BLOCK as u64, answer: None })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        let file = &self.file;
        let digest = self.blocks.digest(|blocks| blocks.next(file))?;
        self.between()?;
        Ok(Some(digest))
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.again_ratio.map(|ratio| ("again_ratio", ratio)).into_iter().collect()
    }

    /// No page of the file may be cached when the next sample begins.
    fn between(&mut self) -> Result<()> {
        if !self.evicts {
            return Ok(());
        }
        let mut reason = String::new();
        // Pages that were just read may survive the first attempt.
        for _ in 0..5 {
            cache::evict(&self.blocks.path)?;
            match cache::prove(CacheState::Cold, &[&self.blocks.path]) {
                Ok(()) => return Ok(()),
                Err(why) => reason = why,
            }
        }
        bail!(skip(format!("the file cannot be dropped from the page cache: {reason}")))
    }
}
