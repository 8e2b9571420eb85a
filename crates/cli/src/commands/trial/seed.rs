//! The seed of a trial for which nobody says one: drawn anew, so that no two trials run their blocks in the same order.
//!
//! An order that every trial shares would hit all of them alike: a trial that is repeated would repeat its bias too.

use jiff::Timestamp;
use plumb_model::plan::Origin;
use plumb_model::resolve::Sources;
use plumb_model::scenario::Scenario;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Draws it, unless the scenario has one.
pub(in crate::commands) fn draw(scenario: &mut Scenario, sources: &mut Sources) {
    if scenario.seed.is_some() {
        return;
    }
    // The standard library's hash tables are keyed by the system's random numbers.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_i128(Timestamp::now().as_nanosecond());
    // Short enough to be typed, and exact in every reader of JSON.
    let seed = hasher.finish() >> 32;
    scenario.seed = Some(seed);
    let reason = "drawn for this trial: the same seed repeats its order".to_owned();
    sources.insert("seed".to_owned(), Origin::Derived { reason });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_drawn_anew_each_time_and_one_that_is_written_stays() {
        let draw_one = |written| {
            let mut scenario = Scenario { seed: written, ..Scenario::default() };
            draw(&mut scenario, &mut Sources::new());
            scenario.seed.unwrap()
        };
        assert_ne!((draw_one(None), draw_one(None)), (draw_one(None), draw_one(None)));
        assert_eq!(draw_one(Some(7)), 7);
    }
}
