//! Whether the hypervisor gave the processors to other guests while messages were measured.

use crate::figure::percent;
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::finding::{Finding, Severity};

pub(super) const RULE: Rule = Rule {
    id: "noisy-host",
    title: "Noisy host",
    summary: "The hypervisor gave this host's processors to other guests.",
    page: include_str!("../../../../docs/findings/noisy-host.md"),
    severity: Severity::Suspect,
    about: About::Run,
    check,
};

/// Share of the processors' time that may be stolen (ours: a few percent are usual in clouds).
const STEAL_SHARE_MAX: f64 = 0.10;

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| theft(&setup)).collect()
}

fn theft(setup: &Setup) -> Option<Finding> {
    let blocks = setup.result.blocks.iter();
    let stolen = blocks.filter_map(|block| Some((block.block, block.host.as_ref()?.cpu.steal_share()?)));
    let (block, share) = stolen.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if share < STEAL_SHARE_MAX {
        return None;
    }
    let claim = format!(
        "The hypervisor took {} of the processors' time from this host in block {block}",
        percent(share)
    );
    Some(
        about_step(RULE.id, Severity::Suspect, setup.name(), claim)
            .seen_against(
                "stolen processor time",
                percent(share),
                format!("below {}", percent(STEAL_SHARE_MAX)),
            )
            .advise("Run again at another time, or on a machine whose processors are its own."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;
    use plumb_model::facts::{CpuTime, HostDelta};

    #[test]
    fn a_block_in_which_a_fifth_of_the_time_was_stolen_is_found() {
        let finding = assert_found(RULE.id, Severity::Suspect, |document| {
            let cpu = CpuTime { steal_ns: Some(2_000), total_ns: Some(10_000), ..CpuTime::default() };
            document.steps[0].blocks[3].host = Some(HostDelta { cpu, ..HostDelta::default() });
        });
        assert!(finding.claim.contains("20 %") && finding.claim.contains("block 3"), "{}", finding.claim);
    }
}
