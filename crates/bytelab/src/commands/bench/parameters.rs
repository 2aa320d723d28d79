//! `--parameter-list` and `--parameter-scan`: their values, and texts in which they are put.

use anyhow::{Context, Result, ensure};

/// More combinations of values than these are a mistake.
const LIMIT: usize = 10_000;

/// A parameter and its values in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    values: Vec<String>,
}

/// A value for each parameter.
pub(super) type ParameterValues<'a> = Vec<(&'a str, &'a str)>;

impl Parameter {
    /// From the two values of `--parameter-list`. A comma in a value is written `\,`.
    pub(super) fn list(name: &str, text: &str) -> Parameter {
        let (mut values, mut value) = (Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.next_if_eq(&',').is_some() => value.push(','),
                ',' => values.push(std::mem::take(&mut value)),
                c => value.push(c),
            }
        }
        values.push(value);
        Parameter { name: name.to_owned(), values }
    }

    /// From the three values of `--parameter-scan`, and the step.
    pub(super) fn scan(name: &str, min: &str, max: &str, step: Option<&str>) -> Result<Parameter> {
        let numbers = [min, max, step.unwrap_or("1")].map(Decimal::parse);
        let [min, max, step] = numbers;
        let (min, max, step) = (min?, max?, step?);
        let places = min.places.max(step.places);
        let all = places.max(max.places);
        let [first, last, step] =
            [min, max, step].map(|number| number.scaled(all).context("too many digits"));
        let (first, last, step) = (first?, last?, step?);
        ensure!(step > 0, "--parameter-step-size: a number above 0 is needed");
        ensure!(first <= last, "--parameter-scan {name}: {} is above {}", min.text(), max.text());
        let n = (last - first) / step + 1;
        ensure!(n <= LIMIT as i128, "--parameter-scan {name}: {n} values, at most {LIMIT}");
        let drop = 10i128.pow(all - places);
        let value = |i| Decimal { digits: (first + i * step) / drop, places }.text();
        // The first value has its own digits, the sums have those of the step.
        let values = [min.text()].into_iter().chain((1..n).map(value)).collect();
        Ok(Parameter { name: name.to_owned(), values })
    }
}

/// All combinations of values; the last parameter varies first.
pub(super) fn combinations(parameters: &[Parameter]) -> Result<Vec<ParameterValues<'_>>> {
    for (i, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        ensure!(!name.is_empty(), "a parameter needs a name");
        ensure!(
            parameters[..i].iter().all(|other| other.name != *name),
            "the parameter {name} is given twice"
        );
    }
    let n = parameters.iter().try_fold(1usize, |n, one| n.checked_mul(one.values.len()));
    let n = n.unwrap_or(usize::MAX);
    ensure!(n <= LIMIT, "{n} combinations of values are too many: at most {LIMIT}");
    let mut all = vec![Vec::new()];
    for Parameter { name, values } in parameters {
        all = all
            .into_iter()
            .flat_map(|known: ParameterValues<'_>| {
                values.iter().map(move |value| {
                    let mut one = known.clone();
                    one.push((name.as_str(), value.as_str()));
                    one
                })
            })
            .collect();
    }
    Ok(all)
}

/// The text with the value of each parameter in place of its name in braces. What is put in is not
/// looked at again.
pub(super) fn substitute(text: &str, values: &ParameterValues<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let found = values.iter().find_map(|(name, value)| {
            let tail = from[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, tail))
        });
        if let Some((value, tail)) = found {
            out.push_str(value);
            rest = tail;
        } else {
            out.push('{');
            rest = &from[1..];
        }
    }
    out + rest
}

/// Whether the text has the name in braces.
pub(super) fn has(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}"))
}

/// A number with a fixed number of decimal places.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    places: u32,
}

impl Decimal {
    fn parse(text: &str) -> Result<Decimal> {
        let wrong = || format!("--parameter-scan: {text:?} is not a number");
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        ensure!(part.bytes().all(|byte| byte.is_ascii_digit()), "{}", wrong());
        ensure!(whole.len() + part.len() <= 20, "--parameter-scan: {text:?} has too many digits");
        let digits = format!("{whole}{part}").parse().ok().with_context(wrong)?;
        Ok(Decimal { digits, places: part.len() as u32 })
    }

    fn scaled(self, places: u32) -> Option<i128> {
        self.digits.checked_mul(10i128.checked_pow(places.checked_sub(self.places)?)?)
    }

    fn text(self) -> String {
        let Decimal { digits, places } = self;
        let sign = if digits < 0 { "-" } else { "" };
        let unit = 10u128.pow(places);
        let digits = digits.unsigned_abs();
        if places == 0 {
            return format!("{sign}{digits}");
        }
        let (whole, part) = (digits / unit, digits % unit);
        format!("{sign}{whole}.{part:0width$}", width = places as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(min: &str, max: &str, step: Option<&str>) -> String {
        match Parameter::scan("n", min, max, step) {
            Ok(parameter) => parameter.values.join(" "),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn a_scan_is_exact_in_decimals() {
        assert_eq!(scan("1", "4", None), "1 2 3 4");
        assert_eq!(scan("1", "4", Some("2")), "1 3");
        assert_eq!(scan("-1", "1", None), "-1 0 1");
        assert_eq!(scan("0.1", "0.4", Some("0.1")), "0.1 0.2 0.3 0.4");
        assert_eq!(scan("0", "1", Some("0.25")), "0 0.25 0.50 0.75 1.00");
        assert_eq!(scan("-0.5", "0.5", Some("0.5")), "-0.5 0.0 0.5");
        assert_eq!(scan("1", "2.5", None), "1 2");
        assert_eq!(scan("3", "3", None), "3");
    }

    #[test]
    fn a_scan_that_is_none_is_refused() {
        assert_eq!(scan("2", "1", None), "--parameter-scan n: 2 is above 1");
        assert_eq!(scan("1", "2", Some("0")), "--parameter-step-size: a number above 0 is needed");
        assert_eq!(scan("a", "2", None), "--parameter-scan: \"a\" is not a number");
        assert_eq!(scan("1.x", "2", None), "--parameter-scan: \"1.x\" is not a number");
        assert_eq!(scan("", "2", None), "--parameter-scan: \"\" is not a number");
        let many = "--parameter-scan n: 100001 values, at most 10000";
        assert_eq!(scan("0", "100000", None), many);
        let long = "1".repeat(30);
        assert!(scan(&long, "2", None).ends_with("has too many digits"));
    }

    #[test]
    fn a_comma_in_a_value_is_escaped() {
        let values = |text: &str| Parameter::list("n", text).values;
        assert_eq!(values("a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(values(r"a\,b,c\d"), ["a,b", r"c\d"]);
        assert_eq!(values(""), [""]);
    }

    #[test]
    fn the_values_are_combined_and_put_in_once() {
        let parameters = [Parameter::list("a", "1,2"), Parameter::list("b", "{a},x")];
        let all = combinations(&parameters).unwrap();
        let texts: Vec<String> =
            all.iter().map(|values| substitute("{a}{b}{c}{", values)).collect();
        assert_eq!(texts, ["1{a}{c}{", "1x{c}{", "2{a}{c}{", "2x{c}{"]);
        let twice = [Parameter::list("a", "1"), Parameter::list("a", "2")];
        assert!(combinations(&twice).unwrap_err().to_string().contains("a is given twice"));
        let many = vec![Parameter::list("", "1,2")];
        assert!(combinations(&many).is_err());
        let name = |i: usize| format!("p{i}");
        let many: Vec<Parameter> = (0..80).map(|i| Parameter::list(&name(i), "1,2")).collect();
        assert!(combinations(&many).unwrap_err().to_string().contains("at most 10000"));
    }

    proptest! {
        #[test]
        fn nothing_panics(min in "[0-9.+-]{0,24}", max in "[0-9.-]{0,24}", step in "[0-9.]{0,24}") {
            let _ = scan(&min, &max, Some(&step));
        }
    }
}
