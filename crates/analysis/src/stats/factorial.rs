//! Full factorial experiments of factors that are there or not: the coefficients of their model.

/// The coefficients of the full model of a 2^k design. `values` has one value of each combination,
/// at the index that has a bit for each factor that is there. The coefficient at an index is that
/// of the product of its factors, each of which counts as + 1 where it is there and as − 1
/// elsewhere; that at 0 is the mean. The design is orthogonal, so that each is at once the
/// estimate by least squares in every model that contains it (Yates: The Design and Analysis of
/// Factorial Experiments, 1937; Box, Hunter and Hunter: Statistics for Experimenters, 2005,
/// chapter 5). Computed by Yates' algorithm.
pub(crate) fn coefficients(values: &[f64]) -> Vec<f64> {
    assert!(values.len().is_power_of_two(), "a combination of the factors is missing");
    let mut found = values.to_vec();
    let mut step = 1;
    while step < found.len() {
        for block in found.chunks_mut(2 * step) {
            let (without, with) = block.split_at_mut(step);
            for (a, b) in without.iter_mut().zip(with) {
                (*a, *b) = (*a + *b, *b - *a);
            }
        }
        step *= 2;
    }
    let n = values.len() as f64;
    for sum in &mut found {
        *sum /= n;
    }
    found
}

/// The value of a combination by the model that has the products of at most `order` factors.
pub(crate) fn predicted(coefficients: &[f64], combination: usize, order: u32) -> f64 {
    let terms = coefficients.iter().enumerate().filter(|(term, _)| term.count_ones() <= order);
    let signed = terms.map(|(term, coefficient)| {
        let absent = (term & !combination).count_ones();
        if absent.is_multiple_of(2) { *coefficient } else { -coefficient }
    });
    signed.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of 2^5 combinations: a mean, effects of some factors alone, of two and of three.
    fn made(of_three: f64) -> Vec<f64> {
        let sign = |combination: usize, term: usize| {
            if (term & !combination).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
        };
        let terms = [(0, 3.0), (0b1, 0.5), (0b10, -0.25), (0b10000, 1.5), (0b11, 0.125)];
        let terms = terms.into_iter().chain([(0b10010, -0.75), (0b111, of_three)]);
        let value = |at: usize| terms.clone().map(|(term, x)| x * sign(at, term)).sum::<f64>();
        (0..32).map(value).collect()
    }

    #[test]
    fn the_model_of_a_made_table_is_found() {
        let found = coefficients(&made(0.0));
        for (term, coefficient) in found.iter().enumerate() {
            let expected = match term {
                0 => 3.0,
                0b1 => 0.5,
                0b10 => -0.25,
                0b10000 => 1.5,
                0b11 => 0.125,
                0b10010 => -0.75,
                _ => 0.0,
            };
            assert!((coefficient - expected).abs() < 1e-12, "{term:b}: {coefficient}");
        }
        for (combination, value) in made(0.0).iter().enumerate() {
            assert!((predicted(&found, combination, 2) - value).abs() < 1e-12);
        }
    }

    #[test]
    fn what_three_factors_do_together_is_in_no_model_of_two() {
        let values = made(0.5);
        let found = coefficients(&values);
        for (combination, value) in values.iter().enumerate() {
            assert!((predicted(&found, combination, 2) - value).abs() > 0.49);
            assert!((predicted(&found, combination, 3) - value).abs() < 1e-12);
        }
    }

    /// Box, Hunter and Hunter's example of a pilot plant: temperature, concentration, catalyst.
    #[test]
    fn the_effects_are_those_of_a_textbook() {
        let yields = [60.0, 72.0, 54.0, 68.0, 52.0, 83.0, 45.0, 80.0];
        let effects: Vec<f64> = coefficients(&yields).iter().map(|x| 2.0 * x).collect();
        let expected = [128.5, 23.0, -5.0, 1.5, 1.5, 10.0, 0.0, 0.5];
        for (effect, expected) in effects.iter().zip(expected) {
            assert!((effect - expected).abs() < 1e-12, "{effects:?}");
        }
    }
}
