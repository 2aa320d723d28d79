//! What the machine did while a run was measured: what no sample shows, and what its grades must not hide. A
//! neighbour that takes caches and the bus slows every sample alike.

use lab::run::Run;

/// Shares of the CPU time that the machine had meanwhile. None: not known.
pub(super) struct Meanwhile {
    /// Taken by the hypervisor.
    steal: Option<f64>,
    /// Used by other programs.
    others: Option<f64>,
}

/// From these shares on the grades are not above B, and not above C.
const STEAL: [f64; 2] = [0.01, 0.1];
const OTHERS: [f64; 2] = [0.1, 0.5];

/// The best grade that such a share leaves.
pub(super) fn limit(share: f64, [b, c]: [f64; 2]) -> char {
    match share {
        share if share > c => 'C',
        share if share > b => 'B',
        _ => 'A',
    }
}

impl Meanwhile {
    /// Older runs tell the load at their start only.
    pub(super) fn of(run: &Run) -> Meanwhile {
        let fact = |name: &str| run.environment.facts.get(name).and_then(serde_json::Value::as_f64);
        let loaded = || Some((fact("load_1_min")? / fact("cpu_threads")?).min(1.0));
        let others = fact("busy_share_of_others").or_else(loaded);
        Meanwhile { steal: fact("steal_share"), others }
    }

    /// The best grade that a row can have.
    pub(super) fn limit(&self) -> char {
        let of = |share: Option<f64>, limits| share.map_or('B', |share| limit(share, limits));
        of(self.steal, STEAL).max(of(self.others, OTHERS))
    }

    /// Why the grades are held down, if they are.
    pub(super) fn doubt(&self) -> Option<String> {
        let limit = self.limit();
        if limit == 'A' {
            return None;
        }
        let part = |share: Option<f64>, limits: [f64; 2], what: &str| match share {
            Some(share) if share > limits[0] => {
                Some(format!("{what} {:.0} % of the CPU time meanwhile", 100.0 * share))
            }
            Some(_) => None,
            None => Some(format!("it is not known how much of the CPU time {what} meanwhile")),
        };
        let why = [
            part(self.others, OTHERS, "other programs used"),
            part(self.steal, STEAL, "the hypervisor took"),
        ];
        let why: Vec<String> = why.into_iter().flatten().collect();
        Some(format!(
            "{}: no row is graded better than {limit}; measure again when the machine has nothing else to do",
            why.join(", and ")
        ))
    }
}
