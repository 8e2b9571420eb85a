//! The order of the runs: every tool once a round, in an order drawn anew, so that what the machine and the broker go through in
//! the meantime falls on all alike.

use plumb_stats::random::Random;

/// A round: the cells in random order, in each the numbers of the tools in random order.
pub fn round<C: Clone>(cells: &[C], tools: usize, random: &mut Random) -> Vec<(C, Vec<usize>)> {
    let mut cells = cells.to_vec();
    random.shuffle(&mut cells);
    let mut order = || {
        let mut order: Vec<usize> = (0..tools).collect();
        random.shuffle(&mut order);
        order
    };
    cells.into_iter().map(|cell| (cell, order())).collect()
}

/// The number of messages of a run after one of `count` took `span_s`; the second part is true if that run was long enough
/// to rely on. A short one says little about a longer: clients have to get going.
pub(crate) fn next_count(count: u64, span_s: f64, wanted_s: f64) -> (u64, bool) {
    let factor = wanted_s / span_s.max(1e-3);
    let long_enough = factor <= 2.5;
    ((count as f64 * factor.clamp(0.05, 10.0)).ceil().max(1.0) as u64, long_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_every_tool_once_in_every_cell_and_its_order_follows_from_the_seed() {
        let draw = |seed| round(&["a", "b", "c"], 5, &mut Random::new(seed));
        let mut cells = Vec::new();
        for (cell, mut order) in draw(1) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
            cells.push(cell);
        }
        cells.sort_unstable();
        assert_eq!(cells, ["a", "b", "c"]);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_short_run_is_tried_again_with_more() {
        assert_eq!(next_count(1000, 0.1, 4.0), (10_000, false));
        assert_eq!(next_count(1000, 2.0, 4.0), (2000, true));
        assert_eq!(next_count(1000, 8.0, 4.0), (500, true));
    }
}
