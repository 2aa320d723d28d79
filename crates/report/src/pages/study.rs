//! A published study beside runs of ours: what differs, its figures redrawn, one table in the
//! author's order, and a verdict on each claim, by our samples alone.

use crate::document::{Block, Document};
use crate::html;
use crate::published::PREFIX;
use crate::text::PageLayout;
use crate::views::study::words::{ALL_TOGETHER, NO_VERDICT, RATIO, about, tested, word};
use crate::views::study::{ClaimOutcome, JudgedClaim, NotMeasured, StudyReport};
use crate::views::table::{Style, Table};

/// From this width on, the table has all columns.
const WIDE: usize = 110;

/// A figure that is drawn.
pub struct DrawnFigure<'a> {
    pub title: &'a str,
    pub caption: &'static str,
    /// All text of unknown origin in it is escaped.
    pub svg: String,
}

/// The page of a study, with its claims if `with_claims`.
pub fn text(report: &StudyReport<'_>, with_claims: bool, layout: &PageLayout) -> String {
    document(report, &[], with_claims, layout.width).text(layout)
}

/// The whole file.
pub fn page(report: &StudyReport<'_>, figures: &[DrawnFigure<'_>]) -> String {
    let title = format!("{PREFIX}{}", report.study.name);
    html::page(&title, &document(report, figures, true, Document::UNLIMITED))
}

fn document(
    report: &StudyReport<'_>,
    figures: &[DrawnFigure<'_>],
    with_claims: bool,
    width: usize,
) -> Document {
    let mut page = Document::new(width);
    head(&mut page, report);
    for figure in figures {
        page.title(figure.title);
        page.blocks.push(Block::Figure { caption: figure.caption, svg: figure.svg.clone() });
    }
    page.gap();
    table(&mut page, report, width >= WIDE);
    page.gap();
    for NotMeasured { reason, methods } in report.not_measured() {
        let text = format!("{reason} ({})", methods.join(", "));
        page.paragraph(Style::Dim, "not testable here: ", &text);
    }
    if with_claims {
        claims(&mut page, &report.judgements());
    }
    page.gap();
    sources(&mut page, report);
    page.paragraph(Style::Bold, "", NO_VERDICT);
    page
}

fn head(page: &mut Document, report: &StudyReport<'_>) {
    page.heading(&report.study.name, &report.study.title);
    for published in report.published {
        let text = format!("{PREFIX}{}, another machine: {}", published.name, published.machine);
        page.paragraph(Style::Plain, "there: ", &text);
    }
    for (run, _) in &report.runs {
        page.paragraph(Style::Plain, "here: ", &about(run));
    }
    for text in report.differs() {
        page.paragraph(Style::Plain, "differs: ", &text);
    }
}

fn table(page: &mut Document, report: &StudyReport<'_>, is_wide: bool) {
    let (table, has_ratios) = report.table(is_wide);
    page.table(Table { id: "study", ..table });
    if has_ratios {
        page.paragraph(Style::Dim, "", RATIO);
    }
}

fn claims(page: &mut Document, judgements: &[JudgedClaim<'_>]) {
    page.gap();
    page.title("What the author says, and what the samples of here say");
    for judgement in judgements {
        let claim = judgement.claim;
        let says = format!("{} — {}", claim.says, claim.figures);
        page.hanging(&format!("{:<4}", claim.id), &says);
        outcome(page, "", &judgement.own);
        if let Some(other) = &judgement.in_their_place {
            outcome(page, "by what stands in its place: ", other);
        }
    }
    let is_judged = |outcome: &ClaimOutcome<'_>| matches!(outcome, ClaimOutcome::Judged { .. });
    let mut all = judgements.iter().flat_map(|j| std::iter::once(&j.own).chain(&j.in_their_place));
    if all.any(is_judged) {
        page.paragraph(Style::Dim, "", ALL_TOGETHER);
    }
}

fn outcome(page: &mut Document, whose: &str, outcome: &ClaimOutcome<'_>) {
    let (verdict, tests, missing) = match outcome {
        ClaimOutcome::NotHere(reason) => {
            page.hanging("    ", &format!("{whose}not testable here: {reason}"));
            return;
        }
        ClaimOutcome::Judged { verdict, tests, missing } => (*verdict, tests, missing),
    };
    let (word, style) = word(verdict);
    page.line(&[(Style::Plain, "    "), (Style::Plain, whose), (style, word)]);
    for test in tests {
        page.hanging("      ", &tested(test));
    }
    for reason in missing {
        page.hanging("      ", &format!("not tested here: {reason}"));
    }
}

fn sources(page: &mut Document, report: &StudyReport<'_>) {
    let mut said: Vec<(&str, &str)> = vec![(&report.study.source, &report.study.caveat)];
    said.extend(report.published.iter().map(|published| (published.source, published.caveat)));
    said.dedup();
    for (source, caveat) in said.into_iter().filter(|(source, _)| !source.is_empty()) {
        page.paragraph(Style::Plain, "source: ", source);
        page.paragraph(Style::Plain, "known against it: ", caveat);
    }
}
