//! Clocks and timers: what they mean for the latencies that Plumb prints first, then the figures.

use super::{DISTRIBUTION, cautions, conditions, distribution, median, or_absent, span, time, title};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::facts::Fact;
use plumb_model::figure;
use plumb_model::observation::Distribution;
use plumb_model::probe::{AcrossCpus, ClockProbe, ClockRead};

/// The whole sheet.
pub fn sheet(document: &ClockProbe) -> Sheet {
    let source = document.conditions.host.clock_source.value().map_or("unknown", String::as_str);
    Sheet {
        title: title(&format!("Clock {source}"), &document.conditions),
        findings: backward(document),
        cautions: cautions(&document.conditions),
        sections: vec![
            meaning(document),
            clocks(document),
            timers(document),
            pacing(document),
            wall_clock(document),
            conditions(&document.conditions),
        ],
        ..Sheet::default()
    }
}

/// A clock that goes back makes every latency doubtful.
fn backward(document: &ClockProbe) -> Vec<String> {
    let across = document.across_cpus.as_ref().filter(|across| across.backward > 0).map(|across| {
        format!(
            "{} goes back between processors: {} of {} readings were smaller than one made before, by up to {}. \
             Latencies measured on this host are off by as much.",
            across.clock,
            figure::count(across.backward),
            figure::count(across.handed_over),
            figure::time(across.backward_most_ns as f64)
        )
    });
    let alone = document.clocks.iter().filter(|clock| clock.went_back()).map(|clock| {
        format!(
            "{} went back {} on one processor.",
            clock.clock,
            figure::counted(clock.backward as usize, "time")
        )
    });
    across.into_iter().chain(alone).collect()
}

fn meaning(document: &ClockProbe) -> Section {
    let smallest = &document.smallest;
    let mut lines = Vec::new();
    if let Some(ns) = smallest.resolution_ns {
        lines.push(format!(
            "Two moments on this host that are closer than {} are not told apart (the larger of the clock's step and \
             the cost of a reading).",
            figure::time(ns)
        ));
    }
    lines.push(late_sends(document));
    lines.push(match smallest.wall_clock_error_ns {
        Some(ns) => format!(
            "Against another host's clock: this one may be off by {}, and the other's error adds to it.",
            figure::time(ns as f64)
        ),
        None => "Against another host's clock: unknown, as nothing says how far off this one is. Latencies between two \
                 hosts would be worth nothing; Plumb takes both ends of a latency from one clock."
            .to_owned(),
    });
    Section::sentences("Smallest that a latency can tell", "on this host", lines)
}

/// The worst median and the worst p99 may be of different schedules, as slow ones have too few sends for a p99: each is
/// named with its own.
fn late_sends(document: &ClockProbe) -> String {
    let worst = |quantile: fn(&Distribution) -> Option<u64>| {
        let late = document.pacing.iter().filter_map(|row| Some((quantile(&row.late)?, row.rate_per_s)));
        let (ns, rate_per_s) = late.max_by_key(|(ns, _)| *ns)?;
        Some(format!("{} late at {} sends/s", figure::time(ns as f64), figure::plain(rate_per_s)))
    };
    let (Some(p50), p99) = (worst(|late| late.p50_ns), worst(|late| late.p99_ns)) else {
        return "How late sends go out was not measured for long enough.".to_owned();
    };
    let p99 = p99.map(|p99| format!("; the worst p99 is {p99}")).unwrap_or_default();
    format!(
        "Latency counts from the intended send time. Of the schedules tried with Plumb's pacing (below), the worst median is \
         {p50}{p99}. That much of a latency is this host's timer, not the path's."
    )
}

fn clocks(document: &ClockProbe) -> Section {
    let columns = [
        Column::text("clock"),
        Column::number("reading"),
        Column::number("interval"),
        Column::number("by system call"),
        Column::number("step seen"),
        Column::number("step stated"),
        Column::text("vDSO"),
    ];
    let row = |clock: &ClockRead| {
        vec![
            clock.clock.clone(),
            median(clock.read_ns.as_ref(), figure::time),
            span(clock.read_ns.as_ref(), figure::time),
            median(clock.system_call_ns.as_ref(), figure::time),
            time(clock.step_ns),
            time(clock.stated_step_ns),
            or_absent(clock.vdso, |vdso| if vdso { "yes" } else { "no" }.to_owned()),
        ]
    };
    Section::table(
        "Clocks",
        "cost of a reading; vDSO: read without a system call",
        &columns,
        document.clocks.iter().map(row).collect(),
    )
}

fn timers(document: &ClockProbe) -> Section {
    let mut columns = vec![Column::number("period"), Column::number("slack")];
    columns.extend(DISTRIBUTION);
    columns.push(Column::number("missed"));
    let rows = document.timers.iter().map(|row| {
        let mut cells = vec![period(row.period_ns), time(row.slack_ns)];
        cells.extend(distribution(&row.late));
        cells.push(figure::count(row.missed));
        cells
    });
    Section::table(
        "Timer wake-ups",
        "how late a sleep until an absolute time ends (clock_nanosleep, TIMER_ABSTIME); missed: periods that were over before, \
         counted as late as the wake-up after them",
        columns,
        rows.collect(),
    )
}

/// A period as it was asked for: `100 µs` and not `0.10 ms`.
fn period(ns: u64) -> String {
    match ns {
        ns if ns.is_multiple_of(1_000_000) => format!("{} ms", ns / 1_000_000),
        ns if ns.is_multiple_of(1_000) => format!("{} µs", ns / 1_000),
        ns => format!("{ns} ns"),
    }
}

fn pacing(document: &ClockProbe) -> Section {
    let mut columns = vec![Column::number("sends/s"), Column::number("spin")];
    columns.extend(DISTRIBUTION);
    let rows = document.pacing.iter().map(|row| {
        let mut cells = vec![figure::plain(row.rate_per_s), figure::time(row.spin_ns as f64)];
        cells.extend(distribution(&row.late));
        cells
    });
    Section::table(
        "Plumb's pacing",
        "how late a send on a schedule would go out, by the sleep and spin that the load uses",
        columns,
        rows.collect(),
    )
}

fn wall_clock(document: &ClockProbe) -> Section {
    let host = &document.conditions.host;
    let mut lines = vec![match &document.available_sources {
        Fact::Known { value, source } => {
            let current = host.clock_source.value().map_or("unknown", String::as_str);
            format!("Clock source {current}; the kernel offers {} ({source}).", value.join(", "))
        }
        Fact::Unknown { reason } => format!("Clock sources on offer: unknown ({reason})."),
    }];
    lines.push(match &document.across_cpus {
        Some(across) => agreement(across),
        None => not_compared(document),
    });
    lines.push(match &host.clock_sync {
        Fact::Known { value, source } => format!(
            "Time service: {}{}{} ({source}).",
            if value.synchronised { "follows a source" } else { "follows no source" },
            value.stratum.map_or(String::new(), |stratum| format!(", stratum {stratum}")),
            value.offset_ns.map_or(String::new(), |ns| format!(", offset {}", figure::time(ns as f64))),
        ),
        Fact::Unknown { reason } => format!("Time service: none answers ({reason})."),
    });
    lines.push(match &document.kernel_sync {
        Fact::Known { value, source } if value.synchronised => format!(
            "The kernel's account: kept by a time service, largest error {}, estimated {}, rate corrected by {} ppm ({source}).",
            figure::time(value.max_error_ns as f64),
            figure::time(value.estimated_error_ns as f64),
            figure::short(value.frequency_ppm)
        ),
        Fact::Known { source, .. } => {
            format!("The kernel's account: nobody has told it that the wall clock is right ({source}).")
        }
        Fact::Unknown { reason } => format!("The kernel's account: unknown ({reason})."),
    });
    Section::sentences("Where the time comes from", "", lines)
}

/// The reason why nothing is known of the agreement.
fn not_compared(document: &ClockProbe) -> String {
    let allowed = document.conditions.host.cpus_allowed.value();
    let why = match () {
        () if allowed.is_some_and(|list| list.parse::<u32>().is_ok()) => {
            "only one processor may be used, so there is nothing to agree with"
        }
        () if !document.conditions.complete => "stopped, or the kernel does not let threads be placed",
        () => "the kernel does not let threads be placed on processors",
    };
    format!("Whether the processors' clocks agree was not seen: {why}.")
}

fn agreement(across: &AcrossCpus) -> String {
    format!(
        "{} of {}, {} readings handed over: {}, the processors agree within {}.",
        across.clock,
        pairs(across.pairs),
        figure::count(across.handed_over),
        if across.backward == 0 { "none went back" } else { "some went back" },
        figure::time(across.agree_within_ns as f64)
    )
}

fn pairs(pairs: u32) -> String {
    if pairs == 1 { "1 pair of CPUs".to_owned() } else { format!("{pairs} pairs of CPUs") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain, quiet};
    use super::*;
    use plumb_model::probe::{PacingRow, ProbeKind, Smallest};

    fn document(backward: u64) -> ClockProbe {
        ClockProbe {
            conditions: quiet(ProbeKind::Clock),
            smallest: Smallest {
                resolution_ns: Some(40.0),
                schedule_p50_ns: Some(95),
                schedule_p99_ns: None,
                wall_clock_error_ns: None,
            },
            available_sources: Fact::unknown("no file"),
            kernel_sync: Fact::unknown("refused"),
            clocks: vec![],
            across_cpus: Some(AcrossCpus {
                clock: "CLOCK_MONOTONIC".to_owned(),
                pairs: 3,
                handed_over: 12_000,
                backward,
                backward_most_ns: 700,
                agree_within_ns: 90,
            }),
            timers: vec![],
            pacing: vec![],
        }
    }

    #[test]
    fn a_clock_that_goes_back_is_a_finding_with_how_far() {
        let text = plain(&sheet(&document(5)));
        assert!(
            text.contains("FINDING  CLOCK_MONOTONIC goes back between processors: 5 of 12,000"),
            "{text}"
        );
        assert!(text.contains("700 ns"), "{text}");
        assert!(!plain(&sheet(&document(0))).contains("FINDING"));
    }

    #[test]
    fn what_was_not_measured_is_not_claimed() {
        let text = plain(&sheet(&document(0)));
        assert!(text.contains("was not measured for long enough"), "{text}");
        assert!(text.contains("nothing says how far off this one is"), "{text}");
        assert!(text.contains("closer than 40.0 ns"), "{text}");
    }

    #[test]
    fn the_worst_median_and_the_worst_p99_are_each_said_with_their_own_schedule() {
        let row = |rate_per_s, p50, p99| PacingRow {
            rate_per_s,
            spin_ns: 0,
            late: Distribution { p50_ns: Some(p50), p99_ns: p99, ..Distribution::default() },
        };
        let pacing = vec![row(100.0, 100_000, None), row(1_000.0, 70, Some(66_400))];
        let text = plain(&sheet(&ClockProbe { pacing, ..document(0) })).replace("\n  ", " ");
        assert!(
            text.contains(
                "worst median is 100 µs late at 100 sends/s; the worst p99 is 66.4 µs late at 1,000 sends/s"
            ),
            "{text}"
        );
    }

    #[test]
    fn one_processor_is_said_only_where_there_is_one() {
        let mut alone = ClockProbe { across_cpus: None, ..document(0) };
        assert!(plain(&sheet(&alone)).contains("does not let threads be placed on processors"));
        alone.conditions.complete = false;
        assert!(plain(&sheet(&alone)).contains("not seen: stopped, or"));
        alone.conditions.host.cpus_allowed = Fact::known("3".to_owned(), "a test");
        assert!(plain(&sheet(&alone)).contains("only one processor may be used"));
        alone.conditions.host.cpus_allowed = Fact::known("0-3".to_owned(), "a test");
        assert!(!plain(&sheet(&alone)).contains("only one processor"));
    }

    #[test]
    fn a_period_is_written_as_it_was_asked_for() {
        assert_eq!([100_000, 1_000_000, 250].map(period), ["100 µs", "1 ms", "250 ns"]);
    }
}
