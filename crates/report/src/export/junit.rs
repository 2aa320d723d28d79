//! The result of a check of a suite as JUnit's XML, which systems of CI show: a test case for each
//! benchmark.

use std::fmt::Write;

use analysis::Outcome;

use crate::svg::escaped;
use crate::views::suite::{SuiteLine, SuiteReport, change, evidence, not_above};

/// The whole file.
pub fn junit(report: &SuiteReport) -> String {
    let of = |outcome| report.with(outcome).len();
    let mut cases = String::new();
    for line in &report.benchmarks {
        case(&mut cases, line);
    }
    let mean = report.geometric_mean.filter(|_| report.confirmed_mean.is_some_and(|m| m.is_slower));
    if let Some(mean) = mean {
        let message = escaped(&format!("{} over the suite", change(mean.ratio)));
        let _ = writeln!(
            cases,
            "    <testcase classname=\"bytelab\" name=\"geometric mean\">\n      \
             <failure message=\"{message}\"/>\n    </testcase>"
        );
    }
    let failures = of(Outcome::Slower) + usize::from(mean.is_some());
    let tests = report.benchmarks.len() + usize::from(mean.is_some());
    let seconds: f64 = report.benchmarks.iter().map(|line| line.seconds).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" \
         tests=\"{tests}\" failures=\"{failures}\" errors=\"{}\" skipped=\"{}\" \
         time=\"{seconds:.3}\">\n{cases}  </testsuite>\n</testsuites>\n",
        escaped(&format!("bytelab check against {}", report.old)),
        of(Outcome::Missing),
        of(Outcome::Undecided),
    )
}

fn case(out: &mut String, line: &SuiteLine) {
    let class = if line.program.is_empty() { "bytelab" } else { line.program.as_str() };
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(class),
        escaped(&line.name),
        line.seconds
    );
    let ratio = line.estimate.map_or(String::new(), |estimate| change(estimate.ratio));
    let reason = line.reason.as_deref();
    let (element, message) = match line.outcome {
        Outcome::Slower => ("failure", format!("{ratio} ({})", evidence(line))),
        Outcome::Missing => ("error", reason.unwrap_or("not measured").to_owned()),
        Outcome::Undecided => {
            let high = line.estimate.and_then(|estimate| estimate.high);
            ("skipped", reason.map_or_else(|| not_above(high), str::to_owned))
        }
        Outcome::Ok | Outcome::Faster | Outcome::Reference => {
            out.push_str("/>\n");
            return;
        }
    };
    let _ =
        writeln!(out, ">\n      <{element} message=\"{}\"/>\n    </testcase>", escaped(&message));
}
