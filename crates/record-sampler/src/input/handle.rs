//! The descriptors of files: of many files only some stay open, and the others are opened again
//! when they are read.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, getrlimit};

/// The most files that stay open for as long as the population lives.
const MOST_PINNED: u64 = 256;
/// The most files that were opened again and are not closed yet.
const MOST_REOPENED: usize = 4;

/// A file that can be read at any time, whether it is open now or not.
pub(crate) struct Handle {
    /// It stays open, and has this descriptor.
    pinned: Option<File>,
    path: PathBuf,
    /// The device and the inode, by which another file of the same name is recognised.
    identity: (u64, u64),
    reopened: Arc<Reopened>,
}

/// The descriptors of a population.
#[derive(Clone)]
pub(crate) struct Descriptors {
    pinned: Arc<AtomicUsize>,
    most_pinned: usize,
    reopened: Arc<Reopened>,
}

/// Files that were opened again, the last one at the end.
type Reopened = Mutex<VecDeque<((u64, u64), Arc<File>)>>;

/// An open file.
pub(crate) enum Open<'a> {
    Pinned(&'a File),
    Reopened(Arc<File>),
}

impl Deref for Open<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Open::Pinned(file) => file,
            Open::Reopened(file) => file,
        }
    }
}

impl Descriptors {
    /// A quarter of the descriptors that this process may have is used at most: the caller needs
    /// some, too.
    pub(crate) fn new() -> Descriptors {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Descriptors {
            pinned: Arc::default(),
            most_pinned: (limit / 4).min(MOST_PINNED) as usize,
            reopened: Arc::default(),
        }
    }

    /// A handle of this open file, which is closed if too many are open already.
    pub(crate) fn handle(&self, file: File, path: &Path, metadata: &Metadata) -> Handle {
        let is_pinned = self.pinned.fetch_add(1, Ordering::Relaxed) < self.most_pinned;
        self.new_handle(is_pinned.then_some(file), path, metadata)
    }

    /// A handle of a file that cannot be opened again, as it has no path.
    pub(crate) fn handle_without_path(&self, file: File, metadata: &Metadata) -> Handle {
        self.new_handle(Some(file), Path::new(""), metadata)
    }

    fn new_handle(&self, pinned: Option<File>, path: &Path, metadata: &Metadata) -> Handle {
        let reopened = Arc::clone(&self.reopened);
        Handle { pinned, path: path.to_owned(), identity: identity(metadata), reopened }
    }
}

impl Handle {
    pub(crate) fn has_path(&self) -> bool {
        !self.path.as_os_str().is_empty()
    }

    pub(crate) fn get(&self) -> io::Result<Open<'_>> {
        if let Some(file) = &self.pinned {
            return Ok(Open::Pinned(file));
        }
        let mut reopened = self.reopened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = reopened.iter().find(|(identity, _)| *identity == self.identity) {
            return Ok(Open::Reopened(Arc::clone(file)));
        }
        let file = File::open(&self.path)?;
        if identity(&file.metadata()?) != self.identity {
            return Err(io::Error::other("another file has taken its name while it was read"));
        }
        let file = Arc::new(file);
        if reopened.len() == MOST_REOPENED {
            reopened.pop_front();
        }
        reopened.push_back((self.identity, Arc::clone(&file)));
        Ok(Open::Reopened(file))
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
