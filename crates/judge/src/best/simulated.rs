//! Searches on surfaces whose truth is known.

use super::*;

struct Anything;

impl Physics for Anything {
    fn is_possible(&self, _: &Point) -> bool {
        true
    }

    fn inputs(&self, _: &Point) -> Vec<f64> {
        Vec::new()
    }
}

#[test]
fn a_preset_that_is_better_without_noise_is_found() {
    let dimensions = vec![Dimension::Ordered { places: 5 }; 3];
    let presets = vec![Point(vec![1, 2, 3]), Point(vec![4, 0, 0])];
    let plan =
        BestPlan { dimensions, default: Point(vec![0; 3]), presets, budget: 16, has_goal: false, seed: 1 };
    let mut tries = Vec::new();
    let found = loop {
        match next(&tries, &plan, &Anything) {
            Next::Done(found) => break found,
            Next::Try { point, purpose, .. } => {
                let objective = 10.0 - point.0[0] as f64;
                tries.push(Tried {
                    point,
                    purpose,
                    outcome: Outcome::Measured { objective, goal_ratio: None },
                });
            }
        }
    };
    assert_eq!((found.ending, found.unpruned), (BestEnding::Better, Some(Point(vec![4, 0, 0]))));
}
