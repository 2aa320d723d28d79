//! An axis: the values that it spans, their positions, its ticks and their labels.

use crate::report::model::units::{Unit, amount};

pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// In pixels.
    from: f64,
    to: f64,
}

impl Axis {
    /// Spans the values with a margin; a logarithmic axis omits values without a logarithm.
    pub(super) fn new(values: &[f64], log: bool, [from, to]: [f64; 2]) -> Axis {
        let fit = |value: &f64| value.is_finite() && (!log || *value > 0.0);
        let fit = || values.iter().copied().filter(fit);
        let (low, high) =
            (fit().fold(f64::INFINITY, f64::min), fit().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = match (low.is_finite(), log) {
            (false, _) => (1.0, 2.0),
            (true, true) => {
                let room = (high / low).powf(0.04).clamp(1.01, 1e9);
                ((low / room).max(1e-300), (high * room).min(1e300))
            }
            (true, false) => {
                let room = ((high - low) * 0.04).max(high.abs() * 1e-3).max(1e-9);
                ((low - room).max(-1e300), (high + room).min(1e300))
            }
        };
        Axis { low, high, log, from, to }
    }

    /// The same, logarithmic where the greatest value is many times the least.
    pub(super) fn by_range(values: &[f64], pixels: [f64; 2]) -> Axis {
        const LOG_FROM: f64 = 8.0;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        Axis::new(values, least > 0.0 && most / least > LOG_FROM, pixels)
    }

    /// Spans exactly these values.
    pub(super) fn exact(low: f64, high: f64, [from, to]: [f64; 2]) -> Axis {
        Axis { low, high, log: false, from, to }
    }

    /// The position of a value in pixels; a value beyond the axis is drawn at the nearer end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        self.from + (self.to - self.from) * if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) }
    }

    pub(super) fn is_log(&self) -> bool {
        self.log
    }

    /// Four to ten values that are easy to read.
    pub(super) fn ticks(&self, binary: bool) -> Vec<f64> {
        let inside = |value: &f64| (self.low..=self.high).contains(value);
        if self.log {
            let ticks = |steps: &[f64]| -> Vec<f64> {
                log_steps(self.low, self.high, binary, steps).into_iter().filter(inside).collect()
            };
            let all =
                [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]];
            let binary_all = [&[1.0, 32.0][..], &[1.0, 4.0, 16.0, 64.0, 256.0], &DOUBLES];
            let mut choices = if binary { binary_all.to_vec() } else { all.to_vec() }.into_iter();
            let found =
                choices.find_map(|steps| Some(ticks(steps)).filter(|found| found.len() >= 4));
            if let Some(found) = found {
                return thinned(found, 10);
            }
        }
        let step = linear_step((self.high - self.low) / 6.0, binary);
        let first = (self.low / step).ceil();
        (0..12).map(|i| (first + f64::from(i)) * step).filter(inside).collect()
    }

    /// The tick labels of a metric, and the unit in its title.
    pub(super) fn labels(&self, stored: &'static str, ticks: &[f64]) -> (Vec<String>, String) {
        if self.log {
            let words = ticks.iter().map(|tick| amount(stored, *tick)).collect();
            return (words, "logarithmic".to_owned());
        }
        let unit = Unit::of(stored, ticks.iter().copied());
        let decimals = |tick: f64| format!("{:.4}", tick / unit.size());
        let words = ticks.iter().map(|tick| {
            let text = decimals(*tick);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        });
        (words.collect(), unit.name.to_owned())
    }
}

const DOUBLES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A step of this size or more: 1, 2 or 5 times a power of ten, or a power of two.
fn linear_step(least: f64, binary: bool) -> f64 {
    if binary {
        return least.log2().ceil().exp2();
    }
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|m| *m >= least);
    step.unwrap_or(power * 10.0)
}

fn log_steps(low: f64, high: f64, binary: bool, steps: &[f64]) -> Vec<f64> {
    let base: f64 = if binary { 1024.0 } else { 10.0 };
    let power = |value: f64| value.log(base).floor() as i32;
    let powers = power(low)..=power(high);
    powers.flat_map(|power| steps.iter().map(move |step| step * base.powi(power))).collect()
}

pub(super) fn thinned<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let every = all.len().div_ceil(most).max(1);
    all.into_iter().enumerate().filter(|(i, _)| i % every == 0).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_easy_to_read() {
        let ticks =
            |values: &[f64], log, binary| Axis::new(values, log, [0.0, 100.0]).ticks(binary);
        assert_eq!(ticks(&[1.0, 1e5], true, false), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(ticks(&[2.0, 30.0], true, false), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(
            ticks(&[4096.0, 65536.0], true, true),
            [4096.0, 8192.0, 16384.0, 32768.0, 65536.0]
        );
        assert_eq!(ticks(&[0.0, 10.0], false, false), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(&[0.0, 1300.0], false, true), [0.0, 256.0, 512.0, 768.0, 1024.0, 1280.0]);
    }

    #[test]
    fn no_value_leaves_the_axis() {
        for log in [false, true] {
            for values in [&[][..], &[0.0], &[5.0, 5.0], &[f64::NAN, 1.0], &[-1.0, 1e300]] {
                let axis = Axis::new(values, log, [0.0, 100.0]);
                for value in [0.0, 5.0, -7.0, f64::NAN, f64::INFINITY] {
                    assert!((0.0..=100.0).contains(&axis.place(value)), "{log} {values:?} {value}");
                }
                assert!(axis.ticks(false).len() < 20);
            }
        }
    }

    #[test]
    fn labels_name_the_unit_once_or_each() {
        let axis = Axis::new(&[1e3, 1e6], true, [0.0, 1.0]);
        let words = ["1 µs", "10 µs", "1 ms"].map(str::to_owned).to_vec();
        assert_eq!(axis.labels("ns", &[1e3, 1e4, 1e6]), (words, "logarithmic".to_owned()));
        let axis = Axis::new(&[1e6, 3e6], false, [0.0, 1.0]);
        assert_eq!(
            axis.labels("ns", &[1e6, 1.5e6]),
            (vec!["1".to_owned(), "1.5".to_owned()], "ms".to_owned())
        );
    }
}
