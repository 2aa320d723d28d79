//! Records that are found only by scanning the whole input: CSV with quotes.

use super::Ranks;
use crate::Result;
use crate::input::{Population, Scan};
use crate::sink::{Place, Sink};
use crate::watch::Watch;

/// The number of records, the bytes read for it, and the header.
pub(crate) fn count_scanned(
    population: &mut Population,
    watch: &Watch,
) -> Result<(u64, u64, Vec<u8>)> {
    let mut scan = Scan::new(population, watch.clone())?;
    let header = scan.header().to_vec();
    scan.skip(u64::MAX)?;
    Ok((scan.rank(), scan.bytes_read(), header))
}

/// Passes the records with these ranks to the sink; returns how many bytes were read.
pub(crate) fn fetch_scanned(
    population: &mut Population,
    ranks: Ranks<'_>,
    sink: &mut dyn Sink,
    watch: &Watch,
) -> Result<u64> {
    let mut scan = Scan::new(population, watch.clone())?;
    let mut ranks = ranks.peekable();
    while let Some(rank) = ranks.next() {
        if !scan.go_to(rank)? {
            break;
        }
        let Some(record) = scan.next()? else { break };
        let place = Place { at: record.at, len: record.bytes.len() as u64 };
        loop {
            sink.piece(record.bytes)?;
            sink.end(place, record.is_after_crlf)?;
            if ranks.next_if_eq(&rank).is_none() {
                break;
            }
        }
    }
    Ok(scan.bytes_read())
}
