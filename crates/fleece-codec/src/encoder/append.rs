//! The parts of writing a value: its slot, its bytes, their padding.

use super::collection::Expects;
use super::strings::{NOWHERE, Packed, SHARED_DISTANCE_MAX, SHARED_LEN_MAX};
use super::{Encoder, POINTER};
use crate::Result;
use crate::error::{Error, ErrorKind};

impl Encoder {
    #[inline]
    pub(crate) fn write_str_bytes(&mut self, value: &[u8]) {
        if value.len() <= SHARED_LEN_MAX {
            return self.write_packed(Packed::new(value), value.len());
        }
        self.push_pointer();
        self.append_bytes(0x40, value);
    }

    #[inline]
    pub(crate) fn write_packed(&mut self, string: Packed, len: usize) {
        let slot = self.short_string(string, len).0;
        self.push_slot(slot);
    }

    /// How many collections are open.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.outer.len()
    }

    #[inline]
    pub(crate) fn expects(&self) -> Expects {
        self.frame.expects
    }

    /// The slot for a string of at most 15 bytes, which is written if it is not near enough
    /// already; and its hash.
    #[inline]
    pub(super) fn short_string(&mut self, string: Packed, len: usize) -> (u32, u64) {
        let hash = string.hash(self.strings.seed());
        if len < 2 {
            return ((string.0 as u32 & 0xFF) << 16 | (0x40 | len as u32) << 24, hash);
        }
        let at = self.position();
        if self.share_strings {
            let place = self.strings.place(string, hash);
            let near = at.wrapping_sub(*place as usize) <= SHARED_DISTANCE_MAX || self.frame.wide;
            if *place != NOWHERE && near {
                return (POINTER | *place, hash);
            }
            *place = at as u32;
        }
        if len < 15 {
            self.append_16(string.stored(), 1 + len);
        } else {
            // The longest ones are short enough to be shared, but too long for the header.
            self.append_bytes(0x40, &string.0.to_le_bytes()[..15]);
        }
        (POINTER | at as u32, hash)
    }

    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start + self.out.len()
    }

    #[inline]
    pub(super) fn push_inline(&mut self, value: u16) {
        self.push_slot(u32::from(value) << 16);
    }

    /// A slot that points to what is appended next.
    #[inline]
    pub(super) fn push_pointer(&mut self) {
        self.push_slot(POINTER | self.position() as u32);
    }

    /// Appends the first `len` bytes and pads them to an even length; the bytes after them are
    /// zero.
    #[inline]
    pub(super) fn append_16(&mut self, bytes: [u8; 16], len: usize) {
        let end = self.out.len() + len.next_multiple_of(2);
        self.out.extend_from_slice(&bytes);
        self.out.truncate(end);
    }

    #[inline]
    pub(super) fn append_bytes(&mut self, tag: u8, bytes: &[u8]) {
        if bytes.len() < 15 {
            self.out.push(tag | bytes.len() as u8);
        } else {
            self.out.push(tag | 15);
            self.append_varint(bytes.len());
        }
        self.out.extend_from_slice(bytes);
        self.pad();
    }

    pub(super) fn pad(&mut self) {
        if self.out.len() & 1 != 0 {
            self.out.push(0);
        }
    }

    #[inline]
    pub(super) fn append_varint(&mut self, value: usize) {
        let mut rest = value;
        while rest >= 0x80 {
            self.out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }

    /// Remembers the first thing that went wrong.
    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, message: &'static str) {
        if self.failure.is_none() {
            self.failure = Some(Error::new(kind, message));
        }
    }

    /// Takes the first error.
    #[inline]
    pub(crate) fn take_failure(&mut self) -> Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}
