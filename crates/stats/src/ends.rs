//! The two ends of an interval.

use crate::law::student_quantile;

/// The ends of an interval, in the unit of the figure that it belongs to. An end may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ends {
    /// The interval that reaches equally far to both sides of a middle.
    pub fn around(middle: f64, reach: f64) -> Self {
        Ends { low: middle - reach, high: middle + reach }
    }

    /// middle +- t x error at a confidence level; none for a level outside 0..1, or without degrees of freedom.
    pub(crate) fn student(middle: f64, error: f64, freedom: f64, level: f64) -> Option<Self> {
        Some(Ends::around(middle, student_quantile(0.5 + level / 2.0, freedom)? * error))
    }

    /// True if a value is inside, or at an end.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// True if both ends are above a value, or both below it.
    pub fn excludes(self, value: f64) -> bool {
        self.low > value || self.high < value
    }

    /// True if both ends are nearer to 0 than a limit above 0.
    pub fn within(self, limit: f64) -> bool {
        self.low > -limit && self.high < limit
    }

    /// The ratios of an interval of logarithms.
    pub fn exp(self) -> Self {
        Ends { low: self.low.exp(), high: self.high.exp() }
    }
}
