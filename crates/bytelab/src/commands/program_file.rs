//! The files of programs: where the program of a command is, and whether two of them are the same.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use measure::launch::Stop;
use model::path_text::to_path;
use sha2::{Digest, Sha256};

/// The program of a command.
pub(super) struct ProgramFile {
    /// Its name as it is in the command.
    pub(super) word: String,
    /// Where it is, if that is known.
    pub(super) path: Option<PathBuf>,
}

/// Why two programs are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    /// They are one file of one name, or have the same name in the command.
    File,
    /// Their files have equal bytes.
    Bytes,
}

impl ProgramFile {
    /// The program of a command that works in this folder. `has_own_path`: the command finds its
    /// program elsewhere than the lab.
    pub(super) fn new(word: String, dir: &Path, has_own_path: bool) -> ProgramFile {
        let path = match dir.join(to_path(&word)) {
            path if word.contains('/') => Some(path),
            _ if has_own_path => None,
            _ => installed(&word),
        };
        ProgramFile { word, path }
    }

    /// One file of two names may be two programs, as gzip and gunzip are.
    pub(super) fn sameness(
        &self,
        other: &ProgramFile,
        digests: &mut Digests<'_>,
    ) -> Option<Sameness> {
        if self.word == other.word {
            return Some(Sameness::File);
        }
        let (a, b) = (self.path.as_ref()?, other.path.as_ref()?);
        let (of_a, of_b) = (a.metadata().ok()?, b.metadata().ok()?);
        if (of_a.dev(), of_a.ino()) == (of_b.dev(), of_b.ino()) {
            return (a.file_name() == b.file_name()).then_some(Sameness::File);
        }
        let is_equal = of_a.len() == of_b.len() && digests.are_equal([a, b]);
        is_equal.then_some(Sameness::Bytes)
    }
}

/// Whether a command may begin with this name.
pub(crate) fn is_installed(name: &str) -> bool {
    installed(name).is_some()
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    let may_run = |found: &Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    file.metadata().is_ok_and(|found| may_run(&found))
}

/// A larger file is no program, and reading it would delay the run.
const FILE_MAX_BYTES: u64 = 1 << 30;

/// The SHA-256 of files, each of which is read once.
pub(super) struct Digests<'a> {
    stop: &'a Stop,
    /// The digests by device and inode.
    known: HashMap<(u64, u64), Option<String>>,
}

impl<'a> Digests<'a> {
    pub(super) fn new(stop: &'a Stop) -> Digests<'a> {
        Digests { stop, known: HashMap::new() }
    }

    /// Whether both files have the same bytes, as far as they can be read.
    pub(super) fn are_equal(&mut self, files: [&Path; 2]) -> bool {
        let [first, second] = files.map(|file| self.sha256(file));
        first.is_some() && first == second
    }

    /// In hexadecimal; none of what is no file, cannot be read, or is larger than a program.
    pub(super) fn sha256(&mut self, path: &Path) -> Option<String> {
        // Opening a FIFO would block.
        let found = path.metadata().ok()?;
        if !found.is_file() || found.len() > FILE_MAX_BYTES {
            return None;
        }
        let key = (found.dev(), found.ino());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let digest = self.read(path);
        self.known.insert(key, digest.clone());
        digest
    }

    fn read(&self, path: &Path) -> Option<String> {
        let mut file = File::open(path).ok()?;
        let (mut digest, mut buffer) = (Sha256::new(), vec![0; 256 << 10]);
        loop {
            self.stop.check().ok()?;
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => digest.update(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        let pairs: Vec<String> =
            digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(pairs.concat())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_file_is_read_once_and_none_that_is_larger_than_a_program() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let stop = Stop::default();
        let mut digests = Digests::new(&stop);
        std::fs::write(path("a"), "one").unwrap();
        symlink("a", path("b")).unwrap();
        let first = digests.sha256(&path("a"));
        assert!(first.is_some());
        // The bytes of the same file are not read again.
        std::fs::write(path("a"), "two").unwrap();
        assert_eq!(digests.sha256(&path("b")), first);
        File::create(path("large")).unwrap().set_len(FILE_MAX_BYTES + 1).unwrap();
        assert_eq!([path("large"), path("nosuch")].map(|path| digests.sha256(&path)), [None, None]);
    }
}
