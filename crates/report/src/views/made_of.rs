//! What a decided difference is made of, in a sentence: the parts of the time that differ, and the
//! counts that do.

use std::iter;

use analysis::{CountDifference, MadeOf, TimeDifference, TimePart};
use model::metric::{ALLOCATIONS, SYSCALLS, TRANSFERRED, unit};

use super::rows::Rows;
use super::units::{Unit, amount, count, ns, percent};
use super::words::shortened;

/// So many counts that differ are named, so that the line stays short.
const COUNTS_SHOWN: usize = 3;

/// The mark of the line.
pub(crate) const MARK: &str = "made of: ";

/// What the decided differences of a table's rows to the reference are made of.
pub(crate) fn of_rows<'r>(
    all: &'r [MadeOf],
    rows: &'r Rows<'_>,
) -> impl Iterator<Item = &'r MadeOf> {
    rows.contenders.iter().filter_map(move |row| {
        let is_it = |made: &&MadeOf| {
            let is_own = made.cell == row.index && made.is_decided;
            is_own && Some(made.reference_cell) == rows.family.reference
        };
        all.iter().find(is_it)
    })
}

/// The width of a name.
const NAME_WIDTH: usize = 24;

/// `b takes 24 % more time than a (1.05 ms, 0.9 to 1.2): 1.03 ms more user time (0.88 to 1.18, 98 %
/// of it); system calls, page faults and allocations are the same`. The method is the one that
/// takes more or less, in all parts.
pub(crate) fn sentence(made: &MadeOf) -> String {
    let MadeOf { total, parts, .. } = made;
    let width = (made.percent / total.mean_ns * (total.high_ns - total.low_ns)).abs();
    let [method, reference] = names(made);
    let whole = format!(
        "{method} takes {} % {} {} than {reference} ({}, {})",
        percent(made.percent.abs(), width),
        more_or_less(total.mean_ns),
        word(total.part),
        ns(total.mean_ns.abs()),
        bounds(total)
    );
    let named: Vec<String> = parts.iter().filter(|part| part.is_named).map(named).collect();
    let causes = match named.as_slice() {
        _ if !made.is_clear => ": too uncertain to be split".to_owned(),
        [] if parts.is_empty() => String::new(),
        [] => ": no part of it is shown to differ".to_owned(),
        named => format!(": {}", named.join(", ")),
    };
    let rest = made.unexplained_ns.filter(|_| !named.is_empty());
    let rest = rest.map(|ns| format!("{} in parts that are not shown to differ", more_ns(ns)));
    let short = made.too_short_for_ticks_of_ns.filter(|_| made.is_clear).map(|tick_ns| {
        let tick = ns(tick_ns);
        format!("too short to tell user from system time, which come in ticks of {tick}")
    });
    let counts = made.counts.iter().take(COUNTS_SHOWN).map(differing);
    let others = made.counts.len().saturating_sub(COUNTS_SHOWN);
    let others = (others > 0).then(|| format!("{others} more counts differ"));
    let whole = format!("{whole}{causes}");
    let parts =
        iter::once(whole).chain(rest).chain(short).chain(counts).chain(others).chain(same(made));
    parts.collect::<Vec<String>>().join("; ")
}

/// The names of both sides, shortened unless they would then be the same.
fn names(made: &MadeOf) -> [String; 2] {
    let whole = [&made.method, &made.reference];
    let short = whole.map(|name| shortened(name, NAME_WIDTH));
    if short[0] == short[1] { whole.map(String::clone) } else { short }
}

fn named(part: &TimeDifference) -> String {
    let share = part.percent.map(|percent| format!(", {percent:.0} % of it")).unwrap_or_default();
    format!("{} {} ({}{share})", more_ns(part.mean_ns), word(part.part), bounds(part))
}

fn word(part: TimePart) -> &'static str {
    match part {
        TimePart::Wall => "time",
        TimePart::Cpu => "CPU time",
        TimePart::User => "user time",
        TimePart::System => "system time",
        TimePart::Wait => "waiting for a CPU",
        TimePart::Blocked => "blocked time",
    }
}

/// `3 ms more`, of the method than of its reference.
pub(crate) fn more_ns(value_ns: f64) -> String {
    format!("{} {}", ns(value_ns.abs()), more_or_less(value_ns))
}

fn more_or_less(value_ns: f64) -> &'static str {
    if value_ns < 0.0 { "less" } else { "more" }
}

/// `0.9 to 1.2`, in the unit of the mean and in its direction; around 0 each bound has its own.
fn bounds(difference: &TimeDifference) -> String {
    let TimeDifference { mean_ns, low_ns, high_ns, .. } = *difference;
    let unit = Unit::for_values("ns", [mean_ns]);
    let number = |ns: f64| unit.number(ns.abs());
    if low_ns < 0.0 && high_ns > 0.0 {
        return format!("from {} less to {} more", number(low_ns), number(high_ns));
    }
    let (from, to) = if mean_ns < 0.0 { (high_ns, low_ns) } else { (low_ns, high_ns) };
    format!("{} to {}", number(from), number(to))
}

/// `system calls 2.1 M instead of 400, mostly read`.
fn differing(one: &CountDifference) -> String {
    let of_unit = |value: f64| match unit(one.metric) {
        "count" => count(value),
        unit => amount(unit, value),
    };
    let [value, reference] = [one.value, one.reference_value].map(of_unit);
    let call = one.call.as_ref().map(|call| format!(", mostly {}", call.name)).unwrap_or_default();
    format!("{} {value} instead of {reference}{call}", count_word(one.metric))
}

fn count_word(metric: &str) -> &str {
    match metric {
        SYSCALLS => "system calls",
        TRANSFERRED => "transferred by calls",
        "minor_faults" => "page faults",
        "major_faults" => "page faults that read a device",
        "voluntary_switches" => "voluntary context switches",
        "allocated_bytes" => "allocated",
        "device_read_bytes" => "read from the device",
        "device_write_bytes" => "written to the device",
        other => other,
    }
}

/// `system calls, page faults and allocations are the same`.
fn same(made: &MadeOf) -> Option<String> {
    let same = [SYSCALLS, "minor_faults", ALLOCATIONS].into_iter();
    let same = same.filter(|metric| made.same_counts.contains(metric));
    let same: Vec<&str> = same.map(count_word).collect();
    let (last, others) = same.split_last()?;
    let and = if others.is_empty() { "" } else { " and " };
    Some(format!("{}{and}{last} are the same", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use analysis::CallDifference;

    use super::*;

    fn difference(part: TimePart, [mean, low, high]: [f64; 3]) -> TimeDifference {
        let [mean_ns, low_ns, high_ns] = [mean, low, high].map(|ms| ms * 1e6);
        TimeDifference { part, mean_ns, low_ns, high_ns, is_named: true, percent: None }
    }

    fn made() -> MadeOf {
        let user = difference(TimePart::User, [11.5, 11.0, 12.0]);
        let system = difference(TimePart::System, [0.5, -0.1, 1.1]);
        MadeOf {
            method: "b".to_owned(),
            reference: "a".to_owned(),
            point: model::param::Point::default(),
            cell: 1,
            reference_cell: 0,
            is_decided: true,
            rounds: 10,
            sessions: 10,
            level: 0.9875,
            total: difference(TimePart::Wall, [12.0, 11.2, 12.8]),
            percent: 24.0,
            is_clear: true,
            parts: vec![
                TimeDifference { percent: Some(95.8), ..user },
                TimeDifference { is_named: false, ..system },
            ],
            unexplained_ns: None,
            too_short_for_ticks_of_ns: None,
            counts: Vec::new(),
            same_counts: vec![SYSCALLS, "minor_faults", ALLOCATIONS],
        }
    }

    #[test]
    fn a_clear_difference_is_said_with_its_cause() {
        assert_eq!(
            sentence(&made()),
            "b takes 24.0 % more time than a (12 ms, 11.2 to 12.8): 11.5 ms more user time (11.0 to 12.0, 96 % of \
             it); system calls, page faults and allocations are the same"
        );
    }

    #[test]
    fn less_time_is_called_less_and_counts_say_what_differs() {
        let call = CallDifference { name: "read".to_owned(), value: 4.0, reference_value: 2e6 };
        let counts = vec![
            CountDifference {
                metric: SYSCALLS,
                value: 40.0,
                reference_value: 2e7,
                call: Some(call),
            },
            CountDifference {
                metric: "allocated_bytes",
                value: 3.0 * 1024.0 * 1024.0,
                reference_value: 2048.0,
                call: None,
            },
        ];
        let made = MadeOf {
            total: difference(TimePart::Cpu, [-12.0, -12.8, -11.2]),
            percent: -24.0,
            parts: vec![difference(TimePart::System, [-9.0, -9.5, -8.5])],
            unexplained_ns: Some(-3e6),
            counts,
            same_counts: vec!["minor_faults"],
            ..made()
        };
        assert_eq!(
            sentence(&made),
            "b takes 24.0 % less CPU time than a (12 ms, 11.2 to 12.8): 9 ms less system time (8.50 to 9.50); 3 ms \
             less in parts that are not shown to differ; system calls 40 instead of 20 M, mostly read; allocated 3 MiB instead of 2 \
             KiB; page faults are the same"
        );
    }

    #[test]
    fn long_names_are_shortened_as_long_as_they_differ() {
        let of = |method: &str, reference: &str| {
            let [method, reference] = [method, reference].map(str::to_owned);
            let text = sentence(&MadeOf { method, reference, ..made() });
            text.split_once(" (").unwrap().0.to_owned()
        };
        assert_eq!(
            of("sort --parallel=1 --unique words", "sort words"),
            "sort --paral…nique words takes 24.0 % more time than sort words"
        );
        let dd = |n: &str| format!("dd if=/dev/zero bs={n} count=1 status=none");
        assert_eq!(
            of(&dd("1"), &dd("2")),
            format!("{} takes 24.0 % more time than {}", dd("1"), dd("2"))
        );
    }

    #[test]
    fn few_of_many_counts_are_named() {
        let metrics = [SYSCALLS, "minor_faults", "major_faults", ALLOCATIONS, "allocated_bytes"];
        let of = |metric| CountDifference { metric, value: 2.0, reference_value: 1.0, call: None };
        let text = sentence(&MadeOf { counts: metrics.map(of).to_vec(), ..made() });
        assert!(text.contains("read a device 2 instead of 1; 2 more counts differ; "), "{text}");
    }

    #[test]
    fn what_cannot_be_split_says_so() {
        let none = |part: TimeDifference| TimeDifference { is_named: false, ..part };
        let parts: Vec<TimeDifference> = made().parts.into_iter().map(none).collect();
        let made = MadeOf { same_counts: Vec::new(), parts, ..made() };
        let text = |made: MadeOf| sentence(&made).split_once("): ").unwrap().1.to_owned();
        assert_eq!(text(made.clone()), "no part of it is shown to differ");
        let uncertain = MadeOf { is_clear: false, ..made.clone() };
        assert_eq!(text(uncertain), "too uncertain to be split");
        let around_0 = difference(TimePart::Wall, [-1.0, -2.5, 0.5]);
        let around_0 = MadeOf { is_clear: false, total: around_0, percent: -2.0, ..made.clone() };
        let text_of_all = sentence(&around_0);
        assert!(text_of_all.contains("(1 ms, from 2.50 less to 0.500 more): too"), "{text_of_all}");
        let short = MadeOf { too_short_for_ticks_of_ns: Some(4e6), ..made };
        assert_eq!(
            text(short),
            "no part of it is shown to differ; too short to tell user from system time, which come in ticks \
             of 4 ms"
        );
    }
}
