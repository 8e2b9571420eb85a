//! How long the rest takes: as planned at first, then as long as such blocks took.

use super::plan::{Case, Plan, Slot};
use std::collections::HashMap;

/// A block of a commit, its warm-up included, and one of a stream, its sync included, over their lengths.
const COMMIT_LENGTHS: f64 = 1.15;
const STREAM_LENGTHS: f64 = 2.0;
/// Making and filling the files of one path.
const MAKING_S: f64 = 2.0;

/// What blocks took so far.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    /// Seconds of the last block of each case on each path. The last one, since the first may have had to wake a device.
    took_s: HashMap<(usize, usize), f64>,
    /// Of all blocks of a path: as planned, and as they were.
    of_path_s: HashMap<usize, (f64, f64)>,
}

/// Before anything was measured.
pub(super) fn planned_s(plan: &Plan, slots: &[Slot], paths: usize) -> f64 {
    MAKING_S * paths as f64 + slots.iter().map(|slot| block_s(plan, slot)).sum::<f64>()
}

fn block_s(plan: &Plan, slot: &Slot) -> f64 {
    let lengths = match plan.cases[slot.case] {
        Case::Commit(_) => COMMIT_LENGTHS,
        Case::Stream(_) => STREAM_LENGTHS,
    };
    plan.block.as_secs_f64() * lengths
}

impl Forecast {
    pub(super) fn took(&mut self, plan: &Plan, slot: &Slot, seconds: f64) {
        self.took_s.insert((slot.target, slot.case), seconds);
        let (planned, took) = self.of_path_s.entry(slot.target).or_default();
        *planned += block_s(plan, slot);
        *took += seconds;
    }

    /// Seconds of these blocks. One whose case was never measured on its path is as much longer than planned as the others there.
    pub(super) fn rest_s(&self, plan: &Plan, slots: &[Slot]) -> f64 {
        let of = |slot: &Slot| {
            let factor = || self.of_path_s.get(&slot.target).map_or(1.0, |(planned, took)| took / planned);
            let like_it = self.took_s.get(&(slot.target, slot.case)).copied();
            like_it.unwrap_or_else(|| block_s(plan, slot) * factor())
        };
        slots.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    #[test]
    fn the_rest_is_as_long_as_planned_until_blocks_say_otherwise() {
        // 60 ms of each of two cases in 3 rounds: blocks of 20 ms.
        let plan = plan(
            "/x --no-streams --overwrite --method fsync,dsync --committers 1 --duration 60ms --rounds 3",
        );
        let slots = plan.order(1);
        let mut forecast = Forecast::default();
        let planned = 6.0 * 0.023;
        assert!((planned_s(&plan, &slots, 1) - MAKING_S - planned).abs() < 1e-9);
        assert!((forecast.rest_s(&plan, &slots) - planned).abs() < 1e-9);
        forecast.took(&plan, &slots[0], 2.3);
        // Two more like it, and three that are as much slower than planned.
        assert!((forecast.rest_s(&plan, &slots[1..]) - 5.0 * 2.3).abs() < 1e-9);
        let other = slots.iter().find(|slot| slot.case != slots[0].case).unwrap();
        forecast.took(&plan, other, 0.1);
        let left = [*other, slots[0]];
        assert!((forecast.rest_s(&plan, &left) - 2.4).abs() < 1e-9);
    }
}
