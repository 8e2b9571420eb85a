//! The overlap of the groups' changes of load: without it they cannot be compared at equal load.
//!
//! Where one group's load doubled and the other's did not, an effect "at equal load" is a line drawn past the data.

/// Share of the servers of each group that is left out at either end of its range, so that one odd server among
/// thousands does not widen it.
const TAIL: f64 = 0.025;

/// Share of all servers whose load changed by an amount that occurs in both groups, 0..1; none with an empty group.
pub fn overlap(test: &[bool], load: &[f64]) -> Option<f64> {
    let range = |of: bool| {
        let mut values: Vec<f64> =
            test.iter().zip(load).filter(|(test, _)| **test == of).map(|(_, load)| *load).collect();
        values.sort_by(f64::total_cmp);
        let cut = (TAIL * values.len() as f64) as usize;
        Some((*values.get(cut)?, *values.get(values.len() - 1 - cut)?))
    };
    let ((test_low, test_high), (control_low, control_high)) = (range(true)?, range(false)?);
    let common = test_low.max(control_low)..=test_high.min(control_high);
    Some(load.iter().filter(|load| common.contains(load)).count() as f64 / load.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_alike_overlap_and_groups_apart_do_not() {
        let test: Vec<bool> = (0..200).map(|place| place % 2 == 0).collect();
        let alike: Vec<f64> = (0..200).map(|place| f64::from(place / 2)).collect();
        assert!(overlap(&test, &alike).unwrap() > 0.9);
        let apart: Vec<f64> = test.iter().map(|test| if *test { 1.0 } else { 0.0 }).collect();
        assert_eq!(overlap(&test, &apart), Some(0.0));
        assert_eq!(overlap(&[true, true], &[1.0, 2.0]), None);
    }

    #[test]
    fn one_odd_server_among_many_does_not_make_ranges_meet() {
        let test: Vec<bool> = (0..100).map(|place| place < 50).collect();
        let mut load: Vec<f64> = (0..100).map(|place| if place < 50 { 1.0 } else { 0.0 }).collect();
        load[0] = 0.0;
        assert_eq!(overlap(&test, &load), Some(0.0));
    }
}
