//! Counts the repetition levels of a page before they are used: with fewer than declared, the
//! library would skip rows for ever.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;

type Result<T> = std::result::Result<T, ParquetError>;

pub(super) struct Counted<P> {
    pages: P,
    /// Bits of a level; 0 if there are none.
    width: u32,
}

impl<P: PageReader> Counted<P> {
    pub(super) fn new(pages: P, max_level: i16) -> Counted<P> {
        Counted { pages, width: i16::BITS - max_level.leading_zeros() }
    }
}

impl<P: PageReader> Iterator for Counted<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Counted<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if page.as_ref().is_some_and(|page| self.width > 0 && is_short(page, self.width)) {
            let text = "a page has fewer repetition levels than values";
            return Err(ParquetError::EOF(text.to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.pages.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Other defects are left to the library, which detects them.
fn is_short(page: &Page, width: u32) -> bool {
    let (levels, values) = match page {
        Page::DataPage { buf, num_values, rep_level_encoding: Encoding::RLE, .. } => {
            let Some((len, rest)) = buf.split_first_chunk() else { return false };
            (rest.get(..u32::from_le_bytes(*len) as usize), *num_values)
        }
        Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
            (buf.get(..*rep_levels_byte_len as usize), *num_values)
        }
        _ => return false,
    };
    levels.is_some_and(|levels| !has(levels, width as usize, u64::from(values)))
}

/// Whether there are this many levels: runs of one level, or of bit-packed ones, eight to a group,
/// as the format describes its "RLE/bit-packing hybrid". The last group may be truncated.
fn has(mut bytes: &[u8], width: usize, wanted: u64) -> bool {
    let mut count = 0u64;
    while count < wanted {
        let (header, rest) = number(bytes);
        if header == 0 {
            return false;
        }
        let (levels, size) = if header & 1 == 1 {
            let size = usize::try_from(header >> 1).unwrap_or(usize::MAX).saturating_mul(width);
            let size = size.min(rest.len());
            ((size * 8 / width) as u64, size)
        } else {
            (header >> 1, width.div_ceil(8).min(rest.len()))
        };
        count = count.saturating_add(levels);
        bytes = &rest[size..];
    }
    true
}

/// A varint, seven bits per byte, the lowest first, and the bytes behind it; 0 if there is none.
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (number, &bytes[place + 1..]);
        }
    }
    (0, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has exactly this many levels.
    fn check(bytes: &[u8], width: usize, levels: u64) {
        assert!(has(bytes, width, levels), "{bytes:?}");
        assert!(!has(bytes, width, levels + 1), "{bytes:?}");
    }

    #[test]
    fn levels_are_counted_by_their_runs() {
        check(&[], 1, 0);
        check(&[6, 0], 1, 3);
        check(&[0xac, 1, 0], 1, 86);
        check(&[5, 0xff, 0xff], 1, 16);
        check(&[5, 0xff, 0xff, 0xff, 0xff, 10, 0], 2, 21);
        check(&[5, 0xff, 0xff, 0xff], 3, 8);
        check(&[8, 0, 0, 8, 0], 1, 4);
        check(&[0xff; 20], 1, 0);
        check(&[3], 1, 0);
    }
}
