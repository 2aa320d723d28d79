//! Complete validation in linear time, without recursion.
//!
//! What encoders write passes in the order of its bytes: see [`in_order`]. A scan decides about the
//! rest, what is damaged included. Pointers lead backwards, so a scan from the end to the start
//! reaches each value after all pointers to it. One bit per collection records that a pointer leads
//! to it, and one bit per string that it was checked, so each value is checked once, however many
//! pointers lead to it.

mod fast_path;
mod in_order;
pub(crate) mod proof;
pub(crate) mod scan;

use alloc::sync::Arc;
use core::fmt;

use crate::limits::CHECKED_DEPTH;
use crate::{Doc, Result, SharedKeys};
use proof::{Proof, StableBytes};
use scan::Scan;

/// The options of [`check`](CheckOptions::check).
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

/// Rules that a valid document may break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rules {
    sorted_keys: bool,
    unique_keys: bool,
    unshared_collections: bool,
}

impl CheckOptions {
    /// The defaults: UTF-8 is required, the nesting depth is at most [`CHECKED_DEPTH`], and there
    /// is no base.
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

    /// The greatest nesting depth of arrays and dicts; a parent counts as nested in its child. A
    /// chain of parents has at most 63 dicts, whatever the limit.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// assert!(CheckOptions::new().depth_limit(0).check(fleece!([1])).is_err());
    /// ```
    pub fn depth_limit(mut self, levels: u16) -> Self {
        self.depth_limit = levels;
        self
    }

    /// Whether strings must be UTF-8. The original does not check this.
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

    /// Whether the keys of each dict must be in order, as all encoders write them. If they are not,
    /// lookups miss pairs that iteration finds, so two programs may see different documents.
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

    /// Whether the keys of each dict must be unique. Two programs may see different values of a
    /// duplicate key.
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

    /// Whether only one slot may lead to each array and dict. Then reading all values takes linear
    /// time; otherwise a few hundred bytes may hold more values than can be visited. Encoders share
    /// a collection only when they are told to write it again.
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

    /// The table of shared keys that the document is opened with. Each shared key must have a name
    /// in it.
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

    /// The document that extern pointers lead into. The values that they reach in it are checked
    /// with the delta.
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

    /// Opens a document if all of it is valid: every pointer, length, count, key and string, and
    /// the depth.
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
