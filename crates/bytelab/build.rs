//! Links the program at a fixed address. At a random one, the loader would have to write 19,000
//! addresses into the program at each start, in 80 page faults.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
