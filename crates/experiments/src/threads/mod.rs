#![doc = include_str!("README.md")]

mod life;
mod placement;
#[cfg(target_os = "linux")]
mod pool;
mod process;
#[cfg(target_os = "linux")]
mod semaphore;
mod signal;
mod switch;

#[cfg(target_os = "linux")]
use std::sync::LazyLock;

use measure::experiment::{Data, Experiment, Method};
use model::param::{Param, ParamKind};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "threads",
        question: "What does it cost to start a thread, to wake one, and to have many of them?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(|point, _, _| Ok(Data { arguments: point.clone(), ..Data::default() })),
    }
}

const JOBS: &[&str] = &["life", "handover", "uncontended", "pool", "switch", "process"];

fn params() -> Vec<Param> {
    let job =
        Param::new("job", ParamKind::Word(JOBS), "life,handover,uncontended,pool,switch,process")
            .help("what is measured");
    let mut params = vec![job, placement::PARAM];
    #[cfg(target_os = "linux")]
    params.extend([
        Param::new("busy", ParamKind::Count(1, 4096), BUSY.as_str())
            .help("procedures at once (pool); by default up to 8 for each CPU"),
        pool::STEPS,
    ]);
    params.push(switch::SET);
    params
}

/// The numbers of busy threads: from 1 to 8 for each CPU, doubling.
#[cfg(target_os = "linux")]
static BUSY: LazyLock<String> = LazyLock::new(|| {
    let cpus = super::shared::allowed_cpus().map_or(1, |cpus| cpus.len());
    format!("1..{}", (8 * cpus).clamp(8, 4096))
});

/// The first one of each job is its reference.
fn methods() -> Vec<Method> {
    let mut methods = life::methods();
    methods.insert(1, life::pthread());
    #[cfg(target_os = "linux")]
    {
        methods.extend(semaphore::methods());
        methods.extend(semaphore::futexes());
    }
    methods.extend(signal::condvar());
    methods.extend(signal::channels());
    methods.extend(signal::descriptors());
    methods.extend(signal::spinning());
    methods.extend(signal::wakeups());
    #[cfg(target_os = "linux")]
    methods.extend(pool::methods());
    methods.extend(switch::methods());
    methods.extend(process::methods());
    methods
}

#[cfg(test)]
mod tests;
