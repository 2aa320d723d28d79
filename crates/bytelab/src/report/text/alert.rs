//! What got slower lately, as text.

use lab::environment::Difference;
use lab::stats::{CHANGE_ALPHA, LEAST_FOR_CHANGE};
use serde_json::Value;

use super::page::{Layout, Page};
use crate::report::model::history::{Alert, Changed};
use crate::report::model::table::Style;
use crate::report::model::units::{ns, point as shown};
use crate::report::model::words::{cache, minute, shortened};

/// More facts are only in JSON.
const FACTS_MAX: usize = 8;
/// The maximum width of the value of a fact.
const VALUE_WIDTH: usize = 40;

pub(crate) fn text(found: &Alert, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for slowdown in &found.slowdowns {
        one(&mut page, slowdown);
        page.blank();
    }
    let series = |n: usize| format!("{n} series");
    let slower = match found.slowdowns.len() {
        0 => "nothing is shown to have got slower".to_owned(),
        1 => "one change for the worse".to_owned(),
        n => format!("{n} changes for the worse"),
    };
    let short = match found.series_too_short {
        0 => String::new(),
        n => format!(
            "; {} more have fewer than {LEAST_FOR_CHANGE} runs, which cannot show a change",
            series(n)
        ),
    };
    let text = format!(
        "{slower} in the last {} days, in {} (a method at a point on a machine){short}. By \
         chance alone, a change is shown in {:.0} % of series.",
        found.days,
        series(found.series_examined),
        100.0 * CHANGE_ALPHA,
    );
    page.paragraph(Style::Dim, "", &text);
    page.into_text()
}

fn one(page: &mut Page, Changed { slowdown, changed }: &Changed) {
    let place = &slowdown.place;
    let machine: String = match place.machine.as_str() {
        "" => "not known".to_owned(),
        known => known.chars().take(8).collect(),
    };
    let cpu = slowdown.cpu_model.as_ref().map_or(String::new(), |cpu| format!(" {cpu}"));
    let at = Some(shown(&place.point)).filter(|at| !at.is_empty());
    let at = at.map_or(String::new(), |at| format!(" · {at}"));
    let fresh = if place.fresh { " · fresh processes" } else { "" };
    let about = format!(
        " · {}{at} · {}{fresh} · machine {machine}{cpu}",
        place.experiment,
        cache(place.cache)
    );
    page.line(&[(Style::Bold, &slowdown.method), (Style::Plain, &about)]);
    let more = |ns: f64| 100.0 * (ns / slowdown.before_ns - 1.0);
    let label = slowdown.label.as_ref().map_or(String::new(), |label| format!(", {label}"));
    let (before, after) = (ns(slowdown.before_ns), ns(slowdown.after_ns));
    let now = if slowdown.now_ns.total_cmp(&slowdown.after_ns).is_eq() {
        String::new()
    } else {
        format!("; now {} ({:.1} % more)", ns(slowdown.now_ns), more(slowdown.now_ns))
    };
    let text = format!(
        "from run {} ({}{label}) on: {:.1} % more, {before} → {after}{now}",
        slowdown.run,
        minute(&slowdown.started),
        more(slowdown.after_ns),
    );
    page.paragraph(Style::Red, "slower: ", &text);
    let named = |changed: &Difference| {
        format!("{} {} → {}", changed.fact, value(&changed.a), value(&changed.b))
    };
    let mut facts: Vec<String> = changed.iter().take(FACTS_MAX).map(named).collect();
    match changed.len().saturating_sub(FACTS_MAX) {
        0 => {}
        more => facts.push(format!("{more} more in --json")),
    }
    let text = match facts.as_slice() {
        [] => format!("no known fact of the environment since run {}", slowdown.run_before),
        _ => format!(
            "since run {}: {} (which need not be the cause)",
            slowdown.run_before,
            facts.join(", ")
        ),
    };
    page.paragraph(Style::Plain, "changed: ", &text);
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "not known".to_owned(),
        Value::String(text) => shortened(text, VALUE_WIDTH),
        other => shortened(&other.to_string(), VALUE_WIDTH),
    }
}
