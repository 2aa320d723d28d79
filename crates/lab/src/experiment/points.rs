//! The points at which an experiment is measured, of the values that its params have.

use super::{Experiment, Method};
use crate::param::{Kind, Point, Value};

/// Where all combinations are not more than these, they are not reduced first.
const PLAIN_MAX: usize = 10_000;

impl Experiment {
    /// All combinations of the values of its params. Where these are very many, a param that no
    /// method reads at a job, or under the other words of the point, has its first value there.
    /// None if there are more than `max`.
    pub fn combinations(&self, axes: &[(&str, Vec<Value>)], max: usize) -> Option<Vec<Point>> {
        if count(axes) <= max.min(PLAIN_MAX) {
            return Some(Point::product(axes));
        }
        let is_word = |name: &str| {
            let param = self.params.iter().find(|param| param.name == name);
            param.is_some_and(|param| matches!(param.kind, Kind::Word(_)))
        };
        let words: Vec<_> = axes.iter().filter(|(name, _)| is_word(name)).cloned().collect();
        if count(&words) > max {
            return None;
        }
        let mut points = Vec::new();
        for job in Point::product(&words) {
            let read = |name: &str| {
                let mut there = self.methods.iter().filter(|method| method.competes_at(&job));
                there.any(|method| method.reads.contains(&name))
            };
            let values = |(name, values): &(&str, Vec<Value>)| match job.get(name) {
                Some(word) => vec![word.clone()],
                None if read(name) => values.clone(),
                None => values.iter().take(1).cloned().collect(),
            };
            let axes: Vec<(&str, Vec<Value>)> =
                axes.iter().map(|axis| (axis.0, values(axis))).collect();
            if points.len().saturating_add(count(&axes)) > max {
                return None;
            }
            points.extend(Point::product(&axes));
        }
        Some(points)
    }

    /// The points at which at least one of the chosen methods competes. Each point keeps only those
    /// params that one of the experiment's methods reads there, and occurs once.
    pub fn points(&self, points: Vec<Point>, chosen: &[Method]) -> Vec<Point> {
        let mut kept: Vec<Point> = Vec::new();
        for point in points {
            if !chosen.iter().any(|method| method.competes_at(&point)) {
                continue;
            }
            // A program of the user reads all params that exist.
            let there = || self.methods.iter().filter(|method| method.competes_at(&point));
            let point = point.only(|name| there().any(|method| method.reads.contains(&name)));
            if !kept.contains(&point) {
                kept.push(point);
            }
        }
        kept
    }
}

fn count(axes: &[(&str, Vec<Value>)]) -> usize {
    axes.iter().fold(1, |count: usize, (_, values)| count.saturating_mul(values.len()))
}
