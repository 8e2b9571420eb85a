//! The result of a trial on a fleet: test against control, after against before, at equal load.
//!
//! [`result`] is a pure function of the table and the question. `compared` chooses the intervals and servers that can be compared
//! (`usable`, `strata`); `units` are the servers or sites that were drawn; `lost`, `missing` and `gaps` handle servers and values
//! that are missing; `estimate` makes the effect (`panel` a second one); `checks` looks for faults that would make it wrong
//! (`totals` is a second opinion); `verdict` weighs both; `naive` has the figures of the usual methods; `surge`, `rollout`,
//! `days` and `summary` are the rest of the answer. [`assign`] makes groups beforehand.
//!
//! Not here: reading figures (the `fleet` crate) and arithmetic on them (`plumb_stats::fleet`).

mod alarm;

pub mod assign;
mod checks;
mod compared;
mod counted;
mod days;
mod difference;
mod elasticity;
mod error;
mod estimate;
mod findings;
mod follow;
mod gaps;
mod hidden;
mod high_shift;
mod leave_out;
mod loads;
mod lost;
mod missing;
mod naive;
mod one_day;
mod panel;
mod pre_trend;
mod question;
mod rollout;
pub(crate) mod rows;
mod servers;
mod stamps;
mod strata;
mod summary;
mod surge;
#[cfg(test)]
mod tests;
mod totals;
mod traffic;
mod units;
mod usable;
mod verdict;

mod words;

pub use error::FleetError;
pub use question::{FleetQuestion, Stratum, SurgeTime};

use compared::Compared;
use plumb_model::fleet::{FLEET_SCHEMA_VERSION, FleetResult, FleetTable};
use plumb_model::outcome::Outcome;
use plumb_stats::ends::Ends;

/// The answer of a table to the question.
///
/// # Errors
/// [`FleetError`] where nothing can be held against anything: no interval on one side of the change, an empty group, a
/// group whose metric never moves, a surge that was given and is not there; a fleet that is smaller than what was seen of it.
pub fn result(table: &FleetTable, question: &FleetQuestion) -> Result<FleetResult, FleetError> {
    // A fleet is no smaller than what was seen of it.
    let seen = table.servers.len() as u32;
    if let Some(given) = question.fleet_servers.filter(|given| *given < seen) {
        return Err(FleetError::FleetTooSmall { given, seen });
    }
    let compared = Compared::of(table, question)?;
    let estimate = estimate::estimate(&compared, question);
    let surge = surge::surge(&compared, question)?;
    let checks = checks::checks(&compared, &estimate, surge.as_ref(), question);
    let verdict::Weighed { verdict, reason, needed } =
        verdict::weigh(&compared, &estimate, &checks, question);
    let interval = estimate.log_interval(question.level).map(Ends::exp);
    let finite = |ratio: f64| Some(ratio).filter(|ratio| ratio.is_finite());
    let elasticity = estimate.elasticity_interval(question.level);
    let mut result = FleetResult {
        schema_version: FLEET_SCHEMA_VERSION,
        plumb_version: question.plumb_version.clone(),
        metric: question.metric.clone(),
        metric_kind: question.metric_kind,
        load: question.load.clone(),
        good: question.good,
        changed_at: words::moment(question.changed_at_s),
        intervals_before: compared.before.len() as u32,
        intervals_after: compared.after.len() as u32,
        interval_s: question.interval_s,
        seed: question.seed,
        servers: compared.counts(),
        strata: compared.strata,
        unit: compared.units.kind,
        units: compared.units.by_group(),
        effect_ratio: estimate.ratio(),
        of_shares: estimate.zero_heavy,
        interval_low: interval.and_then(|interval| finite(interval.low)),
        interval_high: interval.and_then(|interval| finite(interval.high)),
        level: question.level,
        by_intervals: estimate.second.and_then(|second| second.told(question.level)),
        p: estimate.p,
        margin: question.margin,
        outcome: Some(Outcome::of_verdicts([verdict].into_iter())),
        verdict,
        reason,
        smallest_detectable_ratio: estimate.smallest_detectable_ratio(&compared, question.level),
        needed,
        load_elasticity: estimate
            .elasticity
            .filter(|_| elasticity.is_none_or(elasticity::tells))
            .map(|it| it.value),
        load_elasticity_low: elasticity.map(|interval| interval.low),
        load_elasticity_high: elasticity.map(|interval| interval.high),
        checks,
        naive: naive::naive(&compared, question),
        surge: surge.map(|found| found.surge),
        days: days::days(&compared, table),
        rollout: Vec::new(),
        exclusions: compared.exclusions.clone(),
        summary: Vec::new(),
        findings: Vec::new(),
    };
    let fleet_servers = question.fleet_servers.unwrap_or(seen);
    result.rollout = rollout::rollout(&compared, &estimate, fleet_servers, &result);
    result.findings = findings::findings(&estimate, &result);
    result.summary = summary::summary(&compared, &estimate, &result);
    Ok(result)
}
