//! The table of shared keys: names of dict keys that documents store as small numbers.

use crate::error::{Error, ErrorKind};
use crate::{Doc, Encoder, Result};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A table that maps names of dict keys to the numbers 0 to 2047, in order of first use.
///
/// Documents that were written with a table need it to be read. Names are only ever added, so a newer table reads older documents.
///
/// ```
/// use fleece_codec::{Doc, Encoder, SharedKeys};
/// use std::sync::Arc;
///
/// let mut encoder = Encoder::new();
/// encoder.set_shared_keys(SharedKeys::new());
/// encoder.begin_dict();
/// encoder.write_key("name");
/// encoder.write_str("Ada");
/// encoder.end_dict();
/// let keys = encoder.take_shared_keys().unwrap();
/// let doc = Doc::open(encoder.finish()?)?.with_shared_keys(Arc::new(keys));
/// assert_eq!(doc.root().get("name").unwrap().as_str(), Some("Ada"));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub struct SharedKeys {
    names: Vec<Box<str>>,
    /// Numbers in the order of their names.
    sorted: Vec<u16>,
    identity: u64,
}

/// Keys remember a number together with the table it is from, so no two tables may have the same identity.
static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

impl SharedKeys {
    /// The most names that a table holds.
    ///
    /// ```
    /// assert_eq!(fleece_codec::SharedKeys::LEN_MAX, 2048);
    /// ```
    pub const LEN_MAX: usize = 2048;
    /// The longest name that is shared, in bytes.
    ///
    /// ```
    /// assert_eq!(fleece_codec::SharedKeys::NAME_LEN_MAX, 16);
    /// ```
    pub const NAME_LEN_MAX: usize = 16;

    /// An empty table.
    ///
    /// ```
    /// assert!(fleece_codec::SharedKeys::new().is_empty());
    /// ```
    pub fn new() -> Self {
        let identity = NEXT_IDENTITY.fetch_add(1, Relaxed);
        Self { names: Vec::new(), sorted: Vec::new(), identity }
    }

    /// A table from its saved state.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// let mut keys = SharedKeys::new();
    /// keys.add("name");
    /// assert_eq!(SharedKeys::from_state(&keys.to_state()?)?.name(0), Some("name"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn from_state(state: &[u8]) -> Result<Self> {
        let mut keys = Self::new();
        keys.load_state(state)?;
        Ok(keys)
    }

    /// Adds the names by which a saved state is longer than this table, and says how many.
    ///
    /// The state is a Fleece document, an array of strings. Fails, with the table unchanged, if it is not, or has too many.
    ///
    /// ```
    /// # use fleece_codec::{fleece, SharedKeys};
    /// let mut keys = SharedKeys::new();
    /// assert_eq!(keys.load_state(&fleece!(["id", "name"]))?, 2);
    /// assert_eq!(keys.load_state(&fleece!(["id"]))?, 0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn load_state(&mut self, state: &[u8]) -> Result<usize> {
        let doc = Doc::check(state)?;
        let wrong = || Error::new(ErrorKind::WrongType, "shared keys are not an array of strings");
        let array = doc.root().as_array().ok_or_else(wrong)?;
        if array.len() > Self::LEN_MAX {
            return Err(Error::new(ErrorKind::TooLarge, "more than 2048 shared keys"));
        }
        let names = array.iter().skip(self.len());
        let names: Vec<&str> =
            names.map(crate::Value::as_str).collect::<Option<_>>().ok_or_else(wrong)?;
        for name in &names {
            self.append(name);
        }
        Ok(names.len())
    }

    /// The state to save: a Fleece document, an array of the names in order of their numbers.
    ///
    /// ```
    /// # use fleece_codec::{fleece, SharedKeys};
    /// let mut keys = SharedKeys::new();
    /// keys.add("name");
    /// assert_eq!(keys.to_state()?, fleece!(["name"]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_state(&self) -> Result<Vec<u8>> {
        let mut encoder = Encoder::new();
        encoder.begin_array();
        for name in &self.names {
            encoder.write_str(name);
        }
        encoder.end_array();
        encoder.finish()
    }

    /// How many names there are.
    ///
    /// ```
    /// assert_eq!(fleece_codec::SharedKeys::new().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// assert!(fleece_codec::SharedKeys::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a number.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// let mut keys = SharedKeys::new();
    /// keys.add("id");
    /// assert_eq!(keys.name(0), Some("id"));
    /// assert_eq!(keys.name(1), None);
    /// ```
    pub fn name(&self, index: u16) -> Option<&str> {
        self.names.get(usize::from(index)).map(|name| &**name)
    }

    /// The number of a name.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// let mut keys = SharedKeys::new();
    /// keys.add("id");
    /// assert_eq!(keys.index_of("id"), Some(0));
    /// ```
    pub fn index_of(&self, name: &str) -> Option<u16> {
        self.place(name).ok().map(|place| self.sorted[place])
    }

    /// The number of a name, which is added if it is new, eligible and there is room.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// let mut keys = SharedKeys::new();
    /// assert_eq!(keys.add("id"), Some(0));
    /// assert_eq!(keys.add("id"), Some(0));
    /// assert_eq!(keys.add("not eligible"), None);
    /// ```
    pub fn add(&mut self, name: &str) -> Option<u16> {
        if let Some(index) = self.index_of(name) {
            return Some(index);
        }
        if !Self::is_eligible(name) || self.len() >= Self::LEN_MAX {
            return None;
        }
        self.append(name);
        Some(self.len() as u16 - 1)
    }

    /// Whether a name may be shared: at most 16 bytes, each an ASCII letter, a digit, `_` or `-`.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// assert!(SharedKeys::is_eligible("first_name"));
    /// assert!(!SharedKeys::is_eligible("first name"));
    /// ```
    pub fn is_eligible(name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        name.len() <= Self::NAME_LEN_MAX && name.bytes().all(plain)
    }

    /// Forgets all names from number `len` on, as when the transaction that added them is rolled back.
    ///
    /// ```
    /// # use fleece_codec::SharedKeys;
    /// let mut keys = SharedKeys::new();
    /// keys.add("id");
    /// keys.add("name");
    /// keys.revert(1);
    /// assert_eq!(keys.index_of("name"), None);
    /// ```
    pub fn revert(&mut self, len: usize) {
        if len < self.len() {
            self.names.truncate(len);
            self.sorted.retain(|&index| usize::from(index) < len);
            self.identity = NEXT_IDENTITY.fetch_add(1, Relaxed);
        }
    }

    /// Whether the names that both have room for are the same.
    pub(crate) fn begins_like(&self, other: &Self) -> bool {
        self.names.iter().zip(&other.names).all(|(own, other)| own == other)
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    fn append(&mut self, name: &str) {
        // A state may hold a name twice; the first number stays the one that is found.
        let index = self.names.len() as u16;
        self.names.push(name.into());
        if let Err(place) = self.place(name) {
            self.sorted.insert(place, index);
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.sorted.binary_search_by(|&index| self.names[usize::from(index)].as_ref().cmp(name))
    }
}

impl fmt::Debug for SharedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table of {} shared keys", self.len())
    }
}

impl Default for SharedKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for SharedKeys {
    fn clone(&self) -> Self {
        let (names, sorted) = (self.names.clone(), self.sorted.clone());
        Self { names, sorted, ..Self::new() }
    }
}
