//! The processors that serve the interrupts of an interface's queues, each by its name: numbers change with every start of the driver.
//!
//! What is held against the plan is where the hardware sends them, not where they may go. An interrupt that the kernel places itself is known
//! by trying alone: its change is skipped then.

use super::network::{HOT, hot_by, interfaces, near};
use super::{Context, Look, Tunable, channels, cpu_placement, process_affinity};
use crate::cpus;
use crate::devices::{DeviceInterrupt, Interface};
use crate::queues;
use crate::setting::Setting;
use plumb_model::change::Assignment;
use plumb_model::check::{Evidence, Risk, Status};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "interrupts",
    title: "processors that serve an interface's interrupts",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, core-api/irq/irq-affinity.rst and networking/scaling.rst; the bounds of 10 % far, 100 interrupts a second and half of a processor are ours",
    look,
};

/// Interrupts served on far processors, of all, that are many. Ours.
const FAR: f64 = 0.1;
/// Interrupts a second from which on it matters where they are served. Ours.
const TELLING_PER_S: f64 = 100.0;

fn look(context: &Context<'_>) -> Vec<Look> {
    // Interfaces that share processors go on where the one before stopped, so that not all begin with the same.
    let mut begun: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut of = |interface: &Interface| {
        let order = context.placement.for_interrupts(&near(context, interface));
        let queues = placed(context, interface);
        let numbers: BTreeSet<u32> = queues.iter().map(|queue| queue.number).collect();
        let first = begun.entry(order.clone()).or_default();
        let plan = Plan { context, interface, first: *first, order, numbers };
        *first += plan.numbers.len();
        plan.look(&queues)
    };
    let looks: Vec<Look> = interfaces(context).map(&mut of).collect();
    match looks.is_empty() {
        true => vec![Look::not_applicable("", "no network interface that is a device is up")],
        false => looks,
    }
}

/// An interrupt of a queue and where it is.
struct Placed {
    interrupt: DeviceInterrupt,
    number: u32,
    configured: BTreeSet<u32>,
    /// Where the hardware sends it; where that is not told, where it was served most.
    effective: BTreeSet<u32>,
}

fn placed(context: &Context<'_>, interface: &Interface) -> Vec<Placed> {
    let of = |interrupt: DeviceInterrupt| {
        let setting = Setting::new(&interrupt.setting).ok()?;
        let configured = cpus::parse_list(&setting.read(context.host).ok()?)?;
        let mut effective = setting.effective(context.host).ok().and_then(|text| cpus::parse_list(&text))?;
        let served = queues::served(context.window, &interrupt.name);
        if effective.len() > 1
            && let Some((cpu, _)) = served.iter().max_by_key(|(_, growth)| **growth)
        {
            effective = [*cpu].into();
        }
        Some(Placed {
            number: queues::number(&interrupt.name).unwrap_or(0),
            interrupt,
            configured,
            effective,
        })
    };
    queues::interrupts(context.host, &interface.name).into_iter().filter_map(of).collect()
}

/// Where the interrupts of one interface should go.
struct Plan<'p> {
    context: &'p Context<'p>,
    interface: &'p Interface,
    /// The place in the order with which it begins.
    first: usize,
    order: Vec<u32>,
    numbers: BTreeSet<u32>,
}

impl Plan<'_> {
    fn look(&self, queues: &[Placed]) -> Look {
        let name = &self.interface.name;
        if self.order.is_empty() {
            return Look::unknown(name, "the kernel does not say which processors are on line");
        }
        if queues.is_empty() {
            return Look::not_applicable(name, self.no_interrupts());
        }
        let all = |of: fn(&Placed) -> &BTreeSet<u32>| -> String {
            cpus::list(&queues.iter().flat_map(|queue| of(queue).iter().copied()).collect())
        };
        let (configured, effective) = (all(|queue| &queue.configured), all(|queue| &queue.effective));
        let evidence = self.evidence(queues);
        let is_met = self.is_met(queues);
        let to_change = |queue: &&Placed| queue.configured != [self.wanted(queue.number)].into();
        let waits_for = self.waits_for();
        let assignments: Vec<Assignment> = match is_met || waits_for.is_some() {
            true => Vec::new(),
            false => queues.iter().filter(to_change).map(|queue| self.assignment(queue)).collect(),
        };
        let status = match (is_met, evidence.is_empty(), assignments.is_empty()) {
            (true, ..) => Status::Ok,
            (_, true, _) => Status::NoEvidence,
            // Set already, and the hardware does otherwise; or something else comes first.
            (_, _, true) => Status::Advice,
            _ => Status::Change,
        };
        Look {
            configured: Some(configured),
            effective: Some(effective),
            recommended: Some(cpus::list(&self.order.iter().copied().collect())),
            evidence,
            assignments,
            expected: "a packet stays in the memory that is near, and each queue has a processor of its own as far as there are enough".to_owned(),
            ..Look::plain(name, status, self.reason(is_met, waits_for))
        }
    }

    /// What has to be settled before they are moved.
    fn waits_for(&self) -> Option<&'static str> {
        if cpu_placement::is_too_small(self.context) {
            return Some(cpu_placement::TOO_SMALL);
        }
        channels::are_made_anew(self.context, self.interface).then_some(channels::FIRST)
    }

    fn no_interrupts(&self) -> &'static str {
        match self.interface.driver.as_deref() {
            Some("hv_netvsc") => {
                "Hyper-V's packets come by channels of the VMBus, each of which is bound to a processor, and not by interrupts of this interface"
            }
            _ => "no interrupt of its queues can be seen",
        }
    }

    fn reason(&self, is_met: bool, waits_for: Option<&str>) -> String {
        if let Some(reason) = waits_for.filter(|_| !is_met) {
            return reason.to_owned();
        }
        match (is_met, self.context.placement.is_dedicated()) {
            (true, _) => "the interrupts of its queues are served where the plan has them".to_owned(),
            (false, true) => "the plan keeps processors for interrupts alone; move the application off them, too (process-affinity), as one without the other is worse than neither".to_owned(),
            (false, false) => "its queues' interrupts are served far from it, or several by one processor while others have none".to_owned(),
        }
    }

    /// The processor of a queue.
    fn wanted(&self, number: u32) -> u32 {
        let rank = self.numbers.iter().position(|own| *own == number).unwrap_or(0);
        self.order[(self.first + rank) % self.order.len()]
    }

    fn assignment(&self, queue: &Placed) -> Assignment {
        Assignment { key: queue.interrupt.setting.clone(), value: self.wanted(queue.number).to_string() }
    }

    /// True if every queue is on a processor of the plan, and none has more than its part.
    fn is_met(&self, queues: &[Placed]) -> bool {
        let planned: BTreeSet<u32> = self.order.iter().copied().collect();
        let part = self.numbers.len().div_ceil(self.order.len());
        let mut on: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for queue in queues.iter().filter(|queue| queue.effective.len() == 1) {
            for cpu in &queue.effective {
                on.entry(*cpu).or_default().insert(queue.number);
            }
        }
        queues.iter().all(|queue| queue.effective.is_subset(&planned))
            && on.values().all(|own| own.len() <= part)
    }

    fn evidence(&self, queues: &[Placed]) -> Vec<Evidence> {
        let served: Vec<BTreeMap<u32, u64>> =
            queues.iter().map(|queue| queues::served(self.context.window, &queue.interrupt.name)).collect();
        let mut evidence: Vec<Evidence> =
            self.far(&served).into_iter().chain(self.crowded(queues, &served)).collect();
        if self.context.placement.is_dedicated() {
            evidence.extend(process_affinity::evidence(self.context, &self.context.placement.application));
        }
        evidence
    }

    /// Interrupts that were served on processors of other memory nodes, where those are many.
    fn far(&self, served: &[BTreeMap<u32, u64>]) -> Option<Evidence> {
        let near = near(self.context, self.interface);
        let sum = |is_counted: &dyn Fn(&u32) -> bool| -> u64 {
            served.iter().flatten().filter(|(cpu, _)| is_counted(cpu)).map(|(_, growth)| growth).sum()
        };
        let (all, far) = (sum(&|_| true), sum(&|cpu| !near.contains(cpu)));
        let window_s = self.context.window.seconds();
        let is_much = all as f64 >= TELLING_PER_S * window_s && far as f64 >= FAR * all as f64;
        is_much.then(|| Evidence {
            counter: format!("{} interrupts on far processors, of {all}", self.interface.name),
            amount: far as f64,
            unit: "interrupts".to_owned(),
            over_s: Some(window_s),
        })
    }

    /// A hot processor that served several queues while one of the plan served none.
    fn crowded(&self, queues: &[Placed], served: &[BTreeMap<u32, u64>]) -> Option<Evidence> {
        let (cpu, hot) = hot_by(self.context, self.interface, HOT)?;
        let on_it: BTreeSet<u32> = queues
            .iter()
            .zip(served)
            .filter(|(_, by)| by.contains_key(&cpu))
            .map(|(queue, _)| queue.number)
            .collect();
        let has_idle = self.order.iter().any(|own| !served.iter().any(|by| by.contains_key(own)));
        (on_it.len() > 1 && has_idle).then_some(hot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    /// Two nodes of 4; the interface hangs on the second, and all of its interrupts go to processor 0.
    fn host() -> Recorded {
        Recorded::interface("eth0", "ixgbe", 2)
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .file("/sys/devices/system/node/node0/cpulist", "0-3\n")
            .file("/sys/devices/system/node/node1/cpulist", "4-7\n")
            .file("/sys/devices/pci0000:3a/0000:3b:00.0/numa_node", "1\n")
    }

    fn served(host: Recorded, cpu: u32) -> Recorded {
        host.grew(&format!("irq.eth0-TxRx-0.cpu{cpu}"), 50_000)
            .grew(&format!("irq.eth0-TxRx-1.cpu{cpu}"), 50_000)
    }

    fn assigned(check: &SettingCheck) -> Vec<(&str, &str)> {
        check.assignments.iter().map(|to| (to.key.as_str(), to.value.as_str())).collect()
    }

    #[test]
    fn interrupts_on_far_processors_are_a_change_to_near_ones_and_the_links_own_stays() {
        let far = served(host(), 0).shared();
        let check = &far.check("interrupts")[0];
        assert_eq!((check.status, check.evidence[0].amount), (Status::Change, 100_000.0));
        assert_eq!(
            assigned(check),
            [("irq:0000:3b:00.0:eth0-TxRx-0", "4"), ("irq:0000:3b:00.0:eth0-TxRx-1", "5")]
        );
        far.changes_go_back("interrupts");
        assert_eq!(host().check("interrupts")[0].status, Status::NoEvidence);
    }

    #[test]
    fn where_the_hardware_sends_them_counts_and_not_where_they_may_go() {
        let allowed = served(host(), 4)
            .shared()
            .file("/proc/irq/40/smp_affinity_list", "0-7\n")
            .file("/proc/irq/40/effective_affinity_list", "4\n")
            .file("/proc/irq/41/effective_affinity_list", "6\n");
        assert_eq!(allowed.check("interrupts")[0].status, Status::Ok);
        let elsewhere = served(host(), 0)
            .shared()
            .file("/proc/irq/40/smp_affinity_list", "4\n")
            .file("/proc/irq/41/smp_affinity_list", "5\n");
        let check = &elsewhere.check("interrupts")[0];
        assert_eq!(
            (check.status, check.assignments.len(), check.effective.as_deref()),
            (Status::Advice, 0, Some("0"))
        );
    }

    #[test]
    fn queues_crowded_on_a_hot_processor_are_a_change() {
        let crowd = served(host(), 4)
            .shared()
            .file("/proc/irq/40/effective_affinity_list", "4\n")
            .file("/proc/irq/41/effective_affinity_list", "4\n");
        assert_eq!(crowd.check("interrupts")[0].status, Status::NoEvidence);
        let hot = crowd.grew("cpu4.softirq_ticks", 700).grew("cpu4.idle_ticks", 300);
        assert_eq!(
            (hot.check("interrupts")[0].status, hot.check("interrupts")[0].evidence.len()),
            (Status::Change, 1)
        );
    }

    #[test]
    fn an_interface_without_interrupts_of_its_own_says_why() {
        let hyperv = Recorded::interface("eth0", "hv_netvsc", 0)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n")
            .file("/proc/interrupts", " CPU0\nHYP: 5 Hypervisor callback interrupts\n");
        let check = &hyperv.check("interrupts")[0];
        assert_eq!(check.status, Status::NotApplicable);
        assert!(check.reason.contains("VMBus"), "{}", check.reason);
    }
}
