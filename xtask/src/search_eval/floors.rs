//! The least that search has to reach, so that it never gets worse unnoticed. A set that has no floor is not held to one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Judged;
use super::metrics::{MEASURES, Quality};

/// What the mean over the sets is called.
const MEAN: &str = "mean";

/// Least values by the name of a set, then by the name of a measure.
#[derive(Debug)]
pub(super) struct Floors(BTreeMap<String, BTreeMap<String, f64>>);

impl Floors {
    /// Reads the floors for one way of judging: `cold`, `learnt` and so on.
    pub(super) fn read(path: &Path, way: &str) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let all: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        Self::of(&all[way]).with_context(|| format!("{way} in {}", path.display()))
    }

    fn of(way: &Value) -> Result<Self> {
        let mut floors = BTreeMap::new();
        for (set, measures) in way.as_object().context("has no floors")? {
            let mut least = BTreeMap::new();
            for (measure, value) in measures.as_object().with_context(|| format!("{set} is no object"))? {
                ensure!(
                    MEASURES.iter().any(|(name, _)| name == measure),
                    "{set} names {measure:?}, which is no measure"
                );
                let value = value.as_f64().with_context(|| format!("{measure} of {set} is no number"))?;
                least.insert(measure.clone(), value);
            }
            floors.insert(set.clone(), least);
        }
        Ok(Self(floors))
    }

    /// Fails when anything is below its floor, naming all that is.
    pub(super) fn check(&self, judged: &[Judged]) -> Result<()> {
        let mut below = Vec::new();
        for set in judged {
            below.extend(self.below(&set.name, &set.quality));
        }
        // The mean of some other choice of sets says nothing.
        let is_comparable = judged.len() > 1 && judged.iter().all(|set| self.0.contains_key(&set.name));
        if is_comparable {
            let all: Vec<Quality> = judged.iter().map(|set| set.quality).collect();
            below.extend(self.below(MEAN, &Quality::mean(&all)));
        }
        if below.is_empty() {
            return Ok(());
        }
        bail!("search got worse: {}", below.join("; "))
    }

    fn below(&self, name: &str, quality: &Quality) -> Vec<String> {
        let Some(floors) = self.0.get(name) else { return Vec::new() };
        let reached = MEASURES
            .iter()
            .filter_map(|(measure, value)| Some((measure, value(quality), floors.get(*measure)?)));
        let low = reached.filter(|(_, value, floor)| value < floor);
        low.map(|(measure, value, floor)| {
            format!("{name} has {measure} {value:.2}, at least {floor:.2} is needed")
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(name: &str, ndcg_at_10: f64) -> Judged {
        Judged {
            name: name.to_owned(),
            quality: Quality { ndcg_at_10, ..Quality::default() },
            ..Judged::default()
        }
    }

    fn floors() -> Floors {
        Floors::of(&json!({"one": {"nDCG@10": 60.0}, "two": {"nDCG@10": 40.0}, "mean": {"nDCG@10": 55.0}}))
            .unwrap()
    }

    #[test]
    fn what_reaches_its_floor_passes_and_a_set_without_one_too() {
        assert!(floors().check(&[judged("one", 60.0), judged("two", 50.0)]).is_ok());
        assert!(floors().check(&[judged("other", 1.0)]).is_ok());
    }

    #[test]
    fn what_is_below_is_named_with_its_value_and_its_floor() {
        let fault = floors().check(&[judged("one", 59.9), judged("two", 39.0)]).unwrap_err().to_string();
        assert!(fault.contains("one has nDCG@10 59.90, at least 60.00"), "{fault}");
        assert!(fault.contains("two has nDCG@10 39.00"), "{fault}");
        assert!(fault.contains("mean has nDCG@10 49.45, at least 55.00"), "{fault}");
    }

    #[test]
    fn the_mean_has_a_floor_only_over_sets_that_have_one() {
        assert!(floors().check(&[judged("one", 60.0), judged("other", 1.0)]).is_ok());
    }

    #[test]
    fn a_measure_that_is_none_is_refused() {
        let fault = format!("{:#}", Floors::of(&json!({"one": {"ndcg": 1.0}})).unwrap_err());
        assert!(fault.contains("one names \"ndcg\", which is no measure"), "{fault}");
    }
}
