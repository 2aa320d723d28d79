//! Builds the library that counts the allocations of foreign programs; it is embedded in the lab.

use std::path::Path;
use std::process::Command;

/// Set by the build script of the crate whose source it is.
const SOURCE: &str = "DEP_BYTELAB_ALLOCATION_SHIM_SOURCE";

pub(crate) fn build() {
    println!("cargo::rerun-if-changed=build/shim.rs");
    let source = variable(SOURCE);
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let library = Path::new(&variable("OUT_DIR")).join("allocation-shim.so");
    let why_not = compile(Path::new(&source), &library).err().unwrap_or_default();
    if !why_not.is_empty() {
        // Without the library the lab still works, and reports why it cannot count what other
        // programs allocate.
        std::fs::write(&library, "").unwrap_or_else(|e| panic!("{}: {e}", library.display()));
        println!("cargo::warning=allocations of other programs cannot be counted: {why_not}");
    }
    println!("cargo::rustc-env=ALLOCATION_SHIM_MISSING={why_not}");
}

fn compile(source: &Path, library: &Path) -> Result<(), String> {
    let [os, bits] = ["CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_POINTER_WIDTH"].map(variable);
    if os != "linux" || bits != "64" {
        return Err(format!("there is no library for {os} with {bits} bits"));
    }
    #[expect(clippy::disallowed_methods, reason = "the compiler is no method of an experiment")]
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-name=allocation_shim", "--crate-type=cdylib"]);
    rustc.args(["--cfg=shim", "-Copt-level=3", "-Cpanic=abort", "-Cstrip=symbols"]);
    // The library takes all symbols that it needs from the program into which it is loaded.
    rustc.args(["-Clink-arg=-nostdlib", "-Clink-arg=-nostartfiles"]);
    // The directives about symbols are part of the same object file as the functions.
    rustc.arg("-Ccodegen-units=1");
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        rustc.arg("-Ctarget-feature=-crt-static");
    }
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(["--target", &variable("TARGET"), "-o"]).arg(library);
    let built = rustc.arg(source.join("lib.rs")).output();
    let built = built.map_err(|error| format!("starting the compiler: {error}"))?;
    let said = String::from_utf8_lossy(&built.stderr).replace('\n', " ");
    if built.status.success() { Ok(()) } else { Err(said) }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}
