//! Compresses the library that draws the charts of `bytelab report`, so that the program is smaller
//! and a report is written sooner.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

const SCRIPT: &str = "plotly/plotly-cartesian.min.js";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCRIPT}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(error) = pack(&out) {
        panic!("{SCRIPT} or {}: {error}", out.display());
    }
}

fn pack(out: &Path) -> std::io::Result<()> {
    let script = fs::read(SCRIPT)?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&script)?;
    fs::write(out.join("plotly.js.gz"), gzip.finish()?)?;
    fs::write(out.join("plotly.js.sha256"), Sha256::digest(&script))
}
