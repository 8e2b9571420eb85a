//! Time off the processor by thread name and kernel stack. The writer is `programs/off_cpu.bpf.c`.

use std::collections::HashMap;

use aya::maps::{HashMap as BpfHashMap, MapError, PerCpuHashMap, StackTraceMap};
use plumb_model::observed::OffCpuStack;
use rustix::time::{ClockId, clock_gettime};

use super::KernelCounts;
use super::source::Source;
use super::symbols::{Symbols, unnamed};

/// Stacks of each process that are kept.
const STACKS_MAX: usize = 40;

/// The kernel's names; 10 MB is usual.
const KALLSYMS: &str = "/proc/kallsyms";

/// What the functions between a trace point and a program are called, after underscores.
const TRACER: [&str; 3] = ["traceiter_", "bpf_trace_", "bpf_trampoline_"];

/// `struct place`: the process, number of the stack, then the thread's name.
type Place = [u64; 4];

/// Time and times of a place.
#[derive(Clone, Copy, Default)]
struct Total {
    time_ns: u64,
    count: u64,
}

/// The stacks with the most time, of each process. A thread that is off the processor at the end counts up to then.
pub(super) fn off_cpu(mut source: Source<'_>, counts: &mut KernelCounts) -> Result<(), MapError> {
    let longest = longest(totals(&mut source)?);
    for entry in PerCpuHashMap::<_, u32, u64>::try_from(source.take("lost")?)?.iter() {
        let (pid, cpus) = entry?;
        let lost: u64 = cpus.iter().sum();
        if lost > 0 {
            let times = format!(
                "off_cpu: {lost} times off the processor of process {pid}, for which there was no room"
            );
            counts.host.missing.push(times);
        }
    }

    let symbols = source.root.read(KALLSYMS).ok().and_then(|text| Symbols::parse(&text));
    if symbols.is_none() {
        let names = format!("off_cpu: the names of functions, {KALLSYMS} does not show where they are");
        counts.host.missing.push(names);
    }
    let name = |address| symbols.as_ref().map_or_else(|| unnamed(address), |symbols| symbols.name(address));
    let stacks = StackTraceMap::try_from(source.take("stacks")?)?;
    for (place, Total { time_ns, count }) in longest {
        // Below 0 there is no stack.
        let stack = u32::try_from(place[1]).ok().and_then(|number| stacks.get(&number, 0).ok());
        let addresses = stack.iter().flat_map(|stack| stack.frames()).map(|frame| frame.ip);
        let frames = without_tracer(addresses.map(name).collect());
        let stack = OffCpuStack { thread: thread_name(&place), frames, time_ns, count };
        counts.of_process(pid_of(&place)).off_cpu.push(stack);
    }
    Ok(())
}

/// Time and times of all places.
fn totals(source: &mut Source<'_>) -> Result<HashMap<Place, Total>, MapError> {
    let now_ns = monotonic_ns();
    let mut totals: HashMap<Place, Total> = HashMap::new();
    for entry in PerCpuHashMap::<_, Place, [u64; 2]>::try_from(source.take("off_cpu")?)?.iter() {
        let (place, cpus) = entry?;
        for [time_ns, count] in cpus.iter() {
            add(&mut totals, place, *time_ns, *count);
        }
    }
    for entry in BpfHashMap::<_, u32, [u64; 5]>::try_from(source.take("off")?)?.iter() {
        let (_thread, [since_ns, place @ ..]) = entry?;
        add(&mut totals, place, now_ns.saturating_sub(since_ns), 1);
    }
    Ok(totals)
}

/// The places with the most time of each process, longest first.
fn longest(totals: HashMap<Place, Total>) -> Vec<(Place, Total)> {
    let mut longest: Vec<(Place, Total)> = totals.into_iter().collect();
    longest.sort_by(|(place, a), (other, b)| b.time_ns.cmp(&a.time_ns).then_with(|| place.cmp(other)));
    let mut kept: HashMap<u32, usize> = HashMap::new();
    longest.retain(|(place, _)| {
        let of_process = kept.entry(pid_of(place)).or_default();
        *of_process += 1;
        *of_process <= STACKS_MAX
    });
    longest
}

fn pid_of(place: &Place) -> u32 {
    u32::try_from(place[0]).unwrap_or_default()
}

/// Frames from the outermost, without the innermost ones through which the trace point called the program.
fn without_tracer(mut innermost_first: Vec<String>) -> Vec<String> {
    let calls_program = |frame: &String| {
        TRACER.iter().any(|start| frame.strip_prefix("__").unwrap_or(frame).starts_with(start))
    };
    let outside = innermost_first.iter().rposition(calls_program).map_or(0, |last| last + 1);
    innermost_first.drain(..outside);
    innermost_first.reverse();
    innermost_first
}

fn add(totals: &mut HashMap<Place, Total>, place: Place, time_ns: u64, count: u64) {
    let total = totals.entry(place).or_default();
    total.time_ns = total.time_ns.saturating_add(time_ns);
    total.count = total.count.saturating_add(count);
}

/// The 16 bytes of `comm`, up to the first zero.
fn thread_name(&[_, _, first, second]: &Place) -> String {
    let bytes: Vec<u8> =
        [first, second].into_iter().flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The clock of `bpf_ktime_get_ns`.
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let ns = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(ns).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_ends_where_the_kernel_was_before_it_called_the_program() {
        let frames = ["bpf_prog_1_f", "bpf_trace_run4", "__traceiter_sched_switch", "__schedule", "schedule"];
        let stack = without_tracer(frames.map(str::to_owned).to_vec());
        assert_eq!(stack, ["schedule", "__schedule"]);
        assert_eq!(without_tracer(vec!["0xffff10".to_owned()]), ["0xffff10"]);
    }

    #[test]
    fn a_threads_name_ends_at_its_zero_or_after_16_bytes() {
        let place = |name: &[u8; 16]| {
            let (first, second) = name.split_at(8);
            [
                0,
                0,
                u64::from_ne_bytes(first.try_into().unwrap()),
                u64::from_ne_bytes(second.try_into().unwrap()),
            ]
        };
        assert_eq!(thread_name(&place(b"jbd2/loop0-8\0xyz")), "jbd2/loop0-8");
        assert_eq!(thread_name(&place(b"data-plane-kafka")), "data-plane-kafka");
    }

    #[test]
    fn a_process_that_waits_little_keeps_its_stacks_beside_one_that_waits_long() {
        let total = |time_ns| Total { time_ns, count: 1 };
        let long = (0..100).map(|stack| ([7, stack, 0, 0], total(1_000_000 + stack)));
        let short = (0..3).map(|stack| ([8, stack, 0, 0], total(1 + stack)));
        let kept = longest(long.chain(short).collect());
        let of = |pid| kept.iter().filter(|(place, _)| pid_of(place) == pid).count();
        assert_eq!((of(7), of(8)), (STACKS_MAX, 3));
        assert_eq!(kept[0].0, [7, 99, 0, 0]);
    }
}
