//! A host against what it needs, and the changes that follow: [`check`] is what was found, [`plan`] what is to be changed, [`hosts`] several
//! hosts held against each other.

pub mod check;
pub mod hosts;
pub mod plan;

use plumb_model::check::{CpuUse, Evidence, SettingCheck};
use plumb_model::figure::{self, ABSENT};

/// Evidence in words: `TcpExt.ListenOverflows grew by 12 connections in 10 s`.
pub(crate) fn evidence(evidence: &Evidence) -> String {
    let amount = match evidence.amount.fract() == 0.0 && evidence.amount >= 0.0 {
        true => figure::count(evidence.amount as u64),
        false => figure::short(evidence.amount),
    };
    let amount = format!("{amount} {}", evidence.unit);
    match evidence.over_s {
        // A share of the time is no growth.
        Some(seconds) if evidence.unit == "%" => {
            format!("{}: {amount} over {}", evidence.counter, figure::time(seconds * 1e9))
        }
        Some(seconds) => format!("{} grew by {amount} in {}", evidence.counter, figure::time(seconds * 1e9)),
        None => format!("{}: {amount}", evidence.counter),
    }
}

/// All of it, one after the other.
pub(crate) fn evidence_list(list: &[Evidence]) -> String {
    list.iter().map(evidence).collect::<Vec<_>>().join("; ")
}

/// A setting of a thing: `rings of eth0`.
pub(crate) fn name(id: &str, target: &str) -> String {
    match target {
        "" => id.to_owned(),
        target => format!("{id} of {target}"),
    }
}

/// What is in effect, with what was set where that is something else.
pub(crate) fn now(check: &SettingCheck) -> String {
    match (&check.configured, &check.effective) {
        (Some(set), Some(effective)) if set != effective => format!("{effective} (set: {set})"),
        (Some(value), _) | (None, Some(value)) => value.clone(),
        (None, None) => ABSENT.to_owned(),
    }
}

/// A setting in a sentence or two: what it is, what is usual, why.
pub(crate) fn told(check: &SettingCheck) -> String {
    let usual = check.recommended.as_ref().map(|usual| format!(", usually {usual}")).unwrap_or_default();
    let by_hand = match check.by_hand.as_str() {
        "" => String::new(),
        commands => format!(" By hand: {commands}."),
    };
    format!("{}: {}{usual}. {}{by_hand}", name(&check.id, &check.target), now(check), sentence(&check.reason))
}

/// A sentence with a capital and a full stop. A name that comes first (`vm.swappiness`, `/proc/net/tcp`) stays as it is written.
pub(crate) fn sentence(words: &str) -> String {
    let words = words.trim().trim_end_matches('.');
    let is_name = words.split(' ').next().is_some_and(|first| first.contains(['.', '_', '/', '`']));
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if !is_name => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        Some(_) => format!("{words}."),
        None => String::new(),
    }
}

/// Processors of one use together, for people: `0-3 (node 0): interrupts of eth0; planned for both`.
pub(crate) fn cpu_rows(cpus: &[CpuUse]) -> Vec<Vec<String>> {
    let mut rows: Vec<(Vec<u32>, &CpuUse)> = Vec::new();
    for cpu in cpus {
        let alike = |other: &CpuUse| {
            (other.node, &other.interrupts, &other.planned) == (cpu.node, &cpu.interrupts, &cpu.planned)
        };
        match rows.iter_mut().find(|(_, other)| alike(other)) {
            Some((numbers, _)) => numbers.push(cpu.cpu),
            None => rows.push((vec![cpu.cpu], cpu)),
        }
    }
    let row = |(numbers, cpu): (Vec<u32>, &CpuUse)| {
        let interrupts =
            if cpu.interrupts.is_empty() { ABSENT.to_owned() } else { cpu.interrupts.join(", ") };
        vec![ranges(&numbers), cpu.node.to_string(), interrupts, cpu.planned.clone()]
    };
    rows.into_iter().map(row).collect()
}

fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_unless_a_name_begins_it() {
        assert_eq!(sentence("the clock follows nobody"), "The clock follows nobody.");
        assert_eq!(sentence("vm.swappiness is 60."), "vm.swappiness is 60.");
        assert_eq!(sentence("/proc/net/tcp cannot be read"), "/proc/net/tcp cannot be read.");
        assert_eq!(sentence(" "), "");
    }

    #[test]
    fn a_counter_grew_a_level_is_and_a_share_is_over_its_time() {
        let of = |unit: &str, over_s| Evidence {
            counter: "c".to_owned(),
            amount: 1200.0,
            unit: unit.to_owned(),
            over_s,
        };
        assert_eq!(evidence(&of("packets", Some(10.0))), "c grew by 1,200 packets in 10.0 s");
        assert_eq!(evidence(&of("ports", None)), "c: 1,200 ports");
        assert_eq!(evidence(&of("%", Some(10.0))), "c: 1,200 % over 10.0 s");
    }
}
