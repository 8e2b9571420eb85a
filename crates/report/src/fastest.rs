//! The setup that is faster than all others of equal load, by the run's own comparisons.
//!
//! The lowest mean alone says nothing: another run may order the same setups otherwise. So a setup is called fastest only
//! where it was compared with each other setup of its load and each of these comparisons differs in its favour.

use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, ComparisonVerdict, ValidityVerdict};

/// What the mark says.
pub(crate) const MEANING: &str =
    "fastest: a lower mean than each other setup of equal load, by more than the noise";

/// Whether the step is the fastest of its load. No step of an invalid run is.
pub(crate) fn is(document: &RunDocument, step: &str) -> bool {
    document.validity.verdict != ValidityVerdict::Invalid && beats_all(&document.comparisons, step)
}

fn beats_all(comparisons: &[Comparison], step: &str) -> bool {
    let means: Vec<&Comparison> = comparisons.iter().filter(|pair| pair.metric.ends_with(".mean")).collect();
    let own: Vec<&&Comparison> = means.iter().filter(|pair| pair.a == step || pair.b == step).collect();
    let others = of_equal_load(&means, step).len() - 1;
    others > 0 && own.len() == others && own.iter().all(|pair| is_faster(pair, step))
}

/// The step and every step that a chain of comparisons leads to: only steps of equal load are compared.
fn of_equal_load<'d>(means: &[&'d Comparison], step: &'d str) -> Vec<&'d str> {
    let mut found = vec![step];
    let mut next = 0;
    while let Some(&from) = found.get(next) {
        for pair in means {
            let other = match (pair.a == from, pair.b == from) {
                (true, _) => &pair.b,
                (_, true) => &pair.a,
                _ => continue,
            };
            if !found.contains(&other.as_str()) {
                found.push(other);
            }
        }
        next += 1;
    }
    found
}

fn is_faster(pair: &Comparison, step: &str) -> bool {
    let lower = pair.ratio.is_some_and(|ratio| if pair.b == step { ratio < 1.0 } else { ratio > 1.0 });
    lower && pair.verdict == ComparisonVerdict::Differs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(a: &str, b: &str, ratio: f64, verdict: ComparisonVerdict) -> Comparison {
        Comparison {
            a: a.to_owned(),
            b: b.to_owned(),
            metric: "end_to_end.mean".to_owned(),
            ratio: Some(ratio),
            ratio_low: None,
            ratio_high: None,
            level: 0.95,
            p_adjusted: None,
            smallest_detectable_ratio: None,
            blocks: 5,
            verdict,
            durability_differences: Vec::new(),
        }
    }

    fn fastest(comparisons: &[Comparison]) -> Vec<&'static str> {
        ["a", "b", "c"].into_iter().filter(|step| beats_all(comparisons, step)).collect()
    }

    #[test]
    fn a_setup_is_fastest_only_where_it_beats_each_other_one_by_more_than_the_noise() {
        use ComparisonVerdict::{Differs, WithinNoise};
        let b_against_c = |verdict| {
            [
                compared("a", "b", 0.5, Differs),
                compared("a", "c", 0.9, Differs),
                compared("b", "c", 1.1, verdict),
            ]
        };
        assert_eq!(fastest(&b_against_c(Differs)), ["b"]);
        assert_eq!(fastest(&b_against_c(WithinNoise)), [""; 0]);
    }

    #[test]
    fn a_setup_that_was_not_compared_with_each_other_one_is_not_called_fastest() {
        use ComparisonVerdict::Differs;
        let star = [compared("a", "b", 0.5, Differs), compared("a", "c", 0.8, Differs)];
        assert_eq!(fastest(&star), [""; 0], "b and c were only held against a");
        assert_eq!(fastest(&[]), [""; 0]);
    }
}
