//! The version of a run that others may see. A run is taken apart here; `facts` has the list of
//! facts that are sent; `hidden` has the sentences that are sent, and the replacement of all else.

mod facts;
mod hidden;

use std::collections::BTreeMap;

use measure::count;
use measure::experiment::Experiment;
use model::profile::{BLOCKED, KERNEL, OTHERS, Profile};
use model::run::{
    BENCH, Cell, Definition, Imported, Measure, Plan, Run, Sample, Status, Threshold, Warning,
};
use uuid::Uuid;

use self::hidden::{HiddenKind, LANGUAGES, Redactor};
pub(crate) use self::hidden::{REDACT, Redaction};

impl Redaction {
    /// The run as others get it. `own` is the experiment of the program that it measured, whose
    /// names are no secret; none: all names are the user's.
    pub(crate) fn apply(&self, run: Run, own: Option<&Experiment>) -> Run {
        if !self.hides_something() {
            return run;
        }
        Redactor::new(self, &run, own).run(run)
    }
}

// A run taken apart: each field is sent unchanged or replaced. No pattern here has `..`, so that a
// new field does not compile before somebody has decided whether others may see it.

impl Redactor<'_> {
    /// The run as others get it.
    fn run(&self, run: Run) -> Run {
        let Run {
            schema,
            id,
            uuid,
            experiment,
            question,
            label,
            started,
            complete,
            environment,
            plan,
            points,
            cells,
            notes,
        } = run;
        let is_contribution = self.redaction.is_contribution;
        let is_own = self.own.is_some() || experiment == BENCH;
        Run {
            schema,
            id: if is_contribution { String::new() } else { id },
            uuid: if Uuid::parse_str(&uuid).is_ok() { uuid } else { String::new() },
            question: match self.own {
                Some(own) => own.question.to_owned(),
                None => self.name("question", &question),
            },
            experiment: if is_own { experiment } else { self.name("experiment", &experiment) },
            label: label.filter(|_| !is_contribution).map(|label| self.label(&label)),
            started: if humantime::parse_rfc3339(&started).is_ok() {
                started
            } else {
                String::new()
            },
            complete,
            environment: facts::redacted(environment, self),
            plan: self.plan(plan),
            points: points.iter().map(|point| self.point(point)).collect(),
            cells: cells.into_iter().map(|cell| self.cell(cell)).collect(),
            notes: self.notes(notes),
        }
    }

    fn plan(&self, plan: Plan) -> Plan {
        let Plan {
            rounds,
            time_limit_ns,
            limits_all,
            warm_up,
            sessions,
            design,
            looked_at,
            margin_percent,
            seed,
            cache,
            memory_limit_bytes,
            medium,
            sample_limit_ns,
            data_dir,
            counting,
            fresh,
            definition,
            measures,
            imported,
            profile,
        } = plan;
        Plan {
            rounds,
            time_limit_ns,
            limits_all,
            warm_up,
            sessions,
            design,
            looked_at,
            margin_percent,
            seed,
            cache,
            memory_limit_bytes,
            medium,
            sample_limit_ns,
            data_dir: data_dir
                .filter(|_| !self.redaction.is_contribution)
                .map(|path| self.path(&path)),
            counting,
            fresh,
            definition: definition.map(|definition| self.definition(definition)),
            measures: measures.into_iter().map(|measure| self.measure(measure)).collect(),
            imported: imported.map(|Imported { tool, file }| Imported {
                tool: self.name("program", &tool),
                file: self.path(&file),
            }),
            profile: profile
                .filter(|_| !self.redaction.is_contribution)
                .map(|profile| self.profile(profile)),
        }
    }

    /// The functions of the user's programs are as secret as their commands.
    fn profile(&self, profile: Profile) -> Profile {
        let Profile { period_ns, has_kernel, took_ns, lost, traced_slowdown, names, cells } =
            profile;
        let shown = |name: &String| {
            let is_call = traced_slowdown.is_some() && count::is_system_call(name);
            let is_known =
                is_call || name.ends_with(KERNEL) || [BLOCKED, OTHERS].contains(&name.as_str());
            let blocked = name.strip_prefix(BLOCKED).and_then(|rest| rest.strip_prefix(" in "));
            match blocked {
                _ if is_known => name.clone(),
                Some(function) => format!("{BLOCKED} in {}", self.name("function", function)),
                None => self.name("function", name),
            }
        };
        let names = names.iter().map(shown).collect();
        Profile { period_ns, has_kernel, took_ns, lost, traced_slowdown, names, cells }
    }

    fn definition(&self, definition: Definition) -> Definition {
        let Definition { file, text, thresholds, primary_metrics, view } = definition;
        let threshold = |Threshold { methods, metric, max }: Threshold| Threshold {
            methods: methods.iter().map(|method| self.method(method)).collect(),
            metric: self.metric(&metric),
            max,
        };
        Definition {
            file: if file.is_empty() { file } else { self.path(&file) },
            text: self.name("command", &text),
            thresholds: thresholds.into_iter().map(threshold).collect(),
            primary_metrics: primary_metrics.iter().map(|name| self.metric(name)).collect(),
            view,
        }
    }

    fn measure(&self, measure: Measure) -> Measure {
        let Measure { metric, why, by_wall } = measure;
        Measure {
            metric: self.metric(&metric),
            why: self.reason(&why),
            by_wall: by_wall.iter().map(|method| self.method(method)).collect(),
        }
    }

    fn cell(&self, cell: Cell) -> Cell {
        let Cell {
            method,
            about,
            role,
            language,
            point,
            status,
            digest,
            syscalls_by_name,
            samples,
            values,
        } = cell;
        let is_language = |language: &String| LANGUAGES.contains(&&**language);
        let hides = self.redaction.hides(HiddenKind::Commands);
        let calls = |calls: BTreeMap<String, f64>| -> BTreeMap<String, f64> {
            let known = calls.into_iter().filter(|(name, _)| count::is_system_call(name));
            known.collect()
        };
        Cell {
            about: match self.method_of(&method) {
                Some(own) => own.about.clone(),
                None => self.name("command", &about),
            },
            method: self.method(&method),
            role,
            language: match language {
                Some(language) if is_language(&language) => Some(language),
                Some(language) if !hides => Some(self.text(&language)),
                _ => None,
            },
            point: self.point(&point),
            status: match status {
                Status::Measured => Status::Measured,
                Status::Skipped(why) => Status::Skipped(self.reason(&why)),
                Status::Failed(why) => Status::Failed(self.reason(&why)),
            },
            digest: digest.map(|digest| self.answer(&digest)),
            syscalls_by_name: syscalls_by_name.map(calls),
            samples: samples.into_iter().map(|sample| self.sample(sample)).collect(),
            values: values.into_iter().map(|(name, values)| (self.metric(&name), values)).collect(),
        }
    }

    fn sample(&self, sample: Sample) -> Sample {
        let Sample { pass, session, round, slot, warm_up, not_counted, ops, bytes, answer } =
            sample;
        Sample {
            pass,
            session,
            round,
            slot,
            warm_up,
            not_counted: not_counted.map(|why| self.reason(&why).into()),
            ops,
            bytes,
            answer: answer.map(|answer| self.answer(&answer).into()),
        }
    }

    /// A note that is no known phrase is left out, and counted. The reason why a method was not
    /// counted quotes nothing.
    fn notes(&self, notes: Vec<Warning>) -> Vec<Warning> {
        let n = notes.len();
        let mut shown: Vec<Warning> = Vec::new();
        for note in notes {
            let uncounted = note.missing_metric().map(|(metric, _)| metric).zip(note.uncounted);
            let sent = match uncounted {
                Some((metric, why)) => Warning::uncounted(metric, why),
                None => match self.sentence(&note.to_string()) {
                    Some(text) => Warning::noted(text),
                    None => continue,
                },
            };
            let method = note.method.map(|method| self.method(&method));
            let point = note.point.map(|point| self.point(&point));
            shown.push(Warning { method, point, ..sent });
        }
        if shown.len() < n {
            let notes = if n - shown.len() == 1 { "1 note is" } else { "some notes are" };
            shown.push(Warning::noted(format!("{notes} hidden")));
        }
        shown
    }
}

#[cfg(test)]
mod tests;
