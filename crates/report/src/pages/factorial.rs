//! What the factors of a full factorial experiment do: a table of their effects, and how well the
//! model of these explains the slowest method.

use analysis::{FactorEffect, Factorial};

use crate::document::Document;
use crate::views::table::{Style, Table, TableCell, TableColumn};
use crate::views::units::{percent, ratio};

pub(super) fn compose(page: &mut Document, found: &Factorial) {
    page.gap();
    if found.effects.is_empty() {
        return page.paragraph(Style::Plain, "effects: ", &no_effects(found));
    }
    page.paragraph(Style::Plain, "effects: ", &sentence(found));
    page.table(table(&found.effects));
}

fn no_effects(found: &Factorial) -> String {
    let Some(first) = found.missing.first() else {
        return format!(
            "too few sessions have all methods ({}); --sessions takes more",
            found.sessions
        );
    };
    let n = found.missing.len();
    format!(
        "none, as the figures of {first} (in all {n} of the methods) cannot be compared; repeat the \
         run on a quieter machine"
    )
}

/// `handed-O0 takes 160 times the time of await; …`.
fn sentence(found: &Factorial) -> String {
    let Factorial { slowest, fastest, sessions, modelled, .. } = found;
    let off = |times: f64| {
        let off = 100.0 * (times - 1.0);
        percent(off, off)
    };
    let [alone, in_pairs, in_threes] = modelled.map(|modelled| {
        let off = off((modelled / found.ratio).ln().abs().exp());
        format!("{} ({off} % off)", ratio(modelled, DECIMALS))
    });
    format!(
        "{slowest} takes {} times the time of {fastest}, in {sessions} sessions of all methods. By the \
         factors alone that would be {alone}, with what each two do together {in_pairs}, and with what \
         each three do together {in_threes}. With each two, the time of no method is more than {} % off.",
        ratio(found.ratio, DECIMALS),
        off(found.furthest)
    )
}

const DECIMALS: usize = 2;

fn table(effects: &[FactorEffect]) -> Table {
    let name = |effect: &FactorEffect| effect.factors.join(" × ");
    let times =
        |effect: &FactorEffect| TableCell::number(ratio(effect.times, DECIMALS), effect.times);
    let bounds = |effect: &FactorEffect| {
        format!("{}–{}", ratio(effect.low, DECIMALS), ratio(effect.high, DECIMALS))
    };
    Table::of_columns(vec![
        TableColumn { gap: 0, ..TableColumn::left("effect") }.with_cells(effects.iter(), name),
        TableColumn::right("× the time").with_cells(effects.iter(), times),
        TableColumn::left("95 % of all").with_cells(effects.iter(), bounds),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::PageLayout;

    #[test]
    fn effects_are_a_table_below_what_the_model_explains() {
        let effect = |factors: &[&'static str], times: f64| FactorEffect {
            factors: factors.to_vec(),
            times,
            low: times / 1.1,
            high: times * 1.1,
        };
        let found = Factorial {
            point: model::param::Point::default(),
            metric: "wall_ns",
            sessions: 6,
            level: 0.997,
            effects: vec![effect(&["dyn"], 2.0), effect(&["dyn", "O0"], 0.5)],
            missing: Vec::new(),
            fastest: "await".to_owned(),
            slowest: "handed-O0".to_owned(),
            ratio: 160.0,
            modelled: [80.0, 144.0, 158.4],
            furthest: 1.25,
        };
        let mut page = Document::new(200);
        compose(&mut page, &found);
        let shown = page.text(&PageLayout { width: 200, colour: false });
        let words: Vec<&str> = shown.split_whitespace().collect();
        let text = words.join(" ");
        assert!(
            text.starts_with(
                "effects: handed-O0 takes 160 times the time of await, in 6 sessions of all methods. By the \
                 factors alone that would be 80.0 (100 % off), with what each two do together 144 (11 % off), \
                 and with what each three do together 158 (1.0 % off). With each two, the time of no method \
                 is more than 25 % off. effect"
            ),
            "{shown}"
        );
        for row in ["dyn 2.00 1.82–2.20", "dyn × O0 0.50 0.45–0.55"] {
            assert!(text.contains(row), "{row}: {shown}");
        }
    }

    #[test]
    fn what_keeps_the_effects_back_is_said() {
        let missing = Factorial { missing: vec!["dyn-O0".to_owned()], ..Factorial::default() };
        assert!(no_effects(&missing).starts_with("none, as the figures of dyn-O0 (in all 1 of"));
        let few = Factorial { sessions: 4, ..Factorial::default() };
        assert!(no_effects(&few).starts_with("too few sessions have all methods (4)"));
    }
}
