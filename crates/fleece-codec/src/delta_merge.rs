//! Iteration over a dict that has a parent: all generations merged in key order, the youngest wins.

use crate::dict::{Dict, DictIter, DictKey};
use crate::key::compare_keys;
use crate::value::{Kind, Value};
use alloc::vec::Vec;
use core::cmp::Ordering;

#[derive(Clone)]
pub(crate) struct Merge<'a> {
    /// Youngest first; each with its next pair.
    generations: Vec<Generation<'a>>,
    /// The pair that `advance` has found.
    pair: Option<(DictKey<'a>, Value<'a>)>,
}

#[derive(Clone)]
struct Generation<'a> {
    next: Option<(DictKey<'a>, Value<'a>)>,
    rest: DictIter<'a>,
    has_parent: bool,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(dict: Dict<'a>) -> Self {
        let generations = dict.generations().map(|dict| {
            let mut rest = DictIter::stored(dict.slots);
            let has_parent = dict.has_parent();
            if has_parent {
                rest.next();
            }
            Generation { next: rest.next(), rest, has_parent }
        });
        Self { generations: generations.collect(), pair: None }
    }

    /// The next pair. It is returned out of a field, by a function that is inlined: a result that
    /// is returned in memory would keep all pairs of plain dicts in memory, too.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(DictKey<'a>, Value<'a>)> {
        self.advance();
        self.pair
    }

    #[cold]
    fn advance(&mut self) {
        self.pair = self.find();
    }

    fn find(&mut self) -> Option<(DictKey<'a>, Value<'a>)> {
        loop {
            let mut least: Option<(usize, DictKey<'a>)> = None;
            for (i, generation) in self.generations.iter().enumerate() {
                let Some((key, _)) = generation.next else { continue };
                if least.is_none_or(|(_, k)| compare_keys(key.value, k.value) == Ordering::Less) {
                    least = Some((i, key));
                }
            }
            let (youngest, key) = least?;
            let pair = self.generations[youngest].next;
            let deletes = self.generations[youngest].has_parent;
            self.skip(youngest, key);
            match pair {
                Some((_, value)) if deletes && value.kind() == Kind::Undefined => {}
                _ => return pair,
            }
        }
    }

    /// Moves the generation whose pair was taken, and all older ones that have the same key.
    fn skip(&mut self, youngest: usize, key: DictKey<'a>) {
        for generation in &mut self.generations[youngest..] {
            let Some((own, _)) = generation.next else { continue };
            if compare_keys(own.value, key.value) == Ordering::Equal {
                generation.next = generation.rest.next();
            }
        }
    }
}
