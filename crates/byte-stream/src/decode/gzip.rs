//! All members of a gzip file, and the zeros that may pad it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::trailing::trailing;

pub(crate) struct Gzip<R> {
    /// `None` only while the next member replaces it.
    member: Option<GzDecoder<R>>,
    /// Zero padding follows the last member.
    in_padding: bool,
    ended: bool,
}

const MEMBER: &str = "there is a member between two calls";

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(input: R) -> Gzip<R> {
        Gzip { member: Some(GzDecoder::new(input)), in_padding: false, ended: false }
    }

    pub(crate) fn get_ref(&self) -> &R {
        self.member.as_ref().expect(MEMBER).get_ref()
    }

    #[cfg(feature = "http")]
    pub(crate) fn get_mut(&mut self) -> &mut R {
        self.member.as_mut().expect(MEMBER).get_mut()
    }

    /// Starts the next member, or ends. As with `gzip`, zeros may precede the end.
    fn next_member(&mut self) -> io::Result<()> {
        let input = self.member.as_mut().expect(MEMBER).get_mut();
        loop {
            let bytes = input.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            self.in_padding |= zeros > 0;
            self.ended = bytes.is_empty();
            if zeros < bytes.len() && self.in_padding {
                return Err(trailing());
            }
            if zeros == 0 {
                break;
            }
            input.consume(zeros);
        }
        if !self.ended {
            self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let n = self.member.as_mut().expect(MEMBER).read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}
