//! A server's change as one number: the logarithm of after over before.

/// The way in which a server's intervals become one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Things that happened, added up: log((sum + offset) / intervals). The offset lets a server without any have a
    /// logarithm; half an event is usual (Gart 1966 for rates), 0 leaves zeros out.
    Total {
        /// Added to each sum.
        offset: f64,
    },
    /// A level such as a percentile: the mean of the logarithms.
    Level,
}

/// The level of one side of the change; none without values, or where there is no logarithm.
pub fn log_level(values: &[f64], scale: Scale) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let level = match scale {
        Scale::Total { offset } => ((values.iter().sum::<f64>() + offset) / n).ln(),
        Scale::Level => values.iter().map(|value| value.ln()).sum::<f64>() / n,
    };
    level.is_finite().then_some(level)
}

/// after - before, on the logarithmic scale; none where either has no level.
pub fn log_change(before: &[f64], after: &[f64], scale: Scale) -> Option<f64> {
    Some(log_level(after, scale)? - log_level(before, scale)?)
}

/// The offset that suits counts: half an event where most values are whole numbers (a day with a gap may be scaled up).
/// Where they are not, their unit is unknown: half of the smallest above 0 where a server's sum is 0, none elsewhere.
pub fn offset(values: impl Iterator<Item = f64> + Clone, any_sum_is_zero: bool) -> f64 {
    let (whole, all) = values
        .clone()
        .fold((0u64, 0u64), |(whole, all), value| (whole + u64::from(value.fract() == 0.0), all + 1));
    if 2 * whole > all {
        return 0.5;
    }
    let smallest = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if any_sum_is_zero && smallest.is_finite() { smallest / 2.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_changes_by_its_rate_and_a_level_by_its_geometric_mean() {
        let counts = log_change(&[10.0, 20.0, 30.0], &[5.0, 5.0], Scale::Total { offset: 0.0 }).unwrap();
        assert!((counts - (5f64 / 20.0).ln()).abs() < 1e-12);
        let levels = log_change(&[2.0, 8.0], &[16.0], Scale::Level).unwrap();
        assert!((levels - (16f64 / 4.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_logarithm_has_no_change() {
        assert_eq!(log_change(&[0.0], &[1.0], Scale::Total { offset: 0.0 }), None);
        assert_eq!(log_change(&[1.0, 0.0], &[1.0], Scale::Level), None);
        assert_eq!(log_change(&[], &[1.0], Scale::Level), None);
        assert!(log_change(&[0.0], &[1.0], Scale::Total { offset: 0.5 }).is_some());
    }

    #[test]
    fn half_an_event_is_added_to_counts_and_nothing_to_fractions_without_zeros() {
        assert_eq!(offset([3.0, 0.0, 7.0, 7.5].into_iter(), true), 0.5);
        assert_eq!(offset([0.3, 0.2].into_iter(), false), 0.0);
        assert_eq!(offset([0.3, 0.2, 0.0].into_iter(), true), 0.1);
    }
}
