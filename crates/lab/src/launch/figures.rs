//! The figures that a command prints.

use regex_lite::Regex;

use super::RunError;
use crate::experiment::PrintedMetric;

/// The values of the metrics in this text.
pub(super) fn figures(
    printed: &[(PrintedMetric, Regex)],
    text: &str,
    must_print: bool,
) -> Result<Vec<(String, f64)>, RunError> {
    let mut found = Vec::new();
    for (metric, regex) in printed {
        let captured = regex.captures(text).and_then(|groups| groups.get(1).or(groups.get(0)));
        let value = captured.and_then(|value| value.as_str().trim().parse::<f64>().ok());
        match value.filter(|value| value.is_finite()) {
            Some(value) => found.push((metric.name.clone(), value)),
            None if !must_print => {}
            None => {
                let (name, pattern) = (&metric.name, metric.pattern());
                let what = captured.map_or(
                    "nothing in its output matches",
                    |_| "what its output has is no number by",
                );
                return Err(RunError::Failed(format!("metric {name}: {what} {pattern}")));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_first_group_where_its_pattern_matches_first() {
        let check = |pattern: &str, text: &str, expected: Result<f64, &str>| {
            let metric = PrintedMetric::new("rps", pattern).unwrap();
            let regex = metric.regex().unwrap();
            let found = figures(&[(metric, regex)], text, true);
            match (found, expected) {
                (Ok(found), Ok(value)) => assert_eq!(found, [("rps".to_owned(), value)], "{text}"),
                (Err(RunError::Failed(why)), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        check(r"(\d+) requests/s", "7 errors\n1200 requests/s\n9 requests/s", Ok(1200.0));
        check(r"took ([0-9.e+-]+)", "took 1.5e3 ms", Ok(1500.0));
        check(r"\d+", "no 12", Ok(12.0));
        check(r"rate: (.*)", "rate: -0.5", Ok(-0.5));
        check(r"(\d+) requests/s", "", Err("metric rps: nothing in its output matches (\\d+)"));
        check(r"rate: (.*)", "rate: fast", Err("is no number by rate: (.*)"));
        check(r"rate: (.*)", "rate: inf", Err("is no number"));
        let metric = PrintedMetric::new("rps", "x").unwrap();
        let regex = metric.regex().unwrap();
        assert_eq!(figures(&[(metric, regex)], "", false).unwrap(), []);
    }

    #[test]
    fn a_metric_has_a_name_of_its_own_and_a_pattern() {
        for (name, pattern, part) in [
            ("", "x", "a name is made of"),
            ("Rps", "x", "a name is made of"),
            ("wall_ns", "x", "it means something else"),
            ("exit_code", "x", "it means something else"),
            ("rps", "(", "metric rps: \"(\": "),
        ] {
            let refused = PrintedMetric::new(name, pattern).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
