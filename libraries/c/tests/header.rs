//! The header in the repository is that of the sources.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for module in ["status", "pointers", "fleece", "records", "stream", "load"] {
        builder = builder.with_src(here.join(format!("src/{module}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let header = here.join("include/bytelab.h");
    if std::env::var_os("BYTELAB_WRITE_HEADER").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let written = std::fs::read_to_string(&header).unwrap_or_default();
    assert!(made == written, "write it again: BYTELAB_WRITE_HEADER=1 cargo test");
}
