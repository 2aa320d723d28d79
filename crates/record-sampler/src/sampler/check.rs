//! Validates a request.

use super::{Amount, Sampler};
use crate::fetch::Method;
use crate::input::Population;
use crate::{Error, ErrorKind, Result};

impl Sampler {
    pub(super) fn check(&self, population: &Population) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        self.check_amount()?;
        self.check_choices()?;
        if self.groups.is_some() && (self.is_shuffled || self.is_mergeable) {
            return bad("whole groups are written in the order of the files, in one process");
        }
        if self.is_mergeable {
            self.check_mergeable()?;
        }
        self.check_mapping(population)?;
        self.check_probability()?;
        self.check_share(population)?;
        if self.is_systematic && (self.method == Method::Stream || !population.can_be_reread()) {
            return bad("a systematic sample needs the number of records: give a file");
        }
        population.header.check(population.format)?;
        if self.keeps_index && population.format.lines_each().is_none() {
            return bad("only files of lines have an index");
        }
        if self.keeps_index && !population.has_paths() {
            return bad("only files that are not compressed, and named by a path, have an index");
        }
        #[cfg(all(feature = "uring", target_os = "linux"))]
        if self.method == Method::Uring
            && (population.format.is_text() || population.files().is_none())
        {
            return bad("a ring of reads is for records of a fixed size in files");
        }
        if let Method::Probe { min_len } = self.method {
            let is_lines = population.format.is_lines() && population.files().is_some();
            let is_plain = self.choices().iter().all(|is_asked| !is_asked);
            let is_plain = is_plain && population.header.is_none();
            if !(is_lines && is_plain && matches!(self.amount, Amount::Exactly(_)) && min_len > 0) {
                return bad(
                    "probing gives exactly n lines of files without header, and nothing else",
                );
            }
        }
        Ok(())
    }

    /// A share in whole records is known when all are counted.
    fn check_share(&self, population: &Population) -> Result<()> {
        let Some(share) = self.share else { return Ok(()) };
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if !(0.0..=1.0).contains(&share) {
            return bad("a share must be from 0 to 1");
        }
        let is_by_column = self.weight.is_some() || self.key.is_some() || self.groups.is_some();
        if is_by_column || self.is_mergeable {
            return bad("a share of all records is drawn plainly: of strata give a probability");
        }
        if self.method == Method::Stream || !population.can_be_reread() {
            return bad("a share of all records needs their number: give a file");
        }
        Ok(())
    }

    pub(crate) fn check_probability(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if !self.adds_probability {
            return Ok(());
        }
        if self.weight.is_some() || self.with_replacement {
            return bad("records drawn by weight or with replacement have no probability that is \
                        known");
        }
        if matches!(self.method, Method::Probe { .. }) {
            return bad("probing does not count records, and so knows no probability");
        }
        if self.is_shuffled && self.key.is_some() {
            return bad("the probabilities of strata are added in the order of the files");
        }
        Ok(())
    }

    /// Where records are not fetched from anywhere in a file, none can be fetched from a mapping.
    fn check_mapping(&self, population: &Population) -> Result<()> {
        let Sampler { weight, key, groups, .. } = self;
        let is_scanned = weight.is_some() || key.is_some() || groups.is_some();
        let Population { format, .. } = population;
        let is_scanned = is_scanned || format.is_text() && format.lines_each().is_none();
        if self.method == Method::Mmap && (is_scanned || population.files().is_none()) {
            let text = "mapping is for lines and records of a fixed size in files that are not \
                        compressed, without weights and keys";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    fn choices(&self) -> [bool; 6] {
        let Sampler { weight, key, groups, with_replacement, is_inverted, .. } = self;
        let is_by_column = [weight.is_some(), key.is_some(), groups.is_some()];
        let [by_weight, by_key, by_group] = is_by_column;
        [by_weight, by_key, by_group, *with_replacement, *is_inverted, self.is_systematic]
    }

    pub(crate) fn check_choices(&self) -> Result<()> {
        if self.choices().iter().filter(|is_asked| **is_asked).count() > 1 {
            let text = "weights, strata, groups, replacement, inversion and systematic samples \
                        do not go together";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    /// Whether the records can be divided into these shares for this many outputs.
    pub(crate) fn check_split(&self, shares: &[f64], outputs: usize) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if shares.len() != outputs || shares.is_empty() {
            return bad("a split needs a share for each output");
        }
        let is_sound = |share: &f64| share.is_finite() && *share >= 0.0;
        if !shares.iter().all(is_sound) || shares.iter().sum::<f64>() <= 0.0 {
            return bad("the shares of a split must be 0 or more, and not all 0");
        }
        let [by_weight, by_key, by_group, with_replacement, is_inverted, is_systematic] =
            self.choices();
        let is_asked = by_weight || by_group || with_replacement || is_inverted || is_systematic;
        if is_asked || self.is_mergeable || self.adds_probability || by_key && self.is_shuffled {
            return bad(
                "a split takes all records: it goes with strata or a random order, and with no \
                 other choice",
            );
        }
        Ok(())
    }

    pub(crate) fn check_amount(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if let Amount::Share(p) = self.amount {
            if !(0.0..=1.0).contains(&p) {
                return bad("a probability must be from 0 to 1");
            }
            if self.is_systematic {
                return bad("a systematic sample has a number of records, not a probability");
            }
            if self.weight.is_some() || self.with_replacement {
                return bad("a probability goes neither with weights nor with replacement");
            }
        }
        Ok(())
    }
}
