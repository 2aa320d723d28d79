//! The statistics of the lab: plain numbers in, plain numbers out. Reads no clock, file or
//! environment, and knows neither runs nor methods.

mod change;
mod decision;
mod moments;
mod noise;
mod paired;
mod percentile;
mod plateau;
mod power;
mod random;
mod sessions;
mod sides;
mod signed_rank;
mod trend;
mod walsh;

pub use change::{CHANGE_ALPHA, changes};
pub use decision::{found_percent, holm, rounds_needed};
pub use moments::{Moments, moments};
pub use noise::{Modes, first_samples_slow, half_difference, two_modes};
pub use paired::{Paired, Shift, autocorrelation, hodges_lehmann, paired, pairs_needed};
pub use percentile::{nearest_rank, rank_interval};
pub use plateau::{Plateau, plateaus};
pub use power::{FOUND, shift_found_by_each, shift_found_from_baseline};
pub use sides::{RUNS_A_SIDE, between, between_single, mean_shift, neighbour_sd};
pub use signed_rank::SignedRank;
pub use trend::{Trend, steady_from, trend};
pub use walsh::Walsh;

/// The median; of an even number of values the mean of the middle two. NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The median distance from `center`, a measure of spread that outliers do not move.
fn spread(values: &[f64], center: f64) -> f64 {
    let distances: Vec<f64> = values.iter().map(|x| (x - center).abs()).collect();
    median(&distances)
}
