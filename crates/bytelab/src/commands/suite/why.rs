//! `--why NAME`: after the gate, both sides of one benchmark run some times more while they are
//! profiled. None of these runs is in a session.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use measure::MeasureJob;
use measure::experiment::{Command, Data, Execution, Experiment, Hooks, Method};
use measure::launch::{Orphans, Stop};
use measure::profile::profile;
use model::path_text::from_path;
use model::profile::CellProfile;
use model::run::{Run, Warning};
use model::template::escape;
use model::warning::PROFILE;

use super::CheckedSuite;
use super::harness::{HarnessRun, RUN_LIMIT_NS, SuiteProgram};
use super::sessions::{BenchmarkRuns, middle};
use super::sides::SuiteCopies;
use super::stored::{SUITE, cells_of};
use crate::commands::note;
use crate::measuring::{NotStored, launcher};

/// The slower side runs for at least this time, as the start of a harness is profiled along.
const LEAST: Duration = Duration::from_millis(500);

/// The benchmark that is profiled.
pub(super) struct WhyBenchmark<'a> {
    pub(super) suite: &'a CheckedSuite<'a>,
    /// Its index in the suite.
    pub(super) index: usize,
    /// What the gate has measured of it.
    pub(super) runs: &'a BenchmarkRuns,
    /// For about this time it runs in one process.
    pub(super) each: Duration,
    pub(super) work: &'a Path,
}

/// The index of the benchmark of this name, or of this name with its program.
pub(super) fn find(suite: &CheckedSuite<'_>, name: &str) -> Result<usize> {
    let benchmarks = suite.benchmarks.iter().enumerate();
    let mut named = benchmarks
        .filter(|(_, one)| one.name == name || suite.label(one) == name)
        .map(|(index, _)| index);
    let first = named.next().with_context(|| {
        format!("--why {name}: no benchmark that is measured on both sides has this name")
    })?;
    ensure!(
        named.next().is_none(),
        "--why {name}: several programs have a benchmark of this name; name one as {}",
        suite.label(&suite.benchmarks[first])
    );
    Ok(first)
}

impl WhyBenchmark<'_> {
    /// Adds the profile to the run of the check. Why there is none is a note of the run.
    pub(super) fn profile(&self, run: &mut Run, stop: &Stop) -> Result<()> {
        let label = self.suite.label(&self.suite.benchmarks[self.index]);
        note(&format!("profiling {label}"))?;
        let mut notes = Vec::new();
        if let Err(error) = self.add(run, &mut notes, stop) {
            notes.push(Warning::missing(PROFILE, format!("{error:#}")));
        }
        for warning in &notes {
            note(&format!("--why {label}: {warning}"))?;
        }
        run.notes.extend(notes);
        Ok(())
    }

    fn add(&self, run: &mut Run, notes: &mut Vec<Warning>, stop: &Stop) -> Result<()> {
        let CheckedSuite { programs, benchmarks, .. } = self.suite;
        let program = benchmarks[self.index].program;
        let estimates_ns = self.estimates_ns()?;
        let copies = SuiteCopies::new(&programs[program..=program], self.work, stop)?;
        let cells = cells_of(self.index);
        let mut part = Run {
            points: vec![run.cells[cells.start].point.clone()],
            cells: run.cells[cells.clone()].to_vec(),
            plan: run.plan.clone(),
            ..Run::default()
        };
        let mut methods = Vec::new();
        for (side, cell) in part.cells.iter().enumerate() {
            let ran = self.side(side, estimates_ns, stop);
            methods.push(self.method(&cell.method, &copies.programs[0][side], &ran)?);
        }
        let experiment = Experiment::empty(SUITE);
        let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
        let mut launcher = launcher(RUN_LIMIT_NS, stop)?;
        let _orphans = Orphans::adopt();
        profile(&job, &mut part, &[Data::default()], &mut launcher, &mut NotStored, stop)?;
        notes.append(&mut part.notes);
        let Some(mut profile) = part.plan.profile else { return Ok(()) };
        if let [old, new] = &profile.cells[..]
            && are_equally_long(estimates_ns, [wall_ns(old), wall_ns(new)])
        {
            notes.push(Warning::noted(
                "the profiled runs of both sides are equally long, as the suite sets their time \
                 itself: the functions have shares of this time, and not of as many iterations",
            ));
        }
        for cell in &mut profile.cells {
            cell.cell += cells.start;
        }
        run.plan.profile = Some(profile);
        Ok(())
    }

    /// The medians of old and new.
    fn estimates_ns(&self) -> Result<[f64; 2]> {
        if let Some(why) = &self.runs.failure {
            bail!("it failed: {why}");
        }
        match [0, 1].map(|side| middle(&self.runs.of_side(side))) {
            [Some(old_ns), Some(new_ns)] => Ok([old_ns, new_ns]),
            _ => bail!("the gate has no session of it"),
        }
    }

    /// Both sides do about as many iterations, so that their difference is not one of the harness.
    fn side(&self, side: usize, estimates_ns: [f64; 2], stop: &Stop) -> HarnessRun {
        let n = iterations(estimates_ns, self.each);
        let each = Duration::from_nanos((n as f64 * estimates_ns[side]) as u64);
        // Their paths have equal lengths, as those of the copies.
        let out = self.work.join(["why-a", "why-b"][side]);
        let mut ran = HarnessRun::new(out, each, stop);
        ran.iterations = Some(n);
        ran
    }

    fn method(&self, name: &str, program: &SuiteProgram, ran: &HarnessRun) -> Result<Method> {
        let benchmark = &self.suite.benchmarks[self.index];
        let words = self.suite.harness.command(program, &benchmark.name, ran)?;
        let results = from_path(ran.folder()).into_owned();
        let empty = ["/bin/sh", "-c", "rm -rf \"$1\" && mkdir -p \"$1\"", "suite", &results];
        let hooks = Hooks { prepare: Some(plain(&empty.map(str::to_owned))), ..Hooks::default() };
        let execution = Box::new(Execution::Command(plain(&ran.argv(program.dir(), &words))));
        Ok(Method::contender(name, "", Execution::Hooked { execution, hooks }))
    }
}

/// A command whose words have no names of params.
fn plain(argv: &[String]) -> Command {
    Command::plain(argv.iter().map(|word| escape(word)))
}

/// How many iterations each profiled run does, of both sides.
fn iterations(estimates_ns: [f64; 2], each: Duration) -> u64 {
    let slower_ns = estimates_ns[0].max(estimates_ns[1]);
    ((each.max(LEAST).as_nanos() as f64 / slower_ns) as u64).max(1)
}

/// The mean time of a profiled run.
fn wall_ns(cell: &CellProfile) -> f64 {
    cell.jobs.iter().map(|job| job.wall_ns).sum::<f64>() / cell.jobs.len() as f64
}

/// Whether the runs do not differ although the benchmark does. That part of a run which the harness
/// takes for itself makes them more alike, too, and is mostly less than two thirds.
fn are_equally_long(estimates_ns: [f64; 2], walls_ns: [f64; 2]) -> bool {
    let difference = |[old, new]: [f64; 2]| (new - old) / new.max(old);
    let expected = difference(estimates_ns);
    expected.abs() > 0.1 && difference(walls_ns) / expected < 1.0 / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::suite::command::CommandSuite;
    use crate::commands::suite::sessions::SuiteBenchmark;

    #[test]
    fn both_sides_do_as_many_iterations() {
        let each = Duration::from_millis(100);
        assert_eq!(iterations([1e6, 2e6], each), 250);
        assert_eq!(iterations([2e6, 1e6], Duration::from_secs(1)), 500);
        assert_eq!(iterations([3e9, 1e9], each), 1);
    }

    #[test]
    fn runs_whose_time_the_suite_sets_are_equally_long() {
        for (estimates, walls, expected) in [
            ([1.0, 2.0], [100.0, 101.0], true),
            ([1.0, 2.0], [100.0, 200.0], false),
            ([1.0, 2.0], [150.0, 250.0], false),
            ([2.0, 1.0], [100.0, 110.0], true),
            ([1.0, 1.05], [100.0, 100.0], false),
        ] {
            assert_eq!(are_equally_long(estimates, walls), expected, "{estimates:?} {walls:?}");
        }
    }

    #[test]
    fn a_benchmark_is_found_by_its_name_unless_two_programs_have_it() {
        let harness = CommandSuite { command: String::new(), list: String::new() };
        let program = |name: &str| {
            let one = SuiteProgram { name: name.to_owned(), file: "x".into(), dir: None };
            [one.clone(), one]
        };
        let benchmark = |program, name: &str| SuiteBenchmark { program, name: name.to_owned() };
        let suite = CheckedSuite {
            harness: &harness,
            programs: vec![program("a"), program("b")],
            benchmarks: vec![benchmark(0, "copy"), benchmark(0, "join"), benchmark(1, "copy")],
        };
        for (name, index) in [("join", 1), ("a: join", 1), ("b: copy", 2)] {
            assert_eq!(find(&suite, name).unwrap(), index, "{name}");
        }
        let error = |name: &str| find(&suite, name).unwrap_err().to_string();
        assert!(error("copy").ends_with("name one as a: copy"), "{}", error("copy"));
        assert!(error("b: join").contains("no benchmark that is measured on both sides"));
    }
}
