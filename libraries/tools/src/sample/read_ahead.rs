//! Reads small objects ahead: a request takes longer than the bytes that it returns, so several
//! are sent at once. The bytes are read one object after the other, as without it.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::source::{RemoteAccess, nameless};

/// The objects that are requested or wait at once, and the largest of them.
const OBJECTS: usize = 16;
pub(super) const OBJECT_BYTES: u64 = 4 << 20;

/// Objects in the order in which they are read.
pub(super) struct ReadAhead {
    access: RemoteAccess,
    urls: Vec<String>,
    state: Mutex<ReadAheadState>,
}

#[derive(Default)]
struct ReadAheadState {
    /// The index of the first object that was not requested yet.
    next: usize,
    fetches: BTreeMap<usize, JoinHandle<io::Result<Vec<u8>>>>,
}

impl ReadAhead {
    /// A reader for each object.
    pub(super) fn readers(access: &RemoteAccess, urls: Vec<String>) -> Vec<ReadAheadReader> {
        let (access, state, objects) = (access.clone(), Mutex::default(), urls.len());
        let ahead = Arc::new(ReadAhead { access, urls, state });
        (0..objects)
            .map(|index| ReadAheadReader { ahead: ahead.clone(), index, bytes: None })
            .collect()
    }

    /// The bytes of an object; those behind it are requested meanwhile.
    fn bytes(&self, index: usize) -> io::Result<Vec<u8>> {
        let fetch = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.next = state.next.max(index);
            while state.next < self.urls.len().min(index + OBJECTS) {
                let (access, url) = (self.access.clone(), self.urls[state.next].clone());
                let thread = Builder::new().name("object".to_owned());
                // Without a thread it is read when it is needed.
                let Ok(fetch) = thread.spawn(move || fetched(&access, &url)) else { break };
                let at = state.next;
                state.fetches.insert(at, fetch);
                state.next += 1;
            }
            state.fetches.remove(&index)
        };
        match fetch.map(JoinHandle::join) {
            Some(Ok(bytes)) => bytes,
            Some(Err(_)) => Err(io::Error::other("the thread that read it has panicked")),
            None => fetched(&self.access, &self.urls[index]),
        }
    }
}

fn fetched(access: &RemoteAccess, url: &str) -> io::Result<Vec<u8>> {
    let mut stream = access.options().open(url).map_err(|error| nameless(&error))?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next_chunk().map_err(|error| nameless(&error))? {
        bytes.extend_from_slice(chunk);
    }
    Ok(bytes)
}

/// The bytes of one of the objects.
pub(super) struct ReadAheadReader {
    ahead: Arc<ReadAhead>,
    index: usize,
    /// Once they are there.
    bytes: Option<Cursor<Vec<u8>>>,
}

impl Read for ReadAheadReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            none => none.insert(Cursor::new(self.ahead.bytes(self.index)?)),
        };
        bytes.read(buffer)
    }
}
