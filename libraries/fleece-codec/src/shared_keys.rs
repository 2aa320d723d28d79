//! The table of shared keys: names of dict keys that documents store as small numbers.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::encoder::{Packed, SHARED_LEN_MAX, random};
use crate::error::{Error, ErrorKind};
use crate::{Doc, Encoder, Result};

/// A table that maps names of dict keys to the numbers 0 to 2047, in order of first use.
///
/// Documents that were written with a table need it for reading. Names are only added, so a newer
/// table reads older documents.
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
    /// The names in the form in which they are compared.
    packed: Vec<Packed>,
    /// A hash table of numbers, at most half full.
    places: Vec<u16>,
    seed: u64,
    identity: u64,
}

/// A free entry of the hash table.
const FREE: u16 = u16::MAX;

/// Keys remember a number together with the table it is from, so no two tables may have the same
/// identity.
#[cfg(target_has_atomic = "64")]
fn next_identity() -> u64 {
    use core::sync::atomic::AtomicU64;
    use core::sync::atomic::Ordering::Relaxed;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

/// Without 64-bit atomics, keys remember no number, and identities repeat only after 2^32 tables.
#[cfg(not(target_has_atomic = "64"))]
fn next_identity() -> u64 {
    use core::sync::atomic::AtomicU32;
    use core::sync::atomic::Ordering::Relaxed;
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Relaxed).into()
}

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
        let (names, packed, places) = (Vec::new(), Vec::new(), Vec::new());
        Self { names, packed, places, seed: random(), identity: next_identity() }
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

    /// Adds the names of a saved state beyond the length of this table, and returns how many there
    /// were.
    ///
    /// The state is a Fleece document, an array of strings. Fails, with the table unchanged, if it
    /// is not, or has too many.
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

    /// The number of names.
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
        self.place(Packed::new(name.as_bytes()), name).ok()
    }

    /// Like [`index_of`](Self::index_of), for a name that was packed completely.
    #[inline]
    pub(crate) fn index_of_short(&self, packed: Packed) -> Option<u16> {
        self.place(packed, "").ok()
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

    /// Forgets all names from number `len` on, as when the transaction that added them is rolled
    /// back.
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
            let names = core::mem::take(&mut self.names);
            *self = Self::new();
            names.iter().take(len).for_each(|name| self.append(name));
        }
    }

    /// Whether one table begins with the names of the other.
    pub(crate) fn begins_like(&self, other: &Self) -> bool {
        self.names.iter().zip(&other.names).all(|(own, other)| own == other)
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    fn append(&mut self, name: &str) {
        // A state may hold a name twice; lookups find the first number.
        let index = self.names.len() as u16;
        self.names.push(name.into());
        self.packed.push(Packed::new(name.as_bytes()));
        if 2 * self.names.len() > self.places.len() {
            return self.grow();
        }
        self.insert(index);
    }

    fn grow(&mut self) {
        self.places = vec![FREE; (4 * self.names.len()).next_power_of_two().max(64)];
        (0..self.names.len() as u16).for_each(|index| self.insert(index));
    }

    fn insert(&mut self, index: u16) {
        let name = &self.names[usize::from(index)];
        if let Err(place) = self.place(self.packed[usize::from(index)], name) {
            self.places[place] = index;
        }
    }

    /// The number of a name, or the index in the hash table where it belongs. The name itself is
    /// compared only if it is long.
    #[inline]
    fn place(&self, packed: Packed, name: &str) -> Result<u16, usize> {
        let mask = self.places.len().wrapping_sub(1);
        let mut place = packed.hash(self.seed) as usize & mask;
        loop {
            let index = self.places.get(place).copied().unwrap_or(FREE);
            let Some(known) = self.packed.get(usize::from(index)) else { return Err(place) };
            // Only the beginning of a longer name is packed.
            let is_whole = name.len() <= SHARED_LEN_MAX;
            if *known == packed && (is_whole || *self.names[usize::from(index)] == *name) {
                return Ok(index);
            }
            place = (place + 1) & mask;
        }
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
        Self {
            names: self.names.clone(),
            packed: self.packed.clone(),
            places: self.places.clone(),
            seed: self.seed,
            identity: next_identity(),
        }
    }
}
