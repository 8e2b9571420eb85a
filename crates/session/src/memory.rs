//! Memory for the labs of a plan: where they would not fit, none of them is started. Brokers that the kernel kills in the
//! middle, or that swap, would be measured as a property of an arm.

use crate::shortage::TooLittleMemory;
use plumb_model::plan::Plan;
use plumb_observe::{FreeMemory, HostRoot, free_memory};

/// Refuses a plan whose labs do not fit. Nothing is said where the machine does not tell what is free.
pub(super) fn check(plan: &Plan) -> Result<(), TooLittleMemory> {
    free_memory(&HostRoot::default()).map_or(Ok(()), |free| fits(plan, free))
}

fn fits(plan: &Plan, free: FreeMemory) -> Result<(), TooLittleMemory> {
    let labs = plan.labs();
    let needed_bytes = labs.iter().filter_map(|lab| lab.memory_bytes()).fold(0, u64::saturating_add);
    if needed_bytes <= free.bytes {
        return Ok(());
    }
    let labs = match labs.len() {
        1 => "the lab".to_owned(),
        several => format!("{several} labs that are up at the same time"),
    };
    Err(TooLittleMemory { labs, needed_bytes, free })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::plan::ClusterPlan;
    use plumb_model::resolve::Sources;

    /// A trial whose arms have brokers of their own: three labs, with the reference's second one.
    fn plan() -> Plan {
        let file = "cluster: {lab: {heap: 1g}}\nload: {rate: 100, duration: 15s}\n\
                    arms:\n  a: {}\n  b: {cluster: {heap: 2g}}\n";
        let scenario = serde_saphyr::from_str(file).unwrap();
        plumb_model::resolve::resolve(&scenario, &Sources::new()).unwrap()
    }

    fn free(mib: u64) -> FreeMemory {
        FreeMemory { bytes: mib << 20, by_control_group: false }
    }

    #[test]
    fn labs_that_do_not_fit_beside_each_other_are_refused_with_both_figures() {
        let plan = plan();
        assert_eq!(plan.labs().len(), 3);
        // Heaps of 1, 2 and 1 GiB, and 256 MiB beside each.
        fits(&plan, free(4_864)).unwrap();
        let error = fits(&plan, free(4_863)).unwrap_err().to_string();
        assert!(
            error.starts_with("the brokers of 3 labs that are up at the same time need about 4.75 GiB"),
            "{error}"
        );
        assert!(error.ends_with("4.749 GiB are free on this machine"), "{error}");
        let limited = FreeMemory { by_control_group: true, ..free(100) };
        assert!(fits(&plan, limited).unwrap_err().to_string().ends_with("in this control group"));
    }

    #[test]
    fn brokers_that_are_there_need_nothing_of_this_machine() {
        let mut plan = plan();
        plan.steps.iter_mut().for_each(|step| step.cluster = None);
        plan.cluster =
            ClusterPlan::Brokers { bootstrap: "b:9092".to_owned(), config: None, metrics: Vec::new() };
        fits(&plan, free(0)).unwrap();
    }
}
