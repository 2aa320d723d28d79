//! The surroundings of a point's samples: its data, its folder, and the hooks at its begin and end.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use byte_stream::parse_bytes;
use measure::experiment::{Command, Data, Ending};
use measure::launch::{Hook, RunError, hook};
use measure::stop::Stop;
use model::param::Point;
use model::path_text::to_path;
use model::template::fill;
use record_sampler::Rng;

use super::file::Content;
use super::names::{DIR, FILE, HERE, PROGRAM};
use crate::shared::locked_folder;
use crate::shared::made_file;

/// The time limit of a hook that creates or removes something.
const HOOK_LIMIT_NS: u64 = 10 * 60 * 1_000_000_000;

/// Part of the name of a generated file; it changes with the contents.
const VERSION: u32 = 1;

pub(super) struct DataHooks {
    /// The folder of the experiment's file, in which all commands run.
    pub(super) dir: PathBuf,
    pub(super) here: String,
    pub(super) program: Option<String>,
    pub(super) source: Option<DataSource>,
    pub(super) setup: Option<Command>,
    pub(super) cleanup: Option<Command>,
}

/// The source of the data; the texts may contain params in braces.
pub(super) enum DataSource {
    File { path: String, dir: PathBuf },
    Made { size: String, content: Content },
}

impl DataHooks {
    pub(super) fn data(
        around: &Rc<DataHooks>,
        point: &Point,
        data_dir: &Path,
        stop: &Stop,
    ) -> Result<Data> {
        let mut arguments = point.clone();
        arguments.set(HERE, around.here.as_str());
        if let Some(program) = &around.program {
            arguments.set(PROGRAM, program.as_str());
        }
        let files = match &around.source {
            Some(source) => vec![source.file(&arguments, data_dir, stop)?],
            None => Vec::new(),
        };
        for file in &files {
            arguments.set(FILE, file.clone());
        }
        locked_folder::remove_leftovers(data_dir);
        let (folder, lock) = locked_folder::make_locked(data_dir).with_context(|| {
            format!("making a folder in {}; --data-dir names another place", data_dir.display())
        })?;
        arguments.set(DIR, folder.clone());
        let (own, of_end) = (Rc::clone(around), arguments.clone());
        // From here on, everything that was created is removed, whatever happens.
        let ending = Ending::new(move || {
            // The signal that ended the run must not stop the cleanup.
            let cleaned = own.run("cleanup", own.cleanup.as_ref(), &of_end, &Stop::default());
            let removed = fs::remove_dir_all(&folder);
            drop(lock);
            cleaned?;
            removed.with_context(|| format!("removing {}", folder.display()))
        });
        around.run("setup", around.setup.as_ref(), &arguments, stop)?;
        Ok(Data { arguments, files, ending, ..Data::default() })
    }

    fn run(
        &self,
        name: &str,
        command: Option<&Command>,
        arguments: &Point,
        stop: &Stop,
    ) -> Result<()> {
        let Some(command) = command else { return Ok(()) };
        let dir = Some(self.dir.clone());
        let run =
            hook(&Hook { name, command, dir, limit_ns: HOOK_LIMIT_NS, n: 0 }, arguments, stop);
        run.map_err(|ended| match ended {
            RunError::Stopped => anyhow!("stopped by a signal in hook {name}"),
            RunError::Skipped(why) | RunError::Failed(why) => anyhow!(why),
        })
    }
}

impl DataSource {
    fn file(&self, arguments: &Point, data_dir: &Path, stop: &Stop) -> Result<PathBuf> {
        let filled = |text: &str| fill(text, arguments, str::to_owned);
        match self {
            DataSource::File { path, dir } => {
                let path = dir.join(to_path(&filled(path)));
                let found = fs::metadata(&path);
                let found = found.with_context(|| format!("[data]: {}", path.display()))?;
                ensure!(found.is_file(), "[data]: {} is not a file", path.display());
                Ok(path)
            }
            DataSource::Made { size, content } => {
                let size = filled(size);
                let size = parse_bytes(&size).with_context(|| format!("[data] size {size}"))?;
                made(data_dir, size, *content, stop)
            }
        }
    }
}

fn made(data_dir: &Path, size: u64, content: Content, stop: &Stop) -> Result<PathBuf> {
    let word = match content {
        Content::Random => return Ok(made_file::files(data_dir, size, 1, stop)?.remove(0)),
        Content::Text => "text",
        Content::Zeros => "zeros",
    };
    let path = data_dir.join(format!("own-v{VERSION}-{word}-{size}.bin"));
    if fs::metadata(&path).is_ok_and(|file| file.len() == size) {
        return Ok(path);
    }
    made_file::check_space(data_dir, size)?;
    let making = || format!("making {} (is there room?)", path.display());
    let is_text = content == Content::Text;
    made_file::write_whole(&path, |file| write(file, size, is_text, stop)).with_context(making)?;
    Ok(path)
}

/// Writes lines of 20 to 100 letters, the same every time; or zeros.
fn write(file: &File, size: u64, is_text: bool, stop: &Stop) -> Result<()> {
    let mut out = BufWriter::with_capacity(4 << 20, file);
    let mut rng = Rng::new(u64::from(VERSION));
    let (mut left, mut line) = (size, vec![0; 64 << 10]);
    for number in 0u64.. {
        if left == 0 {
            break;
        }
        if is_text {
            line.clear();
            let len = 19 + rng.below(81) as usize;
            while line.len() < len {
                let letters = rng.next_u64().to_le_bytes();
                line.extend(letters.map(|byte| b"etaoinshrdlu cmf"[usize::from(byte % 16)]));
            }
            line.truncate(len);
            line.push(b'\n');
        }
        let n = usize::try_from(left).map_or(line.len(), |left| left.min(line.len()));
        if n as u64 == left && is_text {
            // The last line is complete, too.
            line[n - 1] = b'\n';
        }
        out.write_all(&line[..n])?;
        left -= n as u64;
        if number % 65536 == 0 && stop.signal().is_some() {
            bail!("stopped by a signal");
        }
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_text_is_whole_lines_of_the_requested_size() {
        let dir = tempfile::tempdir().unwrap();
        for size in [1, 100, 70_001] {
            let path = made(dir.path(), size, Content::Text, &Stop::default()).unwrap();
            let text = fs::read_to_string(path).unwrap();
            assert_eq!((text.len() as u64, text.ends_with('\n')), (size, true));
            assert!(text.lines().all(|line| line.len() < 100));
        }
        let path = made(dir.path(), 70_000, Content::Zeros, &Stop::default()).unwrap();
        assert_eq!(fs::read(path).unwrap(), vec![0; 70_000]);
    }
}
