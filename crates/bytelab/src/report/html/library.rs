//! The charting library of the page: plotly.js, from the crate of that name, compressed by the
//! build script.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.gz"));
/// With it the page's policy allows the script to run.
pub(super) static HASH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.sha256"));

/// The script that the page unpacks and runs, in base64 of gzip.
pub(super) fn packed() -> String {
    base64(PACKED)
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_library_is_whole_and_alone() {
        let mut script = String::new();
        GzDecoder::new(PACKED).read_to_string(&mut script).unwrap();
        assert!(script.trim_start().starts_with("/**\n* plotly.js v"), "{script:.100}");
        assert!(script.trim_end().ends_with("return Plotly;\n}));"));
        assert_eq!(Sha256::digest(&script).as_slice(), HASH);
        assert!(packed().len() < 2_500_000, "{}", packed().len());
    }
}
