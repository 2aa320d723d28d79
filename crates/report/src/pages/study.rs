//! A published study beside runs of ours: what differs, its figures redrawn, one table in the
//! author's order, and a verdict on each claim: by the author's own figures, and by our samples.

use crate::document::{Block, Document};
use crate::export::markdown::MARKDOWN;
use crate::html;
use crate::published::{Claim, PREFIX, Published, Study, Testable};
use crate::text::PageLayout;
use crate::views::study::by_figures::{ClaimByFigures, by_figures};
use crate::views::study::words::{
    ALL_TOGETHER, IN_THEIR_PLACE, NO_VERDICT, RATIO, about, chunk_counts, figures_word,
    machine_lines, promised, tested, verdict_word, verdicts,
};
use crate::views::study::{ClaimOutcome, JudgedClaim, NotMeasured, StudyReport};
use crate::views::table::{Style, Table};

/// From this width on, the table has all columns.
const WIDE: usize = 110;

/// The mark of a verdict by the author's methods.
const HERE: &str = "here: ";

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

/// The page in Markdown.
pub fn markdown(report: &StudyReport<'_>) -> String {
    MARKDOWN.render(&document(report, &[], true, Document::UNLIMITED))
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
    counts(&mut page, report);
    for note in &report.study.notes {
        page.paragraph(Style::Plain, "note: ", note);
    }
    page.gap();
    for NotMeasured { reason, remedy, methods } in report.not_measured() {
        let remedy =
            if remedy.is_empty() { String::new() } else { format!("; to have it, {remedy}") };
        let text = format!("{reason} ({}){remedy}", methods.join(", "));
        page.paragraph(Style::Dim, "not testable here: ", &text);
    }
    if with_claims {
        let figures = by_figures(report.study, report.published);
        claims(&mut page, report.study, &report.judgements(), &figures);
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
    match report.drawn_alone() {
        0 => {}
        n => {
            let text = format!("{n} further points are in the figures: --report or --svg.");
            page.paragraph(Style::Dim, "", &text);
        }
    }
}

/// The counts of methods, where they explain something.
fn counts(page: &mut Document, report: &StudyReport<'_>) {
    let found = report.counts();
    if found.is_empty() {
        return;
    }
    let chunk = &report.study.chunk;
    let of = if found.iter().any(|one| one.is_chunk) {
        format!("Counts of a chunk of `{chunk}` bytes; of a whole copy where there are none")
    } else {
        "Counts of an operation".to_owned()
    };
    page.gap();
    page.title(&of);
    page.table(chunk_counts(&found));
}

fn claims(
    page: &mut Document,
    study: &Study,
    judgements: &[JudgedClaim<'_>],
    figures: &[ClaimByFigures<'_>],
) {
    page.gap();
    page.title("What the author says, and what the samples of here say");
    page.table(verdicts(judgements, figures));
    page.gap();
    for judgement in judgements {
        let own_figures = figures.iter().find(|one| one.claim.id == judgement.claim.id);
        claim(page, judgement.claim, own_figures);
        outcome(page, HERE, &judgement.own);
        if let Some(other) = &judgement.in_their_place {
            outcome(page, "by what stands in its place: ", other);
        }
        unseen(page, judgement.claim);
    }
    let is_judged = |outcome: &ClaimOutcome<'_>| matches!(outcome, ClaimOutcome::Judged { .. });
    let mut all = judgements.iter().flat_map(|j| std::iter::once(&j.own).chain(&j.in_their_place));
    if all.any(is_judged) {
        page.paragraph(Style::Dim, "", ALL_TOGETHER);
    }
    if judgements.iter().any(|judgement| judgement.in_their_place.is_some()) {
        page.paragraph(Style::Dim, "", IN_THEIR_PLACE);
    }
    quoted(page, study);
}

/// The claims of a study by the author's own figures, without any run.
pub fn claims_by_figures(
    study: &Study,
    published: &[Published],
    testable: Testable,
    layout: &PageLayout,
) -> String {
    let mut page = Document::new(layout.width);
    page.title(&format!("{PREFIX}{}: what its author says", study.name));
    for one in by_figures(study, published) {
        claim(&mut page, one.claim, Some(&one));
        unseen(&mut page, one.claim);
    }
    quoted(&mut page, study);
    let text = format!("`bytelab run {PREFIX}{}`: {}.", study.name, promised(study, testable));
    page.paragraph(Style::Plain, "", &text);
    page.text(layout)
}

/// What is said, in the author's words, and what the author's own figures show.
fn claim(page: &mut Document, claim: &Claim, own_figures: Option<&ClaimByFigures<'_>>) {
    let says = format!("{} — {}", claim.says, claim.figures);
    page.hanging(&format!("{:<4}", claim.id), &says);
    if !claim.quote.is_empty() {
        page.hanging("    ", &format!("“{}”", claim.quote));
    }
    let Some(own_figures) = own_figures else { return };
    let (word, style) = figures_word(own_figures.verdict());
    let whose = "by the author's own figures: ";
    page.line(&[(Style::Plain, "    "), (Style::Plain, whose), (style, &word)]);
    for line in machine_lines(own_figures) {
        page.hanging("      ", &line);
    }
}

fn unseen(page: &mut Document, claim: &Claim) {
    page.hanging("    ", &format!("not seen by the test: {}", claim.unseen));
}

fn quoted(page: &mut Document, study: &Study) {
    if study.claims.iter().any(|claim| !claim.quote.is_empty()) {
        page.paragraph(Style::Dim, "", &format!("What is quoted is from {}.", study.address));
    }
}

fn outcome(page: &mut Document, whose: &str, outcome: &ClaimOutcome<'_>) {
    let (verdict, tests, missing) = match outcome {
        ClaimOutcome::NotHere(reason) => {
            let whose = if whose == HERE { "" } else { whose };
            page.hanging("    ", &format!("{whose}not testable here: {reason}"));
            return;
        }
        ClaimOutcome::Judged { verdict, tests, missing } => (*verdict, tests, missing),
    };
    let (word, style) = verdict_word(verdict);
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
