//! The report as one HTML file: it needs no network, and its tables need no script. Text from a run
//! is added only through [`Html::text`] or as data; the page runs no scripts except those of this
//! program.

mod document;
mod results;
pub(super) mod served;
pub(super) mod study;

use analysis::Analysis;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::run::Run;
use sha2::{Digest, Sha256};

use self::document::Html;
use crate::views::charts::{self, Charts};
use crate::views::fleet::{self, FleetReport, caption, sentences};
use crate::views::units::{self, point as shown};
use crate::views::words::{measured, minute, revisions};
use crate::views::{VaryingParams, View, answer, numbers, rows, sweep, view};

const STYLE: &str = include_str!("page.css");
/// In this order: the tables, the data of the charts, the charts.
const SCRIPTS: [&str; 5] = [
    include_str!("page.js"),
    include_str!("shapes.js"),
    include_str!("distributions.js"),
    include_str!("sweeps.js"),
    include_str!("charts.js"),
];

/// The head of a page without scripts, up to its content.
fn head_without_script(html: &mut Html, title: &str) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    html.raw("style-src 'unsafe-inline'\">\n");
    html.element("<title>", title, "</title>\n<style>\n");
    html.raw(STYLE);
    html.raw("</style>\n</head>\n<body>\n<main>\n");
}

/// The whole file. The runs are of one experiment, and there is at least one.
/// `path_params` are the params in which two sides may differ, as in `compare`.
pub fn html(shown: &[(Run, Analysis)], path_params: &[&str]) -> String {
    let charts = Charts::from_runs(shown);
    let mut html = Html(String::new());
    head(&mut html, shown);
    html.raw("<body>\n<main>\n");
    question(&mut html, shown, path_params);
    html.raw("<section id=\"figures\" aria-labelledby=\"figures-heading\">\n<h2 id=\"figures-heading\">Figures</h2>\n");
    if shown.iter().all(|(run, _)| view(run) == View::Rows) {
        results::numbers(&mut html, shown);
    } else {
        results::results(&mut html, shown);
    }
    html.raw("</section>\n");
    if !charts.points.is_empty() {
        sections(&mut html, &charts);
    }
    results::warnings(&mut html, shown);
    results::environment(&mut html, shown);
    results::percentiles(&mut html, shown);
    html.raw("<p class=\"small\">Charts by plotly.js (MIT license), which lies in this file. Made by bytelab; ");
    html.raw("<code>bytelab show --json</code> gives the samples.</p>\n</main>\n");
    html.raw("<script type=\"application/json\" id=\"charts-data\">");
    html.json(&charts);
    html.raw("</script>\n<script type=\"text/plain\" id=\"library\">");
    html.0 += &packed_library();
    html.raw("</script>\n");
    for script in SCRIPTS {
        html.raw("<script>");
        html.raw(script);
        html.raw("</script>\n");
    }
    html.raw("</body>\n</html>\n");
    html.0
}

/// The policy of a page with charts: only the scripts of this program run.
pub fn policy() -> String {
    let mut policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src".to_owned();
    let hashes = SCRIPTS.map(|script| Sha256::digest(script.as_bytes()));
    for hash in hashes.iter().map(AsRef::as_ref).chain([LIBRARY_HASH]) {
        policy.extend([" 'sha256-", &base64(hash), "'"]);
    }
    policy
}

fn head(html: &mut Html, shown: &[(Run, Analysis)]) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    // Nothing in it is to be escaped.
    html.0 += &policy();
    html.raw("\">\n<title>");
    let (run, _) = &shown[0];
    let names: Vec<String> = shown.iter().map(|(run, _)| charts::name(run)).collect();
    html.text(&format!("{}: {}", run.experiment, names.join(", ")));
    html.raw("</title>\n<style>\n");
    html.raw(STYLE);
    html.raw("</style>\n</head>\n");
}

/// The question and the answer: of one run its own, of several that of their comparison, behind
/// which their own are folded.
fn question(html: &mut Html, shown: &[(Run, Analysis)], path_params: &[&str]) {
    let (first, _) = &shown[0];
    html.raw("<header>\n<button type=\"button\" id=\"theme\" hidden>Dark</button>\n");
    html.element("<p class=\"kicker\">bytelab · ", &first.experiment, "</p>\n");
    let question = if first.question.is_empty() { &first.experiment } else { &first.question };
    html.element("<h1>", question, "</h1>\n");
    if shown.len() > 1 {
        results::verdict(html, shown, path_params);
        html.raw("<details>\n<summary>The answer of each run alone</summary>\n");
    }
    for (run, analysis) in shown {
        let varying = VaryingParams::of_run(run);
        if shown.len() > 1 {
            html.element("<h2 class=\"run\">", &charts::name(run), "</h2>\n");
        }
        for sentence in answers(run, analysis, &varying) {
            html.element("<p class=\"answer\">", &sentence, "</p>\n");
        }
        if !run.complete {
            html.raw(
                "<p class=\"warning\">Not complete: it was stopped before all was measured.</p>\n",
            );
        }
        html.element("<p class=\"facts\">", &facts(run, &varying), "</p>\n");
        let revisions = revisions(run);
        if !revisions.is_empty() {
            html.element("<p class=\"facts\">Revisions: ", &revisions, "</p>\n");
        }
    }
    if shown.len() > 1 {
        html.raw("</details>\n");
    }
    html.raw("</header>\n");
}

fn answers(run: &Run, analysis: &Analysis, varying: &VaryingParams<'_>) -> Vec<String> {
    if view(run) == View::Rows {
        return numbers::answers(run);
    }
    let all = rows::all(run, analysis);
    let mut sentences = sweep::plateaus(run);
    let has_ladder = !sentences.is_empty();
    match all.as_slice() {
        [rows] => sentences.push(answer::of_family(rows)),
        _ if !has_ladder => sentences.push(answer::of_all(&all, varying)),
        _ => {}
    }
    sentences
}

fn facts(run: &Run, varying: &VaryingParams<'_>) -> String {
    let machine = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let plan = &run.plan;
    let facts = [
        charts::name(run),
        minute(&run.started),
        machine.unwrap_or_default().to_owned(),
        measured(plan),
        run.points.first().map(|point| varying.fixed(point)).unwrap_or_default(),
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    facts.join(" · ")
}

/// The elements of the charts, which the script fills.
fn sections(html: &mut Html, charts: &Charts) {
    html.raw("<section id=\"charts\" aria-labelledby=\"charts-heading\" hidden>\n");
    html.raw(include_str!("charts.html"));
    html.raw("</section>\n<p class=\"warning\" id=\"unscripted\">The charts need JavaScript; ");
    html.raw(
        "the tables do not.</p>\n<p id=\"trouble\" class=\"warning\" role=\"alert\" hidden></p>\n",
    );
    if charts.left_out > 0 {
        let text = format!(
            "Drawn are the first {} cells; {} more are left out of the charts.",
            charts.cells.len(),
            units::count(charts.left_out as f64)
        );
        html.element("<p class=\"small\">", &text, "</p>\n");
    }
}

/// The charting library of the page: the part of plotly.js in the folder `plotly`, compressed by the
/// build script.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.gz"));
/// The hash of the script, by which the page's policy allows it to run.
static LIBRARY_HASH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.sha256"));

/// The script that the page unpacks and runs, in base64 of gzip.
fn packed_library() -> String {
    base64(LIBRARY)
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The page of groups of runs beside each other. It needs no script.
/// The whole file. `figures` has the SVG of each point: what is unknown in it is escaped text.
pub fn fleet_page(report: &FleetReport<'_>, figures: &[String]) -> String {
    let title = format!("{} by {}", report.experiment, report.by);
    let mut html = Html(String::new());
    head_without_script(&mut html, &title);
    html.raw("<header>\n<p class=\"kicker\">bytelab</p>\n");
    html.element("<h1>", &title, "</h1>\n");
    html.element("<p>", report.question, "</p>\n</header>\n");
    for (point, figure) in report.fleet.points.iter().zip(figures) {
        html.raw("<section>\n");
        html.element("<h2>", &caption(report, point), "</h2>\n");
        html.element("<p class=\"facts\">", &shown(&point.point), "</p>\n");
        html.raw("<ul>\n");
        for sentence in sentences(report, point) {
            html.element("<li>", &sentence, "</li>\n");
        }
        html.raw("</ul>\n<figure>\n<div class=\"scroll\">\n");
        html.0 += figure;
        html.raw("</div>\n<figcaption>Dot: the ratio; line: its 95 % interval.");
        html.raw("</figcaption>\n</figure>\n");
        document::write_table(
            &mut html,
            "",
            "ratios to the reference",
            &fleet::table(report, point),
        );
        html.raw("</section>\n");
    }
    html.raw("</main>\n</body>\n</html>\n");
    html.0
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod library_tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_library_is_whole_and_alone() {
        let mut script = String::new();
        GzDecoder::new(LIBRARY).read_to_string(&mut script).unwrap();
        let start = "/**\n* plotly.js (cartesian - minified) v";
        assert!(script.starts_with(start), "{script:.100}");
        assert!(script.trim_end().ends_with("return Plotly;\n}));"));
        assert_eq!(Sha256::digest(&script).as_slice(), LIBRARY_HASH);
        assert!(packed_library().len() < 650_000, "{}", packed_library().len());
    }
}
