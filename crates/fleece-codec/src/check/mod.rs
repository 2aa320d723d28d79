//! Complete validation in linear time, without recursion.
//!
//! Pointers lead backwards, so a scan from the end towards the start meets every value after all that refer to it: one bit a
//! collection says that it is referred to, one a string that it was looked at; each is looked at once however many refer to it.

mod follow;
pub(crate) mod layout;
mod plain;
mod scan;
mod utf8;

use crate::limits::CHECKED_DEPTH;
use crate::{Doc, Result};
use alloc::sync::Arc;
use core::fmt;
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
    base: Option<Arc<[u8]>>,
}

impl CheckOptions {
    /// UTF-8 required, at most [`CHECKED_DEPTH`] collections within each other, no base.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// assert!(CheckOptions::new().check(fleece!([])).is_ok());
    /// ```
    pub fn new() -> Self {
        Self { depth_limit: CHECKED_DEPTH, utf8: true, base: None }
    }

    /// How many arrays and dicts may be within each other; a parent counts as within its child. Whatever the limit, a chain
    /// of parents has at most 63 dicts.
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

    /// The document that extern pointers lead into. What they reach of it is checked with the delta.
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

    /// Opens a document if all of it is sound: every pointer, length, count and key, every string, and the depth.
    ///
    /// ```
    /// # use fleece_codec::{fleece, CheckOptions};
    /// let doc = CheckOptions::new().check(fleece!(["a"]))?;
    /// assert_eq!(doc.root().at(0).unwrap().as_str(), Some("a"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn check<B: AsRef<[u8]>>(&self, bytes: B) -> Result<Doc<B>> {
        let Some(base) = &self.base else {
            Scan::new(bytes.as_ref(), 0, self).run()?;
            return Doc::open(bytes);
        };
        // Extern pointers count as if the delta followed the base directly.
        let whole = [base, bytes.as_ref()].concat();
        Scan::new(&whole, base.len(), self).run()?;
        Doc::open_delta(bytes, base.clone())
    }
}

impl fmt::Debug for CheckOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckOptions")
            .field("depth_limit", &self.depth_limit)
            .field("utf8", &self.utf8)
            .field("base_bytes", &self.base.as_ref().map(|base| base.len()))
            .finish()
    }
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self::new()
    }
}
