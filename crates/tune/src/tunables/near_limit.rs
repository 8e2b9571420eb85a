//! Limits of the kernel whose use can be seen: one that is nearly used up is doubled, one that is not is left.

use super::{Advice, Context, Look};
use crate::window::level;
use plumb_model::check::Status;
use plumb_model::figure;

/// A limit is near from this share of it on. Ours.
pub(super) const NEAR: f64 = 0.7;

/// A limit and what of it is used.
pub(super) struct Use<'u> {
    pub(super) setting: &'u str,
    /// The name of what is used, as its source has it.
    pub(super) counter: &'u str,
    pub(super) unit: &'u str,
    pub(super) used: u64,
    /// The least that the limit is raised to.
    pub(super) at_least: u64,
    /// The most that the kernel takes.
    pub(super) at_most: u64,
    /// What happens at the limit.
    pub(super) reason: &'u str,
    pub(super) expected: &'u str,
}

impl Use<'_> {
    /// The look at it.
    pub(super) fn look(&self, context: &Context<'_>, target: &str) -> Look {
        let mut is_near = false;
        let look = Look::at_number(context, target, self.setting, |limit| {
            is_near = self.used as f64 >= NEAR * limit as f64;
            let wanted = if is_near {
                limit.saturating_mul(2).clamp(self.at_least.min(self.at_most), self.at_most)
            } else {
                limit
            };
            let evidence = is_near.then(|| level(self.counter, self.used as f64, self.unit));
            let share = figure::percent(self.used as f64 / limit.max(1) as f64);
            Advice {
                recommended: wanted.to_string(),
                is_met: wanted <= limit,
                evidence: evidence.into_iter().collect(),
                reason: format!(
                    "{} of {limit} {} are in use ({share}); {}",
                    self.used, self.unit, self.reason
                ),
                expected: self.expected.to_owned(),
            }
        });
        match look.status {
            // It is as high as it goes: what uses it up has to use less.
            Status::Ok if is_near => Look { status: Status::Advice, ..look },
            _ => look,
        }
    }
}
