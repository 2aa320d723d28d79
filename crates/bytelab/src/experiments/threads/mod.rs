#![doc = include_str!("README.md")]

mod awake;
mod placement;
mod signal;

mod channel;
mod condvar;
mod descriptor;
#[cfg(target_os = "linux")]
mod futex;
#[cfg(target_os = "linux")]
mod semaphore;
mod spin;
mod wakeup;

mod life;
#[cfg(target_os = "linux")]
mod pool;
mod process;
mod pthread;
mod switch;

#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
use std::sync::LazyLock;

use lab::experiment::{Data, Experiment, Method};
use lab::param::{Kind, Param};

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
    let job = Param::new("job", Kind::Word(JOBS), "life,handover,uncontended,pool,switch,process")
        .help("what is measured");
    let mut params = vec![job, placement::PARAM];
    #[cfg(target_os = "linux")]
    params.extend([
        Param::new("busy", Kind::Count(1, 4096), BUSY.as_str())
            .help("procedures at once (pool); by default up to 8 for each CPU"),
        pool::STEPS,
    ]);
    params.push(switch::SET);
    params
}

/// From 1 to 8 for each CPU, doubling.
#[cfg(target_os = "linux")]
static BUSY: LazyLock<String> = LazyLock::new(|| {
    let cpus = super::shared::cpus::allowed().map_or(1, |cpus| cpus.len());
    format!("1..{}", (8 * cpus).clamp(8, 4096))
});

/// The first one of each job is its reference.
fn methods() -> Vec<Method> {
    let mut methods = life::methods();
    methods.insert(1, pthread::method_of_life());
    #[cfg(target_os = "linux")]
    {
        methods.extend(semaphore::methods());
        methods.extend(futex::methods());
    }
    methods.extend(condvar::methods());
    methods.extend(channel::methods());
    methods.extend(descriptor::methods());
    methods.extend(spin::methods());
    methods.extend(wakeup::methods());
    #[cfg(target_os = "linux")]
    methods.extend(pool::methods());
    methods.extend(switch::methods());
    methods.extend(process::methods());
    methods
}
