//! What a trial on a fleet shows: test against control, after against before, at equal load.
//!
//! [`result`] is a pure function of the table and the question. What can be compared at all is in `compared` (which
//! intervals, which servers; `strata`); `units` has what was drawn; `lost`, `missing` and `gaps` have what is not there; `estimate` has the effect; `checks` what would make it wrong (`totals` is a second opinion); `verdict` weighs both; `naive` is what
//! others would have said; `surge`, `rollout`, `days` and `words` are the rest of the answer. [`assign`] makes groups beforehand.
//!
//! Not here: reading figures (the `fleet` crate) and arithmetic on them (`plumb_stats::fleet`).

pub mod assign;
mod checks;
mod compared;
mod days;
mod error;
mod estimate;
mod findings;
mod follow;
mod gaps;
mod hidden;
mod leave_out;
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
mod surge;
#[cfg(test)]
mod tests;
mod totals;
mod traffic;
mod units;
mod verdict;
mod words;

pub use error::FleetError;
pub use question::{FleetQuestion, Stratum};

use compared::Compared;
use plumb_model::fleet::{FLEET_SCHEMA_VERSION, FleetResult, FleetTable};
use plumb_model::outcome::Outcome;

/// What the table says about the question.
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
        interval_low: estimate.interval(question.level).0,
        interval_high: estimate.interval(question.level).1,
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
            .filter(|_| estimate.elasticity_interval(question.level).is_none_or(words::tells))
            .map(|it| it.value),
        load_elasticity_low: estimate.elasticity_interval(question.level).map(|it| it.0),
        load_elasticity_high: estimate.elasticity_interval(question.level).map(|it| it.1),
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
    result.summary = words::summary(&compared, &estimate, &result);
    Ok(result)
}
