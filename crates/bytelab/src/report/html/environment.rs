//! The machine and the system of each run, and the plan; for several runs, the differences come
//! first.

use std::collections::BTreeMap;

use lab::analyze::Analysis;
use lab::run::Run;
use serde_json::Value;

use super::{Html, table};
use crate::report::model::charts;
use crate::report::model::table::{Column, Table};
use crate::report::model::units::NONE;
use crate::report::model::words::shortened;

pub(super) fn write(html: &mut Html, shown: &[(Run, Analysis)]) {
    html.raw("<section aria-labelledby=\"environment-heading\">\n");
    html.raw("<h2 id=\"environment-heading\">Environment</h2>\n");
    let facts: Vec<BTreeMap<String, String>> = shown.iter().map(|(run, _)| facts(run)).collect();
    let mut names: Vec<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &String| facts.iter().any(|run| run.get(name) != facts[0].get(name));
    let (differing, same): (Vec<&String>, Vec<&String>) =
        names.into_iter().partition(|n| differs(n));
    if shown.len() > 1 {
        if differing.is_empty() {
            html.raw("<p>All runs were measured in the same environment, by the same plan.</p>\n");
        } else {
            let caption = "In this the runs differ, and it may be why their numbers do.";
            facts_table(html, caption, shown, &facts, &differing);
        }
    }
    html.raw("<details>\n<summary>");
    html.raw(if shown.len() > 1 {
        "All that is the same"
    } else {
        "Machine, system, build and plan"
    });
    html.raw("</summary>\n");
    facts_table(html, "", &shown[..1], &facts, &same);
    html.raw("</details>\n</section>\n");
}

fn facts_table(
    html: &mut Html,
    caption: &str,
    shown: &[(Run, Analysis)],
    facts: &[BTreeMap<String, String>],
    names: &[&String],
) {
    let mut columns = vec![Column::left("fact").filled(names.iter(), |name| name.as_str())];
    for ((run, _), facts) in shown.iter().zip(facts) {
        let value = |name: &&String| facts.get(*name).map_or(NONE, String::as_str);
        columns.push(Column::left(&charts::name(run)).filled(names.iter(), value));
    }
    table::write(html, "", caption, &Table::of_columns(columns));
}

fn facts(run: &Run) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> =
        run.environment.facts.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    // The seed differs between runs by design.
    if let Ok(Value::Object(plan)) = serde_json::to_value(&run.plan) {
        let plan = plan.iter().filter(|(name, _)| *name != "seed");
        facts.extend(plan.map(|(name, value)| (format!("plan: {name}"), text(value))));
    }
    facts
}

/// The definition is a whole file, in one line: of a long text both ends are shown.
const WIDEST: usize = 120;

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text, WIDEST),
        other => shortened(&other.to_string(), WIDEST),
    }
}
