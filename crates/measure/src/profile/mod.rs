//! The profile of a run: after all times are taken, its methods do some jobs more, in fresh
//! processes, while samples show which functions they are in. None of it is a sample of the run.

#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod elf;
#[cfg(target_os = "linux")]
mod pass;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(target_os = "linux")]
mod symbols;

use anyhow::Result;
use model::run::Run;

use crate::experiment::Data;
use crate::launch::{Launch, Stop};
use crate::{MeasureContext, MeasureJob, Record};

/// Profiles the methods of a run that has been measured, and stores the profile with it. The reason
/// for a missing part becomes a note of the run.
pub fn profile(
    job: &MeasureJob<'_>,
    run: &mut Run,
    data: &[Data],
    launch: &mut dyn Launch,
    record: &mut dyn Record,
    stop: &Stop,
) -> Result<()> {
    let mut context = MeasureContext { job, run, data, launch, record, stop };
    #[cfg(target_os = "linux")]
    pass::pass(&mut context)?;
    #[cfg(not(target_os = "linux"))]
    context.note_missing(None, model::warning::PROFILE, "only Linux has perf events");
    context.record.finish(context.run)
}
