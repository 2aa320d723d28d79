//! What else the machine did while a run was measured, in a sentence.

use lab::run::Run;

/// Other programs that used no more than this share of the CPU time are not mentioned.
const BUSY_SHARE: f64 = 0.1;
/// The same of the periods in which the quota of the control group stopped what it holds.
const THROTTLED_SHARE: f64 = 0.05;

/// `other programs used 66 % of the CPU time`; none where the machine was quiet, or is not known.
pub(crate) fn of_run(run: &Run) -> Option<String> {
    let share = |fact: &str, least: f64| {
        let share = run.environment.facts.get(fact).and_then(serde_json::Value::as_f64);
        share.filter(|share| *share > least).map(|share| format!("{:.0} %", 100.0 * share))
    };
    let others = share("busy_share_of_others", BUSY_SHARE)
        .map(|share| format!("other programs used {share} of the CPU time"));
    let quota = share("cgroup_throttled_share", THROTTLED_SHARE).map(|share| {
        format!("the quota of its control group stopped this run in {share} of the quota's periods")
    });
    let said: Vec<String> = quota.into_iter().chain(others).collect();
    (!said.is_empty()).then(|| said.join("; "))
}
