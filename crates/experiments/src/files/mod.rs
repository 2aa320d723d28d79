#![doc = include_str!("README.md")]

#[cfg(target_os = "linux")]
mod cold;
mod data;
mod names;
mod read;
mod write;

use measure::experiment::{Experiment, Method};
use model::param::{Param, ParamKind};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "files",
        question: "What do file system calls cost, and in which directory do they cost least?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data::data),
    }
}

const JOBS: &[&str] = &[
    "read",
    "random",
    "random-cold",
    "open",
    "create",
    "unlink",
    "durable",
    "append",
    "rename",
    "stat",
    "mkdir",
    "readdir",
    "call",
    "map",
];

fn params() -> Vec<Param> {
    vec![
        Param::new(
            "job",
            ParamKind::Word(JOBS),
            // Without `unlink`: after files are removed, ext4 creates files more slowly for
            // minutes.
            "read,random,random-cold,open,create,durable,append,rename,stat,mkdir,readdir,call,map",
        )
        .help("what is measured"),
        Param::new("dir", ParamKind::Path, "").help(
            "where the files are made; several are measured in the same rounds [default: where \
                   made data is kept]",
        ),
        Param::new("size", ParamKind::Bytes(0, 1 << 40), "0,1,4KiB,64KiB,1MiB,64MiB")
            .help("size of a file (read, open, create, unlink), of a mapping (map)"),
        Param::new("span", ParamKind::Bytes(read::BLOCK as u64, 1 << 40), "64MiB")
            .help("size of the file that is read at random"),
        Param::new("entries", ParamKind::Count(0, 10_000_000), "10000")
            .help("entries of the directory that is read"),
    ]
}

/// The first one of each job is its reference.
fn methods() -> Vec<Method> {
    let mut methods = read::methods();
    methods.extend(read::at_random());
    #[cfg(target_os = "linux")]
    methods.extend(cold::methods());
    methods.push(read::open_close());
    methods.extend(write::creating());
    methods.extend(write::durable());
    methods.extend(names::methods());
    methods.extend(names::calls());
    methods
}

#[cfg(test)]
mod tests;
