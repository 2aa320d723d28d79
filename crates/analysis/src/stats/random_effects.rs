//! The combined effect of several groups, such as machines: the random-effects model, in
//! which each group has a true effect of its own.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

use super::moments;

/// Fewer groups give no prediction interval: it would be useless.
pub const GROUPS_PREDICTED: usize = 4;

/// The effect of one group, and the variance of this estimate with its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupEffect {
    pub estimate: f64,
    pub variance: f64,
    pub degrees: f64,
}

/// The effects of all groups together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RandomEffects {
    pub groups: usize,
    /// The mean of the true effects.
    pub estimate: f64,
    /// The interval of the mean.
    pub interval: (f64, f64),
    /// Where the effect lies that a further group shows if it is measured as precisely as these.
    pub prediction: Option<(f64, f64)>,
    /// The standard deviation of the true effects.
    pub tau: f64,
    /// The share of the variance between the estimates that their errors do not explain (Higgins
    /// and Thompson 2002).
    pub i_squared: f64,
    /// The p of the test that all groups have the same effect: the variance between the estimates
    /// against that of an estimate (Fisher).
    pub(crate) heterogeneity_p: f64,
}

/// The interval is that of Hartung and Knapp (2001) with equal weights, the variance of the true
/// effects that of Hedges and Olkin (1985), which needs no weights, and the prediction interval
/// that of Higgins, Thompson and Spiegelhalter (2009) for what a further group shows, with k − 1
/// degrees of freedom. With weights, each the inverse of a variance that a handful of runs gave,
/// the interval of 20 groups covers 90 % in place of 95 %. None for fewer than two groups, and for
/// a value that is not finite.
pub(crate) fn random_effects(effects: &[GroupEffect], alpha: f64) -> Option<RandomEffects> {
    let k = effects.len();
    let estimates: Vec<f64> = effects.iter().map(|effect| effect.estimate).collect();
    let all = moments(&estimates)?;
    let between = all.standard_deviation?.powi(2);
    let error = effects.iter().map(|effect| effect.variance).sum::<f64>() / k as f64;
    if !between.is_finite() || !error.is_finite() {
        return None;
    }
    let groups = k as f64;
    let t = -StudentsT::new(0.0, 1.0, groups - 1.0).ok()?.inverse_cdf(alpha / 2.0);
    let around = |variance: f64| {
        let half_width = t * variance.sqrt();
        (all.mean - half_width, all.mean + half_width)
    };
    let degrees = effects.iter().map(|effect| effect.degrees).sum();
    let null = FisherSnedecor::new(groups - 1.0, degrees).ok();
    Some(RandomEffects {
        groups: k,
        estimate: all.mean,
        interval: around(between / groups),
        prediction: (k >= GROUPS_PREDICTED).then(|| around(between + between / groups)),
        tau: (between - error).max(0.0).sqrt(),
        i_squared: if between > error { 1.0 - error / between } else { 0.0 },
        heterogeneity_p: match between / error {
            f if f.is_finite() => null.map_or(1.0, |null| null.sf(f)),
            // Values that are all equal have no errors.
            _ if between > 0.0 => 0.0,
            _ => 1.0,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::SplitMix64;

    fn effects(values: &[f64], variance: f64) -> Vec<GroupEffect> {
        let effect = |estimate: &f64| GroupEffect { estimate: *estimate, variance, degrees: 4.0 };
        values.iter().map(effect).collect()
    }

    #[test]
    fn the_interval_is_students_and_the_prediction_that_of_a_further_value() {
        let found = random_effects(&effects(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5), 0.05).unwrap();
        // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
        assert!((found.interval.0 - 1.036_756_838_522_439).abs() < 1e-6, "{found:?}");
        // t(0.975, 4) = 2.776445, times the root of 2.5 · (1 + 1/5)
        let half_width = 2.776_445_105 * 3f64.sqrt();
        assert!((found.prediction.unwrap().1 - 3.0 - half_width).abs() < 1e-6, "{found:?}");
        assert!((found.tau - 2f64.sqrt()).abs() < 1e-12 && (found.i_squared - 0.8).abs() < 1e-12);
        // scipy.stats.f.sf(5, 4, 20)
        assert!((found.heterogeneity_p - 0.005_864_6).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn few_groups_predict_nothing_and_equal_ones_have_no_width() {
        assert_eq!(random_effects(&effects(&[1.0], 0.1), 0.05), None);
        assert_eq!(random_effects(&effects(&[1.0, f64::NAN], 0.1), 0.05), None);
        let three = random_effects(&effects(&[1.0, 2.0, 3.0], 0.1), 0.05).unwrap();
        assert_eq!(three.prediction, None);
        let equal = random_effects(&effects(&[0.5; 6], 0.0), 0.05).unwrap();
        assert_eq!((equal.interval, equal.prediction), ((0.5, 0.5), Some((0.5, 0.5))));
        assert_eq!((equal.tau, equal.i_squared, equal.heterogeneity_p), (0.0, 0.0, 1.0));
    }

    /// Groups whose errors differ by up to a factor of 3, and whose variances are estimated from
    /// five runs each.
    struct Fleet {
        random: SplitMix64,
        tau: f64,
    }

    impl Fleet {
        fn group(&mut self) -> GroupEffect {
            let random = &mut self.random;
            let error = 0.01 * (1.0 + 2.0 * random.unit());
            let estimate = 0.3 + self.tau * random.normal() + error * random.normal();
            let chi_squared: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
            GroupEffect { estimate, variance: error * error * chi_squared / 4.0, degrees: 4.0 }
        }
    }

    /// In percent: how often the interval contains the mean, the prediction interval a further
    /// group, and how often the groups are found to differ.
    fn coverage(k: u64, tau: f64, repeats: u32) -> [f64; 3] {
        let mut fleet = Fleet { random: SplitMix64(20 + k), tau };
        let mut counts = [0; 3];
        for _ in 0..repeats {
            let groups: Vec<GroupEffect> = (0..k).map(|_| fleet.group()).collect();
            let found = random_effects(&groups, 0.05).unwrap();
            let next = fleet.group().estimate;
            let contains = |(low, high): (f64, f64), value| low <= value && value <= high;
            counts[0] += u32::from(contains(found.interval, 0.3));
            counts[1] += u32::from(contains(found.prediction.unwrap(), next));
            counts[2] += u32::from(found.heterogeneity_p <= 0.05);
        }
        counts.map(|count| 100.0 * f64::from(count) / f64::from(repeats))
    }

    #[test]
    fn intervals_of_4_8_and_20_groups_cover_what_they_promise() {
        for k in [4, 8, 20] {
            for tau in [0.0, 0.02, 0.1, 0.5] {
                let [mean, further, differ] = coverage(k, tau, 4000);
                println!(
                    "{k} groups, tau {tau}: {mean:.1} %, prediction {further:.1} %, differ {differ:.1} %"
                );
                for covered in [mean, further] {
                    assert!((93.0..=97.0).contains(&covered), "{k} groups, tau {tau}: {covered} %");
                }
                assert!(tau > 0.0 || differ < 8.0, "{k} groups: {differ} %");
            }
        }
    }

    #[test]
    fn groups_without_errors_are_the_same_only_where_they_are_equal() {
        let p =
            |values: &[f64]| random_effects(&effects(values, 0.0), 0.05).unwrap().heterogeneity_p;
        assert_eq!((p(&[1.0, 2.0, 3.0]), p(&[2.0, 2.0, 2.0])), (0.0, 1.0));
    }
}
