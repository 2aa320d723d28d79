//! The page of a published study: its figures redrawn, its table, and the verdict on each claim. It
//! needs no script.

use super::document::{self, Html};
use super::head_without_script;
use crate::published::PREFIX;
use crate::views::study::words::{ALL_TOGETHER, NO_VERDICT, RATIO, about, tested, word};
use crate::views::study::{ClaimOutcome, JudgedClaim, StudyReport};
use crate::views::table::Style;

/// A figure that is drawn.
pub struct DrawnFigure<'a> {
    pub title: &'a str,
    pub caption: &'static str,
    /// All text of unknown origin in it is escaped.
    pub svg: String,
}

/// The whole file.
pub fn page(report: &StudyReport<'_>, figures: &[DrawnFigure<'_>]) -> String {
    let mut html = Html(String::new());
    head_without_script(&mut html, &format!("{PREFIX}{}", report.study.name));
    head(&mut html, report);
    drawn(&mut html, figures);
    html.raw("<section aria-labelledby=\"table-heading\">\n");
    html.raw("<h2 id=\"table-heading\">Table</h2>\n");
    document::write_table(&mut html, "study", RATIO, &report.table(true).0);
    for (reason, methods) in report.not_measured() {
        let text = format!("not testable here: {reason} ({})", methods.join(", "));
        html.element("<p class=\"small\">", &text, "</p>\n");
    }
    html.raw("</section>\n");
    claims(&mut html, &report.judgements());
    sources(&mut html, report);
    html.raw("</main>\n</body>\n</html>\n");
    html.0
}

fn head(html: &mut Html, report: &StudyReport<'_>) {
    html.element("<header>\n<p class=\"kicker\">bytelab · ", PREFIX, "");
    html.element("", &report.study.name, "</p>\n");
    html.element("<h1>", &report.study.title, "</h1>\n");
    for published in report.published {
        let text = format!("there: {PREFIX}{}, {}", published.name, published.machine);
        html.element("<p class=\"facts\">", &text, "</p>\n");
    }
    for (run, _) in &report.runs {
        html.element("<p class=\"facts\">", &format!("here: {}", about(run)), "</p>\n");
    }
    html.raw("<ul>\n");
    for text in report.differs() {
        html.element("<li>", &text, "</li>\n");
    }
    html.raw("</ul>\n");
    html.element("<p class=\"warning\">", NO_VERDICT, "</p>\n</header>\n");
}

fn drawn(html: &mut Html, figures: &[DrawnFigure<'_>]) {
    html.raw("<section aria-labelledby=\"figures-heading\">\n");
    html.raw("<h2 id=\"figures-heading\">Figures</h2>\n");
    for figure in figures {
        html.element("<h3>", figure.title, "</h3>\n<figure>\n<div class=\"scroll\">\n");
        html.0 += &figure.svg;
        html.raw("</div>\n");
        html.element("<figcaption>", figure.caption, "</figcaption>\n</figure>\n");
    }
    html.raw("</section>\n");
}

fn claims(html: &mut Html, judgements: &[JudgedClaim<'_>]) {
    html.raw("<section aria-labelledby=\"claims-heading\">\n<h2 id=\"claims-heading\">");
    html.raw("What the author says, and what the samples of here say</h2>\n");
    for judgement in judgements {
        let claim = judgement.claim;
        let title = format!("{} {} — {}", claim.id, claim.says, claim.figures);
        html.element("<h3>", &title, "</h3>\n");
        outcome(html, "", &judgement.own);
        if let Some(other) = &judgement.in_their_place {
            outcome(html, "by what stands in its place: ", other);
        }
    }
    html.element("<p class=\"small\">", ALL_TOGETHER, "</p>\n</section>\n");
}

fn outcome(html: &mut Html, whose: &str, outcome: &ClaimOutcome<'_>) {
    let (verdict, tests, missing) = match outcome {
        ClaimOutcome::NotHere(reason) => {
            let text = format!("{whose}not testable here: {reason}");
            html.element("<p class=\"facts\">", &text, "</p>\n");
            return;
        }
        ClaimOutcome::Judged { verdict, tests, missing } => (*verdict, tests, missing),
    };
    let (word, style) = word(verdict);
    html.raw(match style {
        Style::Green => "<p class=\"confirmed\">",
        Style::Red => "<p class=\"refuted\">",
        _ => "<p>",
    });
    html.text(whose);
    html.element("<strong>", word, "</strong></p>\n<ul>\n");
    for test in tests {
        html.element("<li>", &tested(test), "</li>\n");
    }
    for reason in missing {
        html.element("<li>not tested here: ", reason, "</li>\n");
    }
    html.raw("</ul>\n");
}

fn sources(html: &mut Html, report: &StudyReport<'_>) {
    let study = (report.study.source.as_str(), report.study.caveat.as_str());
    let mut said = vec![study];
    said.extend(report.published.iter().map(|published| (published.source, published.caveat)));
    said.dedup();
    html.raw("<section aria-labelledby=\"sources-heading\">\n");
    html.raw("<h2 id=\"sources-heading\">Sources</h2>\n");
    for (source, caveat) in said.into_iter().filter(|(source, _)| !source.is_empty()) {
        html.element("<p>", source, "</p>\n");
        html.element("<p class=\"small\">known against it: ", caveat, "</p>\n");
    }
    html.raw("</section>\n");
}
