//! Documents as HTML, each in one file: it needs no network, and its tables need no script. Text
//! from a run is added only through [`Html::text`] or as data; a page runs no scripts except those
//! of this program.

mod document;
pub(super) mod served;

use analysis::Analysis;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::run::Run;
use sha2::{Digest, Sha256};

use self::document::Html;
use crate::document::Document;
use crate::pages::report;
use crate::views::charts::{self, Charts};

const STYLE: &str = include_str!("page.css");
/// In this order: the tables, the data of the charts, the charts.
const SCRIPTS: [&str; 5] = [
    include_str!("page.js"),
    include_str!("shapes.js"),
    include_str!("distributions.js"),
    include_str!("sweeps.js"),
    include_str!("charts.js"),
];

const WITHOUT_SCRIPT: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The report of runs, with the charts. The runs are of one experiment, and there is at least one.
/// `path_params` are the params in which two sides may differ, as in `compare`.
pub fn html(shown: &[(Run, Analysis)], path_params: &[&str]) -> String {
    let names: Vec<String> = shown.iter().map(|(run, _)| charts::name(run)).collect();
    let charts = Charts::from_runs(shown);
    let mut html = Html(String::new());
    head(&mut html, &format!("{}: {}", shown[0].0.experiment, names.join(", ")), &policy());
    html.raw("<button type=\"button\" id=\"theme\" hidden>Dark</button>\n");
    html.blocks(&report::document(shown, path_params, &charts).blocks, false);
    html.raw(
        "<p class=\"small\">Charts by plotly.js (MIT license), which is part of this file. \
              Made by bytelab; ",
    );
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

/// A page that needs no script.
pub(crate) fn page(title: &str, document: &Document) -> String {
    let mut html = Html(String::new());
    head(&mut html, title, WITHOUT_SCRIPT);
    html.blocks(&document.blocks, false);
    html.raw("</main>\n</body>\n</html>\n");
    html.0
}

/// The policy of a page with charts: only the scripts of this program run.
pub fn policy() -> String {
    let mut policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src".to_owned();
    let hashes = SCRIPTS.map(|script| base64(Sha256::digest(script).as_slice()));
    for hash in hashes.iter().map(String::as_str).chain([LIBRARY_HASH]) {
        policy.extend([" 'sha256-", hash, "'"]);
    }
    policy
}

/// The head of a page, up to its content. In the policy nothing is to be escaped.
fn head(html: &mut Html, title: &str, policy: &str) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    html.0 += policy;
    html.element("\">\n<title>", title, "</title>\n<style>\n");
    html.raw(STYLE);
    html.raw("</style>\n</head>\n<body>\n<main>\n");
}

/// The charting library of the page: the part of plotly.js in the folder `plotly`, compressed.
static LIBRARY: &[u8] = include_bytes!("../../plotly/plotly-cartesian.min.js.gz");
/// The SHA-256 of the script in base64, by which the page's policy allows it to run.
const LIBRARY_HASH: &str = "J8UgPsugUt5kR2A2lvOVWPXRlhg5unqxU2OfZtPQ1Wk=";

/// The script that the page unpacks and runs, in base64 of gzip.
fn packed_library() -> String {
    base64(LIBRARY)
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
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
        assert_eq!(base64(Sha256::digest(&script).as_slice()), LIBRARY_HASH);
        assert!(packed_library().len() < 650_000, "{}", packed_library().len());
    }
}
