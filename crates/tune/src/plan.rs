//! The changes that follow from a check, in the order in which they are to be made, each with its way back.

use crate::host::Host;
use crate::inverse::resets_others;
use crate::setting::{Setting, SettingError};
use crate::steps;
use crate::tunables::{TUNABLES, find};
use plumb_model::change::Assignment;
use plumb_model::check::{HostCheck, PROFILE, PlannedChange, SCHEMA_VERSION, SettingCheck, Status, TunePlan};
use plumb_model::facts::Fact;

/// What goes into a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// True if what has no evidence is planned, too.
    pub without_evidence: bool,
    /// Settings of the user's own, which go before what a tunable would set them to.
    pub profile: Vec<Assignment>,
}

/// Plans what a check found.
///
/// # Errors
/// Where a setting of the user's own is none of this host.
pub fn plan(host: &Host, check: &HostCheck, selection: &Selection) -> Result<TunePlan, SettingError> {
    let mut changes = Vec::new();
    let mut left_out = Vec::new();
    for found in in_order(&check.checks) {
        let is_planned = match found.status {
            Status::Change => true,
            Status::NoEvidence => selection.without_evidence,
            _ => false,
        };
        match is_planned && !found.assignments.is_empty() {
            true => changes.extend(of_check(host, found, &selection.profile)),
            false if !matches!(found.status, Status::Ok | Status::NotApplicable) => {
                left_out.push(found.clone())
            }
            false => {}
        }
    }
    for to in &selection.profile {
        let setting = Setting::new(&to.key)?;
        refuse_what_never_works(host, &setting, &to.value)?;
        if !setting.is_met(&to.value, &setting.read(host)?) {
            changes.push(of_profile(host, &setting, to)?);
        }
    }
    // What resets other settings comes before them, whoever asks for it.
    let resets_none = |change: &PlannedChange| {
        Setting::new(&change.change.target.key).is_ok_and(|setting| !resets_others(&setting))
    };
    changes.sort_by_key(resets_none);
    for (at, change) in changes.iter_mut().enumerate() {
        change.order = at as u32 + 1;
    }
    Ok(TunePlan {
        schema_version: SCHEMA_VERSION,
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        role: check.role,
        host_digest: match &check.host.host_digest {
            Fact::Known { value, .. } => Some(value.clone()),
            Fact::Unknown { .. } => None,
        },
        bootstrap: None,
        changes,
        left_out,
        cpus: check.cpus.clone(),
    })
}

/// Checks in the order of the registry, in which changes are made.
fn in_order(checks: &[SettingCheck]) -> Vec<&SettingCheck> {
    let place = |check: &&SettingCheck| TUNABLES.iter().position(|tunable| tunable.id == check.id);
    let mut ordered: Vec<&SettingCheck> = checks.iter().collect();
    ordered.sort_by_key(place);
    ordered
}

/// The changes of one check. A setting that cannot be read any more is left out.
fn of_check(host: &Host, check: &SettingCheck, profile: &[Assignment]) -> Vec<PlannedChange> {
    let is_users = |key: &str| profile.iter().any(|to| to.key == key);
    let of = |to: &Assignment| {
        let setting = Setting::new(&to.key).ok()?;
        let change = steps::change(&setting, host, &to.value).ok()?;
        Some(PlannedChange {
            id: check.id.clone(),
            order: 0,
            change,
            risk: check.risk,
            interrupts: find(&check.id).map_or("", |tunable| tunable.interrupts).to_owned(),
            reason: check.reason.clone(),
            evidence: check.evidence.clone(),
            expected: check.expected.clone(),
            source: check.source.clone(),
        })
    };
    check.assignments.iter().filter(|to| !is_users(&to.key)).filter_map(of).collect()
}

/// What applying would refuse whoever does it is refused here already; what only the right to write is lacking for is planned.
fn refuse_what_never_works(host: &Host, setting: &Setting, value: &str) -> Result<(), SettingError> {
    match setting.check_written(host, value) {
        Err(SettingError::Permission { .. }) | Ok(()) => Ok(()),
        refused => refused,
    }
}

fn of_profile(host: &Host, setting: &Setting, to: &Assignment) -> Result<PlannedChange, SettingError> {
    Ok(PlannedChange {
        id: PROFILE.to_owned(),
        order: 0,
        change: steps::change(setting, host, &to.value)?,
        risk: setting.risk(),
        interrupts: setting.may_interrupt().to_owned(),
        reason: "the user's own file asks for it".to_owned(),
        evidence: Vec::new(),
        expected: String::new(),
        source: "the user".to_owned(),
    })
}
