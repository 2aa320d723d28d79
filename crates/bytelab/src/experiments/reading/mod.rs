#![doc = include_str!("README.md")]

mod digest;
mod fold;
mod source;

mod data;

pub(super) mod http;
mod stream;

mod asynchronous;
mod buffered;
#[cfg(target_os = "linux")]
mod direct;
mod languages;
mod map;
mod pread;
mod read;
mod style;
mod unchecked;
#[cfg(target_os = "linux")]
mod uring;
mod whole;
mod window;
mod yardstick;

#[cfg(test)]
mod tests;

use lab::experiment::{Experiment, Method};
use lab::param::{Kind, Param};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "reading",
        question: "What is the fastest way to hand every byte of a file to the program?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data::data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("size", Kind::Bytes(1, 1 << 40), "128MiB")
            .help("size of the file that is made; with --file, that of the file"),
        Param::new("file", Kind::Path, "").help("a file of your own to read"),
        Param::new("buffer", Kind::Bytes(1, 1 << 30), "128KiB").help("how much is read at once"),
        Param::new("parallel", Kind::Count(1, 64), "1")
            .help("how many files are read at once, by a thread each"),
        Param::new("threads", Kind::Count(1, 64), "2")
            .help("threads that share one file (pread-threads)"),
        Param::new("depth", Kind::Count(1, 1024), "8").help("reads in flight (io-uring)"),
        Param::new("source", Kind::Word(&["file", "http", "https"]), "file")
            .help("where the bytes come from; http and https: from a server on this machine"),
        Param::new("server", Kind::Word(&["own", "nginx"]), "own")
            .help("which server is started, if the source is one"),
        Param::new("ranges", Kind::Count(1, 16), "4")
            .help("parts of a resource on their way at once (byte-stream-ranges)"),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = vec![read::method()];
    methods.extend(style::methods());
    methods.push(unchecked::method());
    methods.extend(buffered::methods());
    methods.extend(whole::methods());
    methods.extend(map::methods());
    methods.push(window::method());
    methods.push(pread::method());
    #[cfg(target_os = "linux")]
    methods.push(uring::method());
    #[cfg(target_os = "linux")]
    methods.push(direct::method());
    methods.extend(asynchronous::methods());
    methods.push(stream::method());
    methods.extend(languages::methods());
    methods.extend(yardstick::methods());
    methods.extend(http::methods());
    methods
}
