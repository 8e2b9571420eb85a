//! Changes put back, the last one first. What somebody else has changed since is left and told.

use crate::host::Host;
use crate::journal::{Cause, Journal, JournalError, JournalState, Record, Restored, StepState};
use crate::steps;
use jiff::Timestamp;

/// What became of changes that were to be put back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reverted {
    /// Each change that was looked at, in the order in which that was done.
    pub steps: Vec<RevertedStep>,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct RevertedStep {
    /// Its number in the journal.
    step: u32,
    /// The setting's name.
    pub setting: String,
    /// Its value before the change.
    pub before: Option<String>,
    /// What became of it.
    pub outcome: Restored,
}

impl Reverted {
    /// Those that are not as they were before.
    pub fn left(&self) -> impl Iterator<Item = &RevertedStep> {
        self.steps.iter().filter(|step| !matches!(step.outcome, Restored::Restored | Restored::Unchanged))
    }

    /// What was left when changes were put back earlier: nothing more is to be done about it, and it is not as it was.
    pub fn left_before(state: &JournalState) -> Self {
        let steps =
            state.steps.iter().filter_map(|step| Some(RevertedStep::of(step, step.restored.clone()?)));
        let is_left = |step: &RevertedStep| !matches!(step.outcome, Restored::Restored | Restored::Unchanged);
        Reverted { steps: steps.filter(is_left).collect() }
    }

    /// In words: `all 3 changes before it were put back`.
    pub fn words(&self) -> String {
        let left: Vec<&str> = self.left().map(|step| step.setting.as_str()).collect();
        match (self.steps.len(), &left[..]) {
            (0, _) => "nothing was changed".to_owned(),
            (1, []) => "the one change that was begun is put back".to_owned(),
            (all, []) => format!("all {all} changes that were begun are put back"),
            (all, left) => format!(
                "{} of {all} changes that were begun are put back, not {}",
                all - left.len(),
                left.join(", ")
            ),
        }
    }
}

/// Puts back all that a journal's changes left. Each is tried whatever became of the others, and also where it can no longer be written down:
/// a full disk must not keep a host changed. Doing it twice is the same as once.
///
/// # Errors
/// Where it could not be written down, after all of it was tried.
pub fn revert(host: &Host, journal: &mut Journal, cause: Cause) -> Result<Reverted, JournalError> {
    let Tried { reverted, written } = try_all(host, journal, cause);
    written.map(|()| reverted)
}

/// Changes of which each was tried to be put back.
pub(crate) struct Tried {
    pub(crate) reverted: Reverted,
    /// An error where what they came to is not written down.
    pub(crate) written: Result<(), JournalError>,
}

/// Puts back all that a journal's changes left, once.
pub(crate) fn try_all(host: &Host, journal: &mut Journal, cause: Cause) -> Tried {
    let outstanding: Vec<StepState> = journal.state().outstanding().rev().cloned().collect();
    let started_anew = journal.state().started_anew(host);
    let mut reverted = Reverted::default();
    let mut written = journal.append(Record::Reverting { at: Timestamp::now(), cause });
    for step in &outstanding {
        let outcome = steps::restore(host, step, started_anew);
        let record = Record::Restored { step: step.step, outcome: outcome.clone() };
        written = written.and_then(|()| journal.append(record));
        reverted.steps.push(RevertedStep::of(step, outcome));
    }
    // What was not there may be again: the number of queues that was put back last gives interrupts their names back.
    for (step, seen) in outstanding.iter().zip(&mut reverted.steps) {
        if matches!(seen.outcome, Restored::Gone { .. }) {
            let outcome = steps::restore(host, step, started_anew);
            if outcome != seen.outcome {
                let record = Record::Restored { step: step.step, outcome: outcome.clone() };
                written = written.and_then(|()| journal.append(record));
                seen.outcome = outcome;
            }
        }
    }
    let written = written.and_then(|()| end(journal));
    Tried { reverted, written }
}

/// Writes down what was put back earlier, where it is not: nothing of the host is looked at or changed.
///
/// # Errors
/// Where it cannot be written down now.
pub(crate) fn note(journal: &mut Journal, cause: Cause, reverted: &Reverted) -> Result<(), JournalError> {
    if journal.state().reverting.is_none() {
        journal.append(Record::Reverting { at: Timestamp::now(), cause })?;
    }
    let outstanding: Vec<u32> = journal.state().outstanding().map(|step| step.step).collect();
    for seen in reverted.steps.iter().filter(|seen| outstanding.contains(&seen.step)) {
        journal.append(Record::Restored { step: seen.step, outcome: seen.outcome.clone() })?;
    }
    end(journal)
}

/// The end of changes of which none is left.
fn end(journal: &mut Journal) -> Result<(), JournalError> {
    let is_left = journal.state().outstanding().next().is_some();
    if is_left { Ok(()) } else { journal.append(Record::Reverted { at: Timestamp::now() }) }
}

/// Puts back what a journal says without writing that down: it is lost, or cannot be written.
pub fn revert_without_journal(host: &Host, state: &JournalState) -> Reverted {
    let started_anew = state.started_anew(host);
    let restored = |step| RevertedStep::of(step, steps::restore(host, step, started_anew));
    let steps = state.outstanding().rev().map(restored);
    Reverted { steps: steps.collect() }
}

impl RevertedStep {
    fn of(step: &StepState, outcome: Restored) -> Self {
        let setting = step.change.target.key.clone();
        RevertedStep { step: step.step, setting, before: step.change.before.clone(), outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{ClusterPart, ClusterSettings};
    use crate::journal::{JournalOwner, Places};
    use crate::setting::Setting;
    use plumb_observe::HostRoot;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    const NAME: &str = "net.core.somaxconn";

    fn write(root: &Path, path: &str, value: &str) {
        let path = root.join("proc/sys").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{value}\n")).unwrap();
    }

    /// A change from 4096 to 8192 that was begun, and made unless the power went; then the machine was started anew, and the setting reads
    /// `reads`. What became of it, and what it reads then.
    fn after_a_start(is_made: bool, reads: &str) -> (Restored, String) {
        let (root, journals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(root.path(), "kernel/random/boot_id", "the first");
        write(root.path(), "net/core/somaxconn", "4096");
        let host = Host::below(HostRoot::new(root.path()));
        let places = Places { own: journals.path().to_owned(), others: Vec::new() };
        let owner = JournalOwner::Plan { confirm_within_s: None, changes: 1, bootstrap: None };
        let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
        let setting = Setting::new(NAME).unwrap();
        let change = steps::change(&setting, &host, "8192").unwrap();
        match is_made {
            true => {
                steps::make(&host, &mut journal, &change).unwrap();
            }
            false => journal.append(Record::Begun { step: 1, change, identity: None }).unwrap(),
        }
        write(root.path(), "kernel/random/boot_id", "the second");
        write(root.path(), "net/core/somaxconn", reads);
        assert!(!journal.state().is_left(&host));
        let reverted = revert(&host, &mut journal, Cause::Asked).unwrap();
        (reverted.steps[0].outcome.clone(), setting.read(&host).unwrap())
    }

    #[test]
    fn what_ended_with_the_machines_start_is_not_forced_on_the_next_one() {
        let left = |reads: &str| (Restored::Foreign { reads: reads.to_owned() }, reads.to_owned());
        for is_made in [true, false] {
            assert_eq!(after_a_start(is_made, "4096"), (Restored::Unchanged, "4096".to_owned()));
            // Another value of this start's own, and one that files make last.
            assert_eq!(after_a_start(is_made, "128"), left("128"));
            assert_eq!(after_a_start(is_made, "8192"), left("8192"));
        }
    }

    /// A change from 4096 to 8192 whose way back somebody has edited, put back: what became of it, and what it reads then.
    fn with_way_back(edit: impl FnOnce(&mut Vec<plumb_model::change::Assignment>)) -> (Restored, String) {
        let (root, journals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(root.path(), "net/core/somaxconn", "4096");
        let host = Host::below(HostRoot::new(root.path()));
        let places = Places { own: journals.path().to_owned(), others: Vec::new() };
        let owner = JournalOwner::Plan { confirm_within_s: None, changes: 1, bootstrap: None };
        let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
        let setting = Setting::new(NAME).unwrap();
        let mut change = steps::change(&setting, &host, "8192").unwrap();
        edit(&mut change.inverse);
        steps::make(&host, &mut journal, &change).unwrap();
        let reverted = revert(&host, &mut journal, Cause::Asked).unwrap();
        (reverted.steps[0].outcome.clone(), setting.read(&host).unwrap())
    }

    #[test]
    fn a_way_back_that_was_edited_is_not_told_as_put_back() {
        assert_eq!(with_way_back(|_| {}), (Restored::Restored, "4096".to_owned()));
        // To another value, to the one that is in effect, and to none.
        for (edited, reads) in [(Some("7777"), "7777"), (Some("8192"), "8192"), (None, "8192")] {
            let (outcome, now) = with_way_back(|back| match edited {
                Some(value) => back[0].value = value.to_owned(),
                None => back.clear(),
            });
            let Restored::Failed { reason } = outcome else { panic!("{outcome:?}") };
            assert!(reason.contains(reads) && reason.contains("not to 4096"), "{reason}");
            assert_eq!(now, reads);
        }
    }

    /// A cluster of one key. While it is 2, this host has no accept queue: as a card whose queues are made anew has other interrupts.
    struct Resetting {
        root: PathBuf,
    }

    impl ClusterSettings for Resetting {
        fn brokers(&self) -> Vec<i32> {
            vec![1]
        }

        fn own_value(&self, _of: &ClusterPart, _key: &str) -> Result<Option<String>, String> {
            std::fs::read_to_string(self.root.join("key")).map(Some).map_err(|error| error.to_string())
        }

        fn value_in_force(&self, of: &ClusterPart, key: &str) -> Result<String, String> {
            Ok(self.own_value(of, key)?.unwrap_or_default())
        }

        fn set(&self, _of: &ClusterPart, _key: &str, value: Option<&str>) -> Result<(), String> {
            let value = value.unwrap_or_default();
            std::fs::write(self.root.join("key"), value).map_err(|error| error.to_string())?;
            match value {
                "2" => std::fs::remove_file(self.root.join("proc/sys/net/core/somaxconn"))
                    .map_err(|error| error.to_string()),
                _ => {
                    write(&self.root, "net/core/somaxconn", "4096");
                    Ok(())
                }
            }
        }
    }

    #[test]
    fn what_another_change_took_away_and_brings_back_is_told_as_put_back() {
        let (root, journals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(root.path(), "net/core/somaxconn", "4096");
        std::fs::write(root.path().join("key"), "4").unwrap();
        let cluster = Arc::new(Resetting { root: root.path().to_owned() });
        let host = Host::below(HostRoot::new(root.path())).with_cluster(cluster);
        let places = Places { own: journals.path().to_owned(), others: Vec::new() };
        let owner = JournalOwner::Plan { confirm_within_s: None, changes: 2, bootstrap: None };
        let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
        let wanted = [("broker:1:num.io.threads", "2"), (NAME, "8192")];
        let changes =
            wanted.map(|(name, value)| steps::change(&Setting::new(name).unwrap(), &host, value).unwrap());
        let failed =
            crate::apply::apply(&host, &mut journal, &changes, &mut crate::apply::Unseen).unwrap_err();
        assert!(failed.to_string().contains("all 2 changes that were begun are put back"), "{failed}");
        assert!(journal.state().is_settled());
        assert_eq!(journal.state().steps[1].restored, Some(Restored::Unchanged));
    }

    /// A cluster of one key that may answer or not.
    struct Away(std::sync::atomic::AtomicBool);

    impl Away {
        fn told(&self) -> Result<String, String> {
            match self.0.load(std::sync::atomic::Ordering::Relaxed) {
                true => Err("no broker answers".to_owned()),
                false => Ok("4".to_owned()),
            }
        }
    }

    impl ClusterSettings for Away {
        fn brokers(&self) -> Vec<i32> {
            vec![1]
        }

        fn own_value(&self, _of: &ClusterPart, _key: &str) -> Result<Option<String>, String> {
            self.told().map(Some)
        }

        fn value_in_force(&self, _of: &ClusterPart, _key: &str) -> Result<String, String> {
            self.told()
        }

        fn set(&self, _of: &ClusterPart, _key: &str, _value: Option<&str>) -> Result<(), String> {
            self.told().map(drop)
        }
    }

    #[test]
    fn what_a_broker_that_does_not_answer_has_kept_is_still_to_be_put_back() {
        let journals = tempfile::tempdir().unwrap();
        let cluster = Arc::new(Away(false.into()));
        let host = Host::default().with_cluster(Arc::clone(&cluster) as Arc<dyn ClusterSettings>);
        let places = Places { own: journals.path().to_owned(), others: Vec::new() };
        let owner = JournalOwner::Trial { run: "r".into(), bootstrap: Some("b:1".to_owned()) };
        let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
        let setting = Setting::new("broker:1:num.io.threads").unwrap();
        let change = steps::change(&setting, &host, "4").unwrap();
        steps::make(&host, &mut journal, &change).unwrap();
        cluster.0.store(true, std::sync::atomic::Ordering::Relaxed);
        let reverted = revert(&host, &mut journal, Cause::BlockOver).unwrap();
        assert!(matches!(reverted.steps[0].outcome, Restored::Failed { .. }), "{reverted:?}");
        assert!(journal.state().is_left(&host));
    }
}
