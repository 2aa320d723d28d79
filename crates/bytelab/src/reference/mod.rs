//! Published results of others, as data files with their source. Independent of this machine.

mod results;
mod study;

pub(crate) use self::results::{Figure, PREFIX, Published, all, find};
pub(crate) use self::study::{
    Claim, Drawing, DrawingKind, Part, Relation, Row, Study, Test, studies, study,
};

const LATENCY: &str = include_str!("latency.csv");
const THREADS: &str = include_str!("threads.csv");
const OTHER: &str = include_str!("iphone-other.csv");

/// The machines, in the order of the columns: the name in the files, and the short name.
pub(crate) const MACHINES: [(&str, &str); 4] = [
    ("Latency numbers (2012)", "2012"),
    ("iPhone 5s", "iphone-5s"),
    ("iPhone 6s Plus", "iphone-6s-plus"),
    ("iPhone X", "iphone-x"),
];

/// The published values in ns, by the machine's short name. A figure is named `latency.l1_ns` or
/// `threads.join_ns`, after its file and column, or `other.` and the operation, after its line.
/// `only` names the machines on which it has the same meaning as the row; empty for all.
pub(crate) fn published(figure: &str, only: &[&str]) -> Vec<(&'static str, f64)> {
    let (file, what) = figure.split_once('.').unwrap_or_default();
    let value = |machine: &str| match file {
        "latency" => column(LATENCY, machine, what),
        "threads" => column(THREADS, machine, what),
        _ => line(machine, what),
    };
    let wanted = |short: &&str| only.is_empty() || only.contains(short);
    let all = MACHINES.into_iter().filter(|(_, short)| wanted(short));
    all.filter_map(|(machine, short)| Some((short, value(machine)?))).collect()
}

fn column(csv: &str, machine: &str, name: &str) -> Option<f64> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let at = lines.next()?.position(|head| head == name)?;
    let mut of_machine = lines.find(|line| line.clone().next() == Some(machine))?;
    of_machine.nth(at)?.parse().ok()
}

fn line(machine: &str, what: &str) -> Option<f64> {
    let of_machine = OTHER.lines().filter_map(|line| line.strip_prefix(machine)?.strip_prefix(','));
    of_machine.filter_map(|rest| rest.strip_prefix(what)?.strip_prefix(',')).find_map(|rest| {
        // The figure is followed by its unit; some figures are for one element.
        rest.split(',').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name_and_machine() {
        let l1 = [("2012", 1.0), ("iphone-5s", 7.0), ("iphone-6s-plus", 5.0), ("iphone-x", 2.0)];
        assert_eq!(published("latency.l1_ns", &[]), l1);
        assert_eq!(published("latency.semaphore_ns", &["2012"]), [("2012", 25.0)]);
        let join = [("iphone-5s", 30_000.0), ("iphone-6s-plus", 7000.0)];
        assert_eq!(published("threads.join_ns", &[]), join);
        let open = published("other.open and close a file (any size)", &[]);
        assert_eq!(open, [("iphone-5s", 50_000.0)]);
        assert_eq!(published("", &[]), []);
        assert_eq!(published("latency.l9_ns", &[]), []);
    }
}
