#![doc = include_str!("README.md")]

mod data;
mod fleece;
mod jobs;
mod typed;

use anyhow::Result;
use measure::experiment::{Build, Execution, Experiment, Method, Task, Work};
use model::param::{Param, ParamKind, Point};

use self::jobs::{DocumentFormat, Job};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "decoding",
        question: "What does it cost to get from bytes to values?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data::data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("job", ParamKind::Word(jobs::JOBS), "bytes-to-name,bytes-to-all,json-to-all")
            .help("what is done with the document"),
        Param::new("shape", ParamKind::Word(bytelab_documents::SHAPES), "people")
            .help("which document is made"),
        Param::new("people", ParamKind::Count(1, 1_000_000), "1000")
            .help("how many people are in it; of the other shapes there is one size"),
        Param::new("text", ParamKind::Word(&["minified", "pretty"]), "minified")
            .help("how the JSON text is laid out"),
        Param::new("file", ParamKind::Path, "").help("a JSON file of your own, as it is"),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let text = "text, parsed into";
    let mut methods = vec![
        built_in("serde_json", "text, parsed into serde_json's tree", prepare::<jobs::SerdeJson>),
        built_in("fleece", "fleece-codec: checked and read in place", prepare::<fleece::Fleece>),
        built_in(
            "fleece-key",
            "the same with a path of keys that remember their place",
            prepare::<fleece::FleeceKey>,
        )
        .job("lookup"),
        worker("simd-json", &format!("{text} a tree that borrows; the text is copied first")),
        worker("sonic-rs", &format!("{text} sonic-rs's tree")),
        worker("sonic-rs-get", "text, scanned up to the value; the rest is not looked at")
            .job("bytes-to-name"),
        worker("rmp-serde", "MessagePack, parsed into serde_json's tree"),
        worker("ciborium", "CBOR, parsed into ciborium's tree"),
        worker("bson", "BSON, parsed into bson's tree"),
        of_people(built_in(
            "fleece-typed",
            "fleece-codec: from_slice fills a type, checking what it reads; knows people only",
            prepare::<typed::StaticallyTyped<fleece::FleeceCodec>>,
        )),
        of_people(worker("serde_json-typed", "text: serde_json fills a type; knows people only")),
        of_people(worker("rmp-serde-typed", "MessagePack: serde fills a type; knows people only")),
        of_people(worker(
            "postcard-typed",
            "postcard, without names: serde fills a type; knows people only",
        )),
        of_people(worker(
            "bincode-typed",
            "bincode 2, without names: serde fills a type; knows people only",
        )),
        of_people(worker("minicbor-typed", "CBOR: serde fills a type; knows people only")),
        of_people(worker("prost-typed", "Protobuf, parsed into structs; knows people only")),
        of_people(worker("rkyv-typed", "rkyv, checked and read in place; knows people only")),
        of_people(worker(
            "flatbuffers-typed",
            "FlatBuffers, checked and read in place; knows people only",
        )),
    ];
    methods.extend(IN_LANGUAGES.iter().map(of_language));
    methods
}

/// A method that fills a type which only fits the generated document of people.
fn of_people(method: Method) -> Method {
    method.job("shape=people file=")
}

fn built_in(name: &str, about: &str, build: Build) -> Method {
    method(name, about, Execution::BuiltIn(build))
}

/// The decoders that users of other languages call to get from JSON to values: the program in
/// `workers/`, whose name begins with the language; the method; and a line about it.
const IN_LANGUAGES: &[(&str, &str, &str)] = &[
    ("cpp/simdjson", "simdjson", "C++: simdjson's dom::parser, used again, into its tree"),
    ("cpp/yyjson", "yyjson", "C++: yyjson_read, into its immutable tree"),
    ("go", "json", "Go: encoding/json, into any"),
    ("java/json", "jackson", "Java: Jackson's ObjectMapper.readTree, into JsonNode"),
    ("node", "json", "Node: JSON.parse, into objects and arrays"),
    ("python", "json", "Python: json.loads, into dicts and lists"),
    ("python/json", "orjson", "Python: orjson.loads, into dicts and lists"),
    ("python/json", "msgpack", "Python: MessagePack by msgpack.unpackb, into dicts and lists"),
];

/// A worker in another language, a name for what it uses and a line on that.
fn of_language((worker, name, about): &(&str, &str, &str)) -> Method {
    let language = worker.split('/').next().unwrap_or(worker);
    let execution = Execution::worker([&format!("{{workers/{worker}}}"), "decoding", name]);
    method(&format!("{language}-{name}"), about, execution)
}

/// A method of `workers/rust`, which the program builds when the method is selected.
fn worker(name: &str, about: &str) -> Method {
    method(name, about, Execution::worker(["{workers/rust}", "decoding", name]))
}

fn method(name: &str, about: &str, execution: Execution) -> Method {
    Method::contender(name, about, execution).reads(&["job", "shape", "people", "text", "file"])
}

struct Decoding(Box<dyn Job>);

fn prepare<F: DocumentFormat>(point: &Point) -> Result<Box<dyn Task>> {
    let text = std::fs::read(point.path("file")?)?;
    let job = jobs::job::<F>(point.text("job")?, text, point.text("pointer")?);
    Ok(Box::new(Decoding(job.map_err(anyhow::Error::msg)?)))
}

impl Task for Decoding {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let answer = self.0.run(ops).map_err(anyhow::Error::msg)?;
        Ok(Work { ops, bytes: self.0.bytes() * ops, answer })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        self.0.digest().map(Some).map_err(anyhow::Error::msg)
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.0.size_bytes().map(|bytes| ("size_bytes", bytes as f64)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
