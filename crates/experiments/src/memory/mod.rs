#![doc = include_str!("README.md")]

mod bandwidth;
mod latency;
mod pages;
mod processor;

use std::sync::LazyLock;

use measure::experiment::{Data, Experiment, Method};
use model::param::{Param, ParamKind};

pub(crate) use self::pages::announced;

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "memory",
        question: "What are the latency and the bandwidth of the caches and of memory?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(|point, _, _| Ok(Data { arguments: point.clone(), ..Data::default() })),
    }
}

const JOBS: &[&str] =
    &["latency", "bandwidth", "loaded", "tlb", "page-fault", "core-to-core", "naive", "arithmetic"];

/// Sizes in steps of half an octave.
const LADDER: &str = "4KiB,6KiB,8KiB,12KiB,16KiB,24KiB,32KiB,48KiB,64KiB,96KiB,128KiB,192KiB,256KiB,\
                      384KiB,512KiB,768KiB,1MiB,1536KiB,2MiB,3MiB,4MiB,6MiB,8MiB,12MiB,16MiB,24MiB,\
                      32MiB,48MiB,64MiB,96MiB,128MiB,192MiB,256MiB,384MiB,512MiB";

fn params() -> Vec<Param> {
    vec![
        Param::new("job", ParamKind::Word(JOBS), "latency").help("what is measured"),
        Param::new("size", ParamKind::Bytes(256, 1 << 40), LADDER)
            .help("size of the set (latency, bandwidth, naive)"),
        pages::PARAM,
        Param::new("threads", ParamKind::Count(1, 1024), &THREADS)
            .help("threads at once, each on a CPU and with a set of its own (bandwidth)"),
        Param::new("span", ParamKind::Bytes(8192, 1 << 40), "64KiB..64MiB")
            .help("over how much memory the lines are spread, one in each 4 KiB (tlb)"),
        latency::PAUSE,
        processor::pair_param(),
        processor::NUMBER,
    ]
}

/// The numbers of threads: one, and one for each CPU.
static THREADS: LazyLock<String> =
    LazyLock::new(|| match super::shared::allowed_cpus().map_or(1, |cpus| cpus.len()) {
        0 | 1 => "1".to_owned(),
        n => format!("1,{n}"),
    });

/// The first one of each job is its reference.
fn methods() -> Vec<Method> {
    let mut methods = latency::methods();
    methods.extend(bandwidth::methods());
    methods.extend(latency::under_load());
    methods.extend(latency::tlb_reach());
    methods.extend(pages::faults());
    methods.extend(processor::core_to_core());
    methods.extend(bandwidth::naive());
    methods.extend(processor::arithmetic());
    methods
}

#[cfg(test)]
mod tests;
