//! Systems other than Linux: every method of the kernel is refused, so that the bytes are read and
//! written.

use super::job::{AttemptOutcome, RunningCopy};
use crate::Result;

pub(super) fn copy_file_range(_job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    Ok(AttemptOutcome::Refused)
}

pub(super) fn sendfile(_job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    Ok(AttemptOutcome::Refused)
}

pub(super) fn splice(_job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    Ok(AttemptOutcome::Refused)
}

pub(super) fn splice_through_pipe(_job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    Ok(AttemptOutcome::Refused)
}
