//! Complete validation in linear time, without recursion.
//!
//! Pointers lead backwards, so a scan from the end towards the start meets every value after all
//! that refer to it: one bit a collection says that it is referred to, one a string that it was
//! looked at; each is looked at once however many refer to it.

mod fast_path;
pub(crate) mod proof;
pub(crate) mod scan;

use alloc::sync::Arc;
use core::fmt;

use crate::limits::CHECKED_DEPTH;
use crate::{Doc, Result, SharedKeys};
use proof::{Proof, StableBytes};
use scan::Scan;

/// What [`check`](CheckOptions::check) insists on.
///
/// ```
/// use fleece_codec::{fleece, CheckOptions, ErrorKind};
/// let options = CheckOptions::new().depth_limit(2);
/// assert!(options.check(fleece!([[1]])).is_ok());
/// assert_eq!(options.check(fleece!([[[1]]])).unwrap_err().kind(), ErrorKind::TooDeep);
/// ```
#[derive(Clone)]
#[must_use]
pub struct CheckOptions {
    depth_limit: u16,
    utf8: bool,
    rules: Rules,
    base: Option<Arc<[u8]>>,
    keys: Option<Arc<SharedKeys>>,
}

/// What not all sound documents keep to.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    sorted_keys: bool,
    unique_keys: bool,
    unshared_collections: bool,
}

impl CheckOptions {
    /// UTF-8 required, at most [`CHECKED_DEPTH`] collections within each other, no base.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// assert!(CheckOptions::new().check(fleece!([])).is_ok());
    /// ```
    pub fn new() -> Self {
        Self {
            depth_limit: CHECKED_DEPTH,
            utf8: true,
            rules: Rules::default(),
            base: None,
            keys: None,
        }
    }

    /// How many arrays and dicts may be within each other; a parent counts as within its child.
    /// Whatever the limit, a chain of parents has at most 63 dicts.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// assert!(CheckOptions::new().depth_limit(0).check(fleece!([1])).is_err());
    /// ```
    pub fn depth_limit(mut self, levels: u16) -> Self {
        self.depth_limit = levels;
        self
    }

    /// Whether strings must be UTF-8. The original does not look.
    ///
    /// ```
    /// # use fleece_codec::{CheckOptions, Doc};
    /// let latin1 = [0x41, 0xE9];
    /// assert!(Doc::check(latin1).is_err());
    /// assert!(CheckOptions::new().utf8(false).check(latin1).is_ok());
    /// ```
    pub fn utf8(mut self, required: bool) -> Self {
        self.utf8 = required;
        self
    }

    /// Whether the keys of each dict must be in order, as all encoders write them. Where they are
    /// not, lookups miss pairs that iteration shows: two programs may see different documents.
    ///
    /// ```
    /// # use fleece_codec::{CheckOptions, ErrorKind};
    /// // {"b": 0, "a": 0}
    /// let unsorted = [0x70, 0x02, 0x41, b'b', 0x00, 0x00, 0x41, b'a', 0x00, 0x00, 0x80, 0x05];
    /// assert!(CheckOptions::new().check(unsorted).is_ok());
    /// let error = CheckOptions::new().sorted_keys(true).check(unsorted).unwrap_err();
    /// assert_eq!((error.kind(), error.offset()), (ErrorKind::UnsortedKeys, Some(0)));
    /// ```
    pub fn sorted_keys(mut self, required: bool) -> Self {
        self.rules.sorted_keys = required;
        self
    }

    /// Whether no dict may have a key twice, of which two programs may see a different one.
    ///
    /// ```
    /// # use fleece_codec::{CheckOptions, ErrorKind};
    /// // {"a": 0, "a": 1}
    /// let twice = [0x70, 0x02, 0x41, b'a', 0x00, 0x00, 0x41, b'a', 0x00, 0x01, 0x80, 0x05];
    /// assert!(CheckOptions::new().check(twice).is_ok());
    /// let error = CheckOptions::new().unique_keys(true).check(twice).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    /// ```
    pub fn unique_keys(mut self, required: bool) -> Self {
        self.rules.unique_keys = required;
        self
    }

    /// Whether no two slots may lead to the same array or dict. Then reading all values takes
    /// linear time; else a few hundred bytes may hold more values than can be visited. Encoders
    /// only share collections where they are called to write one again.
    ///
    /// ```
    /// # use fleece_codec::{CheckOptions, ErrorKind};
    /// // [[0], [0]], both the same.
    /// let shared = [0x60, 0x01, 0x00, 0x00, 0x60, 0x02, 0x80, 0x03, 0x80, 0x04, 0x80, 0x03];
    /// assert!(CheckOptions::new().check(shared).is_ok());
    /// let error = CheckOptions::new().unshared_collections(true).check(shared).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::SharedCollection);
    /// ```
    pub fn unshared_collections(mut self, required: bool) -> Self {
        self.rules.unshared_collections = required;
        self
    }

    /// The table of shared keys, which the document is opened with. Each number of a key must have
    /// a name in it.
    ///
    /// ```
    /// # use fleece_codec::{CheckOptions, ErrorKind, SharedKeys};
    /// // A dict with the shared key 1.
    /// let bytes = [0x70, 0x01, 0x00, 0x01, 0x00, 0x07, 0x80, 0x03];
    /// let mut keys = SharedKeys::new();
    /// keys.add("id");
    /// let options = CheckOptions::new().shared_keys(keys.clone().into());
    /// assert_eq!(options.check(bytes).unwrap_err().kind(), ErrorKind::UnknownSharedKey);
    /// keys.add("name");
    /// let doc = CheckOptions::new().shared_keys(keys.into()).check(bytes)?;
    /// assert_eq!(doc.root().get("name").unwrap().as_i64(), Some(7));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn shared_keys(mut self, keys: Arc<SharedKeys>) -> Self {
        self.keys = Some(keys);
        self
    }

    /// The document that extern pointers lead into. What they reach of it is checked with the
    /// delta.
    ///
    /// ```
    /// use fleece_codec::CheckOptions;
    /// // A delta that is nothing but a root: a pointer 2 bytes before its own start, to the number 7.
    /// let delta = [0xC0, 0x01];
    /// let doc = CheckOptions::new().base([0x00, 0x07].into()).check(delta)?;
    /// assert_eq!(doc.root().as_i64(), Some(7));
    /// assert!(CheckOptions::new().check(delta).is_err());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn base(mut self, base: Arc<[u8]>) -> Self {
        self.base = Some(base);
        self
    }

    /// Opens a document if all of it is sound: every pointer, length, count and key, every string,
    /// and the depth.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// let doc = CheckOptions::new().check(fleece!(["a"]))?;
    /// assert_eq!(doc.root().at(0).unwrap().as_str(), Some("a"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn check<B: StableBytes>(&self, bytes: B) -> Result<Doc<B>> {
        let doc = if let Some(base) = &self.base {
            // Extern pointers count as if the delta followed the base directly.
            let whole = [base, bytes.as_ref()].concat();
            Scan::new(&whole, base.len(), self).run()?;
            Doc::open_delta(bytes, base.clone())?
        } else {
            let mut scan = Scan::new(bytes.as_ref(), 0, self);
            let finished = scan.run()?;
            let proof = Proof::from_scan(&scan, finished);
            Doc::open(bytes)?.with_proof(proof)
        };
        Ok(match &self.keys {
            Some(keys) => doc.with_shared_keys(keys.clone()),
            None => doc,
        })
    }
}

impl fmt::Debug for CheckOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckOptions")
            .field("depth_limit", &self.depth_limit)
            .field("utf8", &self.utf8)
            .field("rules", &self.rules)
            .field("shared_keys", &self.keys)
            .field("base_bytes", &self.base.as_ref().map(|base| base.len()))
            .finish()
    }
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self::new()
    }
}
