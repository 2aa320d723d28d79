//! The statistics of the lab: numbers in, numbers out. The module reads no clock, file or
//! environment, and does not depend on runs or methods.

mod change;
mod decision;
mod looks;
mod moments;
mod noise;
mod normal;
mod paired;
mod percentile;
mod plateau;
mod power;
mod random_effects;
mod sessions;
mod sides;
mod signed_rank;
mod trend;
mod walsh;

pub use change::{CHANGE_ALPHA, LEAST_FOR_CHANGE, changes};
pub use decision::{found_percent, holm, mcnemar, sessions_needed};
pub use looks::{LOOKS, Look, last_look, p_of_all_looks};
pub use moments::{Moments, moments};
pub use noise::{Modes, Start, another_session, half_difference, start, two_modes};
pub use paired::{Shift, hodges_lehmann, pseudomedian};
pub use percentile::{Pooled, nearest_rank, percentile_interval, rank_interval};
pub use plateau::{Plateau, plateaus};
pub use power::{FOUND, shift_found_by_each, shift_found_from_baseline};
pub use random_effects::{GROUPS_PREDICTED, GroupEffect, RandomEffects, random_effects};
pub use sessions::{SESSIONS_NEEDED, by_session, of_values};
pub use sides::{RUNS_A_SIDE, between, between_single, mean_shift, neighbour_sd};
pub use signed_rank::SignedRank;
pub use trend::{Trend, steady_from, trend, trend_within};
pub use walsh::Walsh;

/// The median; of an even number of values the mean of the middle two. NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    median_of(&mut values.to_vec())
}

/// The same of values that may be rearranged for it.
fn median_of(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let n = values.len();
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return *middle;
    }
    let next = below.iter().copied().max_by(f64::total_cmp);
    f64::midpoint(next.unwrap_or(*middle), *middle)
}
