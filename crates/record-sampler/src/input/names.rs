//! Where the names of columns are found.

use crate::HeaderRule;

/// The line of a header that names the columns.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a>(pub(crate) &'a [u8]);

impl<'a> Names<'a> {
    /// The whole header if it is a record, else its last line; `None` without a header of text.
    pub(crate) fn new(header: &'a [u8], rule: &HeaderRule) -> Option<Names<'a>> {
        match rule {
            HeaderRule::None | HeaderRule::Bytes(_) | HeaderRule::Magic(_) => None,
            HeaderRule::Record => Some(Names(header)),
            HeaderRule::Lines(_) | HeaderRule::Prefix(_) => {
                let mut lines = header.split_inclusive(|byte| *byte == b'\n');
                Some(Names(lines.next_back().unwrap_or_default()))
            }
        }
    }
}
