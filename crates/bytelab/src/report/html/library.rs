//! The charting library of the page: plotly.js, from the crate of that name, compressed.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// The script that the page unpacks and runs, in base64 of gzip.
pub(super) fn packed() -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    let packed = gzip.write_all(script(&sources()).as_bytes()).and_then(|()| gzip.finish());
    base64(&packed.unwrap_or_default())
}

/// The hash with which the page's policy allows it to run.
pub(super) fn hash() -> sha2::digest::Output<Sha256> {
    Sha256::digest(script(&sources()).as_bytes())
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn sources() -> String {
    plotly::Plot::offline_js_sources()
}

/// The first of the crate's scripts. The second one renders formulas, of which there are none.
fn script(sources: &str) -> &str {
    let inner = sources.split_once('>').map_or("", |(_, rest)| rest);
    inner.split_once("</script>").map_or("", |(script, _)| script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_whole_and_alone() {
        let sources = sources();
        let script = script(&sources);
        assert!(script.trim_start().starts_with("/**\n* plotly.js v"), "{script:.100}");
        assert!(script.trim_end().ends_with("return Plotly;\n}));"));
        assert!(packed().len() < 2_500_000, "{}", packed().len());
    }
}
