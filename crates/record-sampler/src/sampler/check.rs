//! Whether what is asked can be.

use super::{Amount, Sampler};
use crate::fetch::Method;
use crate::input::Population;
use crate::{Error, ErrorKind, Result};

impl Sampler {
    pub(super) fn check(&self, population: &Population) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        let Sampler { amount, weight, key, .. } = self;
        self.check_amount()?;
        if population.header && !population.format.is_text() {
            return bad("records of fixed size have no header");
        }
        let choices = [weight.is_some(), key.is_some(), self.with_replacement, self.is_inverted];
        if choices.iter().filter(|is_asked| **is_asked).count() > 1 {
            return bad("weights, strata, replacement and inversion do not go together");
        }
        if self.keeps_index && !population.format.is_lines() {
            return bad("only lines and JSON Lines have an index");
        }
        if let Method::Probe { min_len } = self.method {
            let is_lines = population.format.is_lines() && population.files().is_some();
            let is_plain = choices.iter().all(|is_asked| !is_asked) && !population.header;
            if !(is_lines && is_plain && matches!(amount, Amount::Exactly(_)) && min_len > 0) {
                return bad(
                    "probing gives exactly n lines of files without header, and nothing else",
                );
            }
        }
        Ok(())
    }

    pub(crate) fn check_amount(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if let Amount::Share(p) = self.amount {
            if !(0.0..=1.0).contains(&p) {
                return bad("a probability must be from 0 to 1");
            }
            if self.weight.is_some() || self.with_replacement {
                return bad("a probability goes neither with weights nor with replacement");
            }
        }
        Ok(())
    }
}
