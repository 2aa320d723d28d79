//! Compresses the library that draws the charts of `bytelab report`, so that the program is smaller
//! and a report is written sooner.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(error) = pack(&out) {
        panic!("{}: {error}", out.display());
    }
}

fn pack(out: &Path) -> std::io::Result<()> {
    let sources = plotly::Plot::offline_js_sources();
    let script = script(&sources).as_bytes();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(script)?;
    fs::write(out.join("plotly.js.gz"), gzip.finish()?)?;
    fs::write(out.join("plotly.js.sha256"), Sha256::digest(script))
}

/// The first of the crate's scripts. The second one renders formulas, of which there are none.
fn script(sources: &str) -> &str {
    let inner = sources.split_once('>').map_or("", |(_, rest)| rest);
    inner.split_once("</script>").map_or("", |(script, _)| script)
}
