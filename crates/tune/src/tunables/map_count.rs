//! `vm.max_map_count`: parts of memory that a process may have. A broker maps two files for each segment; at the limit it ends with "Map
//! failed".

use super::near_limit::Use;
use super::{Context, Look, Tunable};
use plumb_model::check::Risk;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "map-count",
    title: "parts of memory that a process may have",
    risk: Risk::Low,
    interrupts: "",
    source: "Apache Kafka documentation, operations; kernel documentation, admin-guide/sysctl/vm.rst; the share of 70 % is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.processes.is_empty() {
        return vec![Look::not_applicable("", "no process was named, and no broker was found")];
    }
    let mut looks = Vec::new();
    let mut most: Option<(u32, u64)> = None;
    for process in context.processes {
        match context.host.root().read(&format!("/proc/{process}/maps")) {
            Ok(text) => {
                let maps = text.lines().count() as u64;
                most = most.filter(|(_, most)| *most >= maps).or(Some((*process, maps)));
            }
            Err(error) => looks.push(Look::unknown(&format!("process {process}"), error.to_string())),
        }
    }
    // One limit is every process's: the one that has most decides.
    if let Some((process, used)) = most {
        let near = Use {
            setting: "vm.max_map_count",
            counter: &format!("maps of process {process}"),
            unit: "maps",
            used,
            at_least: 262_144,
            at_most: u64::from(u32::MAX / 2),
            reason: "at the limit a broker ends, and it ends again whenever it is started",
            expected: "room for more partitions and segments",
        };
        looks.push(near.look(context, ""));
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(maps: usize) -> Recorded {
        Recorded::new()
            .process(77)
            .file("/proc/sys/vm/max_map_count", "100\n")
            .file("/proc/77/maps", &"7f00-7f01 r--p 00000000 08:01 1 /data/0.index\n".repeat(maps))
    }

    #[test]
    fn a_process_near_the_limit_is_a_change_that_goes_back() {
        let near = host(80);
        let check = &near.check("map-count")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("262144")));
        near.changes_go_back("map-count");
    }

    #[test]
    fn a_limit_that_is_far_is_right_and_one_that_cannot_be_seen_is_unknown() {
        assert_eq!(host(60).check("map-count")[0].status, Status::Ok);
        assert_eq!(Recorded::new().process(77).check("map-count")[0].status, Status::Unknown);
        assert_eq!(Recorded::new().check("map-count")[0].status, Status::NotApplicable);
    }
}
