//! `--medium slow:20ms,200MB/s`: the files of a run on a file system of ours that delays each
//! request. It is mounted for the run by a process of this program, and unmounted at its end; what
//! a killed run leaves is unmounted by the next one.

#[cfg(target_os = "linux")]
mod serve;

use std::any::Any;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};
use byte_stream::parse_bytes;
use measure::experiment::Data;
use measure::launch::{RunError, ServerProcess};
use measure::stop::Stop;
use model::param::{ParamValue, Point};
use model::path_text::from_path;

#[cfg(target_os = "linux")]
pub use self::serve::run;
use crate::shared::locked_folder::{MOUNT, TemporaryFolder, unmount};

/// The hidden command that serves the files of a folder.
pub const COMMAND: &str = "__medium";

/// Where the folder has links to the files that are served, named by their numbers.
const LINKS: &str = "files";
const READY_NS: u64 = 10_000_000_000;
const LATENCY_MAX: Duration = Duration::from_secs(10);

/// A medium that answers slowly. Its text form is `slow:LATENCY,BANDWIDTH`, with the number of
/// requests that it answers at once behind it, and the read-ahead of the kernel:
/// `slow:20ms,200MB/s,8,128KiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowMedium {
    text: String,
    /// Until the first byte of each request, of at most 128 KiB.
    pub latency: Duration,
    /// Of all requests together.
    pub bytes_per_s: u64,
    pub parallel: u64,
    /// None: what the kernel chooses.
    pub read_ahead_bytes: Option<u64>,
}

/// The requests that it answers at once if nothing else is given.
const PARALLEL: u64 = 8;

impl FromStr for SlowMedium {
    type Err = Error;

    fn from_str(text: &str) -> Result<SlowMedium> {
        let wrong = || format!("{text}: write slow:LATENCY,BANDWIDTH, such as slow:20ms,200MB/s");
        let words = text.strip_prefix("slow:").with_context(wrong)?;
        let words: Vec<&str> = words.split(',').collect();
        ensure!((2..=4).contains(&words.len()), wrong());
        let latency = humantime::parse_duration(words[0]).with_context(wrong)?;
        ensure!(latency <= LATENCY_MAX, "{text}: a latency of at most 10s is possible");
        let bandwidth = words[1].strip_suffix("/s").with_context(wrong)?;
        let bytes_per_s = parse_bytes(bandwidth).with_context(wrong)?;
        ensure!(bytes_per_s >= 1 << 10, "{text}: a bandwidth of at least 1KiB/s is needed");
        let parallel =
            words.get(2).map_or(Ok(PARALLEL), |word| word.parse()).with_context(wrong)?;
        ensure!((1..=256).contains(&parallel), "{text}: 1 to 256 requests at once are possible");
        let read_ahead_bytes = words.get(3).map(|word| parse_bytes(word)).transpose()?;
        Ok(SlowMedium { text: text.to_owned(), latency, bytes_per_s, parallel, read_ahead_bytes })
    }
}

/// The files of a run on such a medium. They are unmounted on drop.
pub struct MountedMedium {
    /// Ended before the folder is removed.
    _server: ServerProcess,
    folder: TemporaryFolder,
    files: Vec<PathBuf>,
}

impl MountedMedium {
    /// Mounts the files below a folder that is made in this directory.
    pub fn new(medium: &SlowMedium, files: &[PathBuf], dir: &Path, stop: &Stop) -> Result<Self> {
        let folder = TemporaryFolder::new_in(dir)?;
        let (links, mount) = (folder.path.join(LINKS), folder.path.join(MOUNT));
        fs::create_dir(&links).and_then(|()| fs::create_dir(&mount)).context("making folders")?;
        for (number, file) in files.iter().enumerate() {
            let file = std::path::absolute(file)?;
            symlink(file, links.join(number.to_string())).context("a link to a file")?;
        }
        let program = std::env::current_exe().context("finding this program")?;
        let words = [&program, Path::new(COMMAND), &folder.path];
        let mut argv: Vec<String> = words.map(|word| from_path(word).into_owned()).to_vec();
        argv.push(medium.text.clone());
        let refused = |ended| match ended {
            RunError::Skipped(why) | RunError::Failed(why) => {
                anyhow!("--medium: {why}; it needs root or fusermount3 (Debian: apt install fuse3)")
            }
            RunError::Stopped => anyhow!("stopped by a signal"),
        };
        let files = files.iter().enumerate().map(|(number, file)| mount.join(name(number, file)));
        let files: Vec<PathBuf> = files.collect();
        let first = files.first().context("--medium: there is no file to serve")?;
        let mut server = ServerProcess::start(&argv, READY_NS, stop).map_err(refused)?;
        let mounted = server.until(|| fs::metadata(first).ok()).map_err(refused);
        MountedMedium { _server: server, folder, files }.with_read_ahead(medium, mounted?.dev())
    }

    /// The kernel keeps it for each mounted file system.
    #[cfg(target_os = "linux")]
    fn with_read_ahead(self, medium: &SlowMedium, device: u64) -> Result<Self> {
        let Some(wanted) = medium.read_ahead_bytes else { return Ok(self) };
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let file = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
        fs::write(&file, (wanted >> 10).to_string())
            .with_context(|| format!("--medium: the read-ahead, {file}: only root may set it"))?;
        Ok(self)
    }

    #[cfg(not(target_os = "linux"))]
    fn with_read_ahead(self, medium: &SlowMedium, _: u64) -> Result<Self> {
        let has_none = medium.read_ahead_bytes.is_none();
        has_none.then_some(self).context("--medium: only Linux has a read-ahead that can be set")
    }

    /// The paths of the files, in the order in which they were given.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}

/// The name of a file on the medium: its number, and the ending by which programs know its format.
fn name(number: usize, file: &Path) -> String {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => format!("{number}.{ending}"),
        None => number.to_string(),
    }
}

impl Drop for MountedMedium {
    fn drop(&mut self) {
        unmount(&self.folder.path);
    }
}

/// The same data, with its files on the medium.
pub fn on_medium(data: Data, medium: &SlowMedium, dir: &Path, stop: &Stop) -> Result<Data> {
    ensure!(!data.files.is_empty(), "--medium: this experiment reads no file that could be served");
    // The server has opened the files where they are.
    ensure!(
        data.arguments.get("url").is_none(),
        "--medium: a server reads these files, which would not be slow; use --source file"
    );
    let mounted = MountedMedium::new(medium, &data.files, dir, stop)?;
    let files = mounted.paths();
    let served = |point: &Point| {
        let mut point = point.clone();
        for (file, path) in data.files.iter().zip(&files) {
            let is_file = ParamValue::from(file.clone());
            let names: Vec<String> = point
                .iter()
                .filter(|(_, value)| **value == is_file)
                .map(|(name, _)| name.to_owned())
                .collect();
            for name in names {
                point.set(name, path.clone());
            }
        }
        point
    };
    let (arguments, old_arguments) =
        (served(&data.arguments), data.old_arguments.as_ref().map(served));
    let guard: Option<Box<dyn Any>> = Some(Box::new((mounted, data.guard)));
    Ok(Data { arguments, old_arguments, files, guard, is_served: true, ..data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_refused(text: &str, expected: &str) {
        let error = format!("{:#}", text.parse::<SlowMedium>().unwrap_err());
        assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
    }

    #[test]
    fn a_medium_is_given_as_text() {
        let medium: SlowMedium = "slow:20ms,200MB/s".parse().unwrap();
        assert_eq!(medium.latency, Duration::from_millis(20));
        assert_eq!((medium.bytes_per_s, medium.parallel), (200_000_000, 8));
        assert_eq!(medium.read_ahead_bytes, None);
        let all: SlowMedium = "slow:1ms500us,64KiB/s,1,128KiB".parse().unwrap();
        assert_eq!((all.parallel, all.read_ahead_bytes), (1, Some(128 << 10)));
    }

    #[test]
    fn files_that_a_server_reads_are_refused() {
        let mut arguments = Point::default();
        arguments.set("url", "http://127.0.0.1:1/0");
        let data = Data { arguments, files: vec!["/none".into()], ..Data::default() };
        let medium = "slow:1ms,1MB/s".parse().unwrap();
        let refused = on_medium(data, &medium, Path::new("/none"), &Stop::default());
        assert!(refused.err().unwrap().to_string().contains("use --source file"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_keeps_the_ending_of_its_name() {
        for (number, file, expected) in [
            (0, "/a/model.safetensors", "0.safetensors"),
            (12, "/a/x.csv.gz", "12.gz"),
            (3, "/a.b/data", "3"),
        ] {
            assert_eq!(name(number, Path::new(file)), expected);
            assert_eq!(serve::number_of(expected), Some(number as u64));
        }
        for other in ["", "x", "x.0", "-1", ".0"] {
            assert_eq!(serve::number_of(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_medium_is_refused_in_a_line() {
        for text in ["", "fast:", "slow:", "slow:20ms", "slow:20,1MB/s", "slow:20ms,1MB"] {
            check_refused(text, "write slow:LATENCY,BANDWIDTH");
        }
        check_refused("slow:1h,1MB/s", "at most 10s");
        check_refused("slow:1ms,1/s", "at least 1KiB/s");
        check_refused("slow:1ms,1MB/s,0", "1 to 256 requests");
        check_refused("slow:1ms,1MB/s,1,2,3", "write slow:LATENCY,BANDWIDTH");
    }
}
