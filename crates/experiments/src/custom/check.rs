//! Converts the content of the file to an experiment, with how much is measured and the thresholds.

use std::rc::Rc;

use byte_stream::parse_bytes;
use measure::experiment::{Answer, Experiment, Method};
use model::metric;
use model::pattern::matches;
use model::run::{RATIO, Threshold, View};

use super::data::{DataHooks, DataSource};
use super::file::{
    AnswerSource, At, CacheWord, Content, DataTable, ExperimentFile, HooksTable, PlanTable, Scalar,
    ThresholdTable, ViewWord, Words,
};
use super::location::{Mistake, suggestion};
use super::methods;
use super::names::{
    self, DIR, FILE, FileOrigin, HERE, METHOD, PROGRAM, Placeholders, ReservedNames, leak,
};

pub(super) struct Checked {
    pub(super) experiment: Experiment,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) primary_metrics: Vec<String>,
    pub(super) view: View,
    pub(super) defaults: Vec<(&'static str, String)>,
    pub(super) has_setup: bool,
}

pub(super) fn check(
    file: ExperimentFile,
    file_origin: &FileOrigin,
    taken: &ReservedNames<'_>,
) -> Result<Checked, Mistake> {
    let file_origin = &file_origin.in_dir(file.dir.as_ref().map(|dir| dir.value.as_str()));
    let name = name(file.name.as_ref(), file_origin, taken)?;
    let params = names::params(&file.param, taken)?;
    let known = known(&params, file.data.is_some(), file_origin);
    let answer = answer(&file.answer.from, file.answer.file.as_ref(), &known)?;
    let source = file.data.as_ref().map(|data| source(data, file_origin, &known)).transpose()?;
    let around = around(&file, &known, file_origin, source)?;
    let has_setup = file.hooks.setup.is_some();
    let common = common(&file);
    let methods = methods::methods(&file, &known, &params, &common, &answer, file_origin)?;
    for (param, table) in params.iter().zip(&file.param) {
        if !methods.iter().any(|method| method.reads.contains(&param.name)) {
            let text = format!("nothing uses it: write {{{}}} in a command", param.name);
            return Err(Mistake::at(&table.name.span, text));
        }
    }
    let thresholds = thresholds(&file.threshold, &methods)?;
    let primary_metrics = primary_metrics(&file)?;
    let view = match file.view {
        ViewWord::Tables => View::Tables,
        ViewWord::SizeSweep => View::SizeSweep,
    };
    let defaults = defaults(&file.plan)?;
    let origin = if file_origin.file.is_empty() {
        "Typed on the command line.".to_owned()
    } else {
        format!("Declared in {}.", file_origin.file)
    };
    let readme = format!("{}\n\n{origin}", file.question);
    let around = Rc::new(around);
    let experiment = Experiment {
        name: leak(name),
        question: leak(file.question),
        readme: leak(readme),
        params,
        methods,
        dir: Some(file_origin.dir.clone()),
        data: Box::new(move |point, dir, stop| DataHooks::data(&around, point, dir, stop)),
    };
    Ok(Checked { experiment, thresholds, primary_metrics, view, defaults, has_setup })
}

/// The metrics that have a column.
fn primary_metrics(file: &ExperimentFile) -> Result<Vec<String>, Mistake> {
    let own = || file.metrics.keys().map(String::as_str);
    let known = || metric::METRICS.iter().map(|metric| metric.name).chain(own());
    let checked = |At { value, span }: &At<String>| {
        if known().any(|name| name == value) {
            return Ok(value.clone());
        }
        let text = format!("there is no metric {value}{}", suggestion(value, known()));
        Err(Mistake::at(span, text))
    };
    file.primary_metrics.iter().map(checked).collect()
}

fn name(
    given: Option<&At<String>>,
    file_origin: &FileOrigin,
    taken: &ReservedNames<'_>,
) -> Result<String, Mistake> {
    let (name, span) = match given {
        Some(name) => (name.value.clone(), name.span.clone()),
        None => (file_origin.stem.clone(), 0..0),
    };
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let text = format!("name {name:?}: a name is made of letters, digits, -, _ and .");
        return Err(Mistake::at(&span, text));
    }
    if taken.experiments.contains(&name.as_str()) {
        let text = format!("{name} is an experiment of bytelab's own; give another name = \"…\"");
        return Err(Mistake::at(&span, text));
    }
    Ok(name)
}

fn known(params: &[model::param::Param], has_data: bool, file_origin: &FileOrigin) -> Placeholders {
    let mut constant: Vec<&'static str> = params.iter().map(|param| param.name).collect();
    constant.push(HERE);
    constant.extend(file_origin.program.as_ref().map(|_| PROGRAM));
    let mut of_method = constant.clone();
    of_method.push(DIR);
    of_method.extend(has_data.then_some(FILE));
    let mut of_hook = of_method.clone();
    of_hook.push(METHOD);
    Placeholders { constant, of_method, of_hook }
}

fn answer(
    from: &At<AnswerSource>,
    file: Option<&At<String>>,
    known: &Placeholders,
) -> Result<Answer, Mistake> {
    match (from.value, file) {
        (AnswerSource::File, Some(path)) => {
            names::check(&path.value, &known.of_method, &path.span)?;
            Ok(Answer::File(path.value.clone()))
        }
        (AnswerSource::File, None) => {
            Err(Mistake::at(&from.span, "name the file that is written: file = \"{dir}/out\""))
        }
        (_, Some(path)) => Err(Mistake::at(&path.span, "it is used with from = \"file\" only")),
        (AnswerSource::Stdout, None) => Ok(Answer::Output),
        (AnswerSource::None, None) => Ok(Answer::None),
    }
}

fn source(
    data: &DataTable,
    file_origin: &FileOrigin,
    known: &Placeholders,
) -> Result<DataSource, Mistake> {
    match (&data.file, &data.size) {
        (Some(file), None) if data.content == Content::default() => {
            names::check(&file.value, &known.constant, &file.span)?;
            Ok(DataSource::File { path: file.value.clone(), dir: file_origin.dir.clone() })
        }
        (Some(file), _) => {
            Err(Mistake::at(&file.span, "a file of yours has no size and no content to be made"))
        }
        (None, Some(size)) => {
            names::check(&size.value.0, &known.constant, &size.span)?;
            let Scalar(text) = &size.value;
            if model::template::names(text).is_empty() {
                let wrong = |error| Mistake::at(&size.span, format!("{text}: {error:#}"));
                parse_bytes(text).map_err(wrong)?;
            }
            Ok(DataSource::Made { size: text.clone(), content: data.content })
        }
        (None, None) => Err(Mistake::at(
            &(0..0),
            "[data]: name a file = \"…\" of yours, or the size = \"64MiB\" of one that is made",
        )),
    }
}

fn around(
    file: &ExperimentFile,
    known: &Placeholders,
    file_origin: &FileOrigin,
    source: Option<DataSource>,
) -> Result<DataHooks, Mistake> {
    let hook = |hook: &Option<_>| {
        let own = std::collections::BTreeMap::new();
        let env = methods::env([&file.env, &own], &known.of_method)?;
        let command = |hook| methods::hook(hook, &env, &known.of_method, file_origin);
        hook.as_ref().map(command).transpose()
    };
    Ok(DataHooks {
        dir: file_origin.dir.clone(),
        here: file_origin.here.clone(),
        program: file_origin.program.clone(),
        source,
        setup: hook(&file.hooks.setup)?,
        cleanup: hook(&file.hooks.cleanup)?,
    })
}

/// The texts that are common to all methods.
fn common(file: &ExperimentFile) -> Vec<String> {
    let data = file.data.iter().flat_map(|data| {
        let size = data.size.iter().map(|size| size.value.0.clone());
        data.file.iter().map(|file| file.value.clone()).chain(size)
    });
    let HooksTable { setup, prepare, conclude, cleanup } = &file.hooks;
    let hooks = [setup, prepare, conclude, cleanup];
    let env = file.env.values().map(|value| value.value.clone());
    let hooks = hooks.into_iter().flatten().flat_map(|hook| methods::texts(&hook.value));
    data.chain(hooks)
        .chain(env)
        .chain(file.answer.file.iter().map(|file| file.value.clone()))
        .collect()
}

/// Values of the flags of the same names.
pub(super) fn defaults(plan: &PlanTable) -> Result<Vec<(&'static str, String)>, Mistake> {
    let counts = [
        ("rounds", &plan.rounds, 1..=1_000_000),
        ("sessions", &plan.sessions, 1..=1000),
        ("min_sessions", &plan.min_sessions, 1..=1000),
        ("max_sessions", &plan.max_sessions, 1..=1000),
        ("warm_up", &plan.warm_up, 0..=1000),
        ("counting", &plan.counting, 0..=1000),
    ];
    let mut defaults = Vec::new();
    for (id, given, allowed) in counts {
        let Some(At { value, span }) = given else { continue };
        if !allowed.contains(value) {
            let text = format!("{value}: allowed are {} to {}", allowed.start(), allowed.end());
            return Err(Mistake::at(span, text));
        }
        defaults.push((id, value.to_string()));
    }
    for (id, given) in [("time", &plan.time), ("sample_limit", &plan.sample_limit)] {
        let Some(given) = given else { continue };
        nanoseconds(given)?;
        defaults.push((id, given.value.clone()));
    }
    if let Some(At { value: Scalar(text), span }) = &plan.memory {
        parse_bytes(text).map_err(|error| Mistake::at(span, format!("{text}: {error:#}")))?;
        defaults.push(("memory", text.clone()));
    }
    if let Some(cache) = plan.cache {
        let word = match cache {
            CacheWord::Warm => "warm",
            CacheWord::Cold => "cold",
            CacheWord::AsIs => "as-is",
        };
        defaults.push(("cache", word.to_owned()));
    }
    Ok(defaults)
}

fn nanoseconds(text: &At<String>) -> Result<f64, Mistake> {
    let time = humantime::parse_duration(&text.value);
    let time = time.map(|time| time.as_nanos() as f64).ok().filter(|ns| *ns > 0.0 && *ns < 1e18);
    let wrong = || format!("{:?} is not a time (examples: 50ms, 1.5s, 2m)", text.value);
    time.ok_or_else(|| Mistake::at(&text.span, wrong()))
}

pub(super) fn thresholds(
    tables: &[ThresholdTable],
    methods: &[Method],
) -> Result<Vec<Threshold>, Mistake> {
    let mut thresholds = Vec::new();
    for table in tables {
        let names = chosen(table, methods)?;
        let mut limits: Vec<(&str, f64)> = Vec::new();
        for (metric, given) in [("wall_ns", &table.max_wall), ("cpu_ns", &table.max_cpu)] {
            if let Some(text) = given {
                limits.push((metric, nanoseconds(text)?));
            }
        }
        if let Some(At { value: Scalar(text), span }) = &table.max_rss {
            let wrong = |error| Mistake::at(span, format!("{text}: {error:#}"));
            limits.push(("peak_rss_bytes", parse_bytes(text).map_err(wrong)? as f64));
        }
        for (metric, given) in [("syscalls", &table.max_syscalls), (RATIO, &table.max_ratio)] {
            let Some(At { value, span }) = given else { continue };
            if !value.is_finite() || *value <= 0.0 {
                return Err(Mistake::at(span, format!("{value}: a number above 0 is needed")));
            }
            limits.push((metric, *value));
        }
        if limits.is_empty() {
            let span = table.method.as_ref().map_or(0..0, |method| method.span.clone());
            let allowed = "max_wall, max_cpu, max_rss, max_syscalls, max_ratio";
            return Err(Mistake::at(&span, format!("a [[threshold]] needs one of {allowed}")));
        }
        thresholds.extend(limits.into_iter().map(|(metric, max)| Threshold {
            methods: names.clone(),
            metric: metric.to_owned(),
            max,
        }));
    }
    Ok(thresholds)
}

fn chosen(table: &ThresholdTable, methods: &[Method]) -> Result<Vec<String>, Mistake> {
    let Some(At { value, span }) = &table.method else { return Ok(Vec::new()) };
    let patterns = match value {
        Words::Text(text) => std::slice::from_ref(text),
        Words::List(list) => list.as_slice(),
    };
    let mut chosen = Vec::new();
    for pattern in patterns {
        let found = methods.iter().filter(|method| matches(pattern, &method.name));
        let found: Vec<String> = found.map(|method| method.name.clone()).collect();
        if found.is_empty() {
            let known = methods.iter().map(|method| method.name.as_str());
            let text = format!("there is no method {pattern}{}", suggestion(pattern, known));
            return Err(Mistake::at(span, text));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}
