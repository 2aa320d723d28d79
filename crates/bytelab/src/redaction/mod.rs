//! What others may see of a run. `fields` takes a run apart, `facts` has the list of facts that are
//! sent, `phrases` the sentences; `hidden` knows what stands for all else.

mod facts;
mod fields;
mod hidden;
mod kinds;
mod names;
mod phrases;
mod words;

use lab::experiment::Experiment;
use lab::run::Run;

use self::hidden::Hidden;
pub(crate) use self::kinds::{REDACT, Redaction};

impl Redaction {
    /// The run as others get it. `own` is the experiment of the program that it measured, whose
    /// names are no secret; none: all names are the user's.
    pub(crate) fn apply(&self, run: Run, own: Option<&Experiment>) -> Run {
        if !self.hides_something() {
            return run;
        }
        Hidden::new(self, &run, own).run(run)
    }
}

#[cfg(test)]
mod tests;
