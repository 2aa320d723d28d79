//! The contenders of bytelab that have large dependencies: `bytelab-worker EXPERIMENT METHOD`
//! speaks the line protocol.

mod protocol;

#[path = "../../../crates/experiments/src/decoding/jobs.rs"]
#[allow(dead_code, reason = "serde_json competes within bytelab; the tests use it")]
mod jobs;
#[path = "../../../crates/experiments/src/decoding/typed.rs"]
mod people;

mod flat;
mod rkyv;
mod serde_typed;
mod simd;
mod sonic;
mod tagged;
mod typed;

use std::process::ExitCode;

use jobs::{Job, Result, job};
use protocol::Arguments;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [experiment, method] = arguments.as_slice() else { return wrong_use() };
    match experiment.as_str() {
        "decoding" => protocol::serve(method, |arguments| decoding(method, arguments)),
        _ => wrong_use(),
    }
}

fn wrong_use() -> ExitCode {
    eprintln!("bytelab-worker: it is started by bytelab, with an experiment and a method");
    ExitCode::from(2)
}

/// An error that starts with `skip ` skips the method.
fn decoding(method: &str, arguments: &Arguments) -> Result<Box<dyn Job>> {
    let get = |name| arguments.get(name).map(String::as_str).ok_or(format!("no {name} is given"));
    let (word, pointer) = (get("job")?, get("pointer")?);
    if method.ends_with("-typed") && get("typed")? != "people" {
        return Err("skip it knows people only".to_owned());
    }
    let text = std::fs::read(get("file")?).map_err(jobs::message)?;
    match method {
        "simd-json" => job::<simd::SimdJson>(word, text, pointer),
        "sonic-rs" => job::<sonic::Sonic>(word, text, pointer),
        "sonic-rs-get" => job::<sonic::SonicGet>(word, text, pointer),
        "rmp-serde" => job::<tagged::MessagePack>(word, text, pointer),
        "ciborium" => job::<tagged::Cbor>(word, text, pointer),
        "bson" => job::<tagged::Bson>(word, text, pointer),
        "serde_json-typed" => job::<people::StaticallyTyped<serde_typed::Json>>(word, text, pointer),
        "rmp-serde-typed" => job::<people::StaticallyTyped<serde_typed::RmpSerde>>(word, text, pointer),
        "postcard-typed" => job::<people::StaticallyTyped<serde_typed::Postcard>>(word, text, pointer),
        "bincode-typed" => job::<people::StaticallyTyped<serde_typed::Bincode>>(word, text, pointer),
        "minicbor-typed" => job::<people::StaticallyTyped<serde_typed::Minicbor>>(word, text, pointer),
        "prost-typed" => job::<typed::Prost>(word, text, pointer),
        "rkyv-typed" => job::<rkyv::Rkyv>(word, text, pointer),
        "flatbuffers-typed" => job::<flat::FlatBuffers>(word, text, pointer),
        _ => Err(format!("there is no method {method}")),
    }
}
