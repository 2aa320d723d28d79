//! Which parts a resource has, and fetching one of them.

use super::super::client::Client;
use super::super::raw::{Raw, Version, changed};
use super::super::response::Response;
use crate::choice::{Cached, Choice, Kind, Strategy};
use crate::{Error, ErrorKind, Result};

/// What is fetched.
pub(super) struct Plan {
    pub(super) version: Version,
    /// The answer to the request for the first part.
    pub(super) response: Response,
    pub(super) first: u64,
    pub(super) size: u64,
    pub(super) part_bytes: u64,
    pub(super) connections: usize,
}

impl Plan {
    pub(super) fn parts(&self) -> u64 {
        (self.size - self.first).div_ceil(self.part_bytes)
    }

    /// The first byte of a part, and the first byte behind it.
    pub(super) fn part(&self, index: u64) -> (u64, u64) {
        let start = self.first + index * self.part_bytes;
        (start, self.size.min(start.saturating_add(self.part_bytes)))
    }

    pub(super) fn choice(&self) -> Choice {
        let Plan { part_bytes, connections, size, first, .. } = *self;
        Choice {
            strategy: Strategy::Ranges { part_bytes: part_bytes as usize, connections },
            kind: Kind::Http,
            size_bytes: Some(size - first),
            cached: Cached::Unknown,
        }
    }

    /// Receives a part by a connection that may have received others.
    pub(super) async fn fetch(
        &self,
        raw: &mut Option<Raw>,
        client: &Client,
        index: u64,
        part: &mut Vec<u8>,
    ) -> Result<()> {
        let (start, end) = self.part(index);
        let raw = match raw {
            // The request for part 0 was sent when the stream was opened.
            Some(raw) if index == 0 => raw,
            Some(raw) => {
                raw.go_on_with(start, end).await?;
                raw
            }
            None => {
                let opened = Raw::part(client.clone(), start, end, self.version.clone()).await?;
                raw.insert(opened)
            }
        };
        if *raw.version() != self.version {
            return Err(changed());
        }
        part.clear();
        part.reserve_exact((end - start) as usize);
        while raw.advance().await? {
            part.extend_from_slice(raw.chunk());
        }
        if part.len() as u64 != end - start {
            let text = "a part does not have the requested length";
            return Err(Error::new(ErrorKind::Protocol, text));
        }
        Ok(())
    }
}
