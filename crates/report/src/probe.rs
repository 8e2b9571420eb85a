//! Documents of `plumb probe` as sheets, one file a resource; here what all of them say alike.

pub mod clock;
pub mod clock_offset;
pub mod crypto;
pub mod facts;
pub mod memory;
pub mod network;
pub mod storage;

use crate::sheet::{Column, Section};
use plumb_model::facts::{Fact, Limit};
use plumb_model::figure;
use plumb_model::observation::Distribution;
use plumb_model::probe::{Conditions, Figure};

/// Others' use of the processors from which on it is said first and not last (ours).
const NOISY_SHARE: f64 = 0.05;

/// The subject and the place of the probe, in one line.
fn title(what: &str, conditions: &Conditions) -> String {
    let model = conditions.host.cpu_model.value().map_or(String::new(), |model| format!(", {model}"));
    let cpus = conditions.host.logical_cpus.value();
    let cpus = cpus.map_or(String::new(), |cpus| format!(", {}", figure::counted(*cpus as usize, "CPU")));
    format!(
        "{what}{model}{cpus}; {}, took {}",
        conditions.started_at.replace('T', " ").replace('Z', " UTC"),
        figure::time(conditions.elapsed_ns as f64)
    )
}

/// The cautions against the figures; they are told before them.
fn cautions(conditions: &Conditions) -> Vec<String> {
    let mut cautions = Vec::new();
    if !conditions.complete {
        cautions.push(match &conditions.ended_by {
            Some(error) => {
                format!(
                    "An error ended it before everything was measured; what is missing is absent: {error}."
                )
            }
            None => "Stopped before everything was measured; what is missing is absent.".to_owned(),
        });
    }
    let quota = quota(conditions);
    if let Some(cpus) = quota {
        cautions.push(format!(
            "A quota of the control group gives this process, with whatever shares the group, {}: figures, of several threads \
             and tails most of all, may show that quota and not the processor.",
            cpus_of_time(cpus)
        ));
    }
    let noise = &conditions.noise;
    if let Some(share) = noise.others_cpu_share.filter(|share| *share > NOISY_SHARE) {
        cautions.push(format!(
            "Others and the kernel's threads used {} of this host's CPU time meanwhile (the probe's own work in the kernel may be \
             part of it){}.",
            figure::percent(share),
            match quota {
                None => ": figures may be too slow, tails most of all. Probe again when it is quiet",
                Some(_) => "; the quota is the nearer cause of figures that are too slow",
            }
        ));
    }
    if let Some(share) = noise.steal_share.filter(|share| *share > NOISY_SHARE / 5.0) {
        cautions.push(format!(
            "The hypervisor gave {} of the CPU time that was wanted here to other guests.",
            figure::percent(share)
        ));
    }
    cautions
}

/// Processors' time that a control group allows, where that is less than the processors that may be used.
fn quota(conditions: &Conditions) -> Option<f64> {
    let host = &conditions.host;
    let Limit::At(cpus) = *host.cgroup_cpu_limit_cpus.value()? else { return None };
    let usable = host.logical_cpus.value().map_or(f64::INFINITY, |all| f64::from(*all));
    (cpus < usable).then_some(cpus)
}

/// `the time of 1.5 CPUs`.
fn cpus_of_time(cpus: f64) -> String {
    let noun = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("the time of {} {noun}", figure::plain(cpus))
}

/// The section on the quiet of the host.
fn conditions(conditions: &Conditions) -> Section {
    let share = |share: Option<f64>| share.map_or("an unknown share".to_owned(), figure::percent);
    let noise = &conditions.noise;
    let clock = conditions.host.clock_source.value().map_or("unknown", String::as_str);
    let limit = match &conditions.host.cgroup_cpu_limit_cpus {
        Fact::Known { value: Limit::At(cpus), .. } => cpus_of_time(*cpus),
        Fact::Known { value: Limit::Unlimited, .. } => "none".to_owned(),
        Fact::Unknown { reason } => format!("unknown ({reason})"),
    };
    Section::sentences(
        "Conditions",
        "",
        vec![
            format!(
                "Of the host's CPU time the probe used {}, others and the kernel's threads {}; {} was stolen by the hypervisor.",
                share(noise.own_cpu_share),
                share(noise.others_cpu_share),
                share(noise.steal_share)
            ),
            format!("CPU quota of the control group: {limit}."),
            format!(
                "Kernel {}, clock source {clock}, plumb {}.",
                conditions.host.kernel_release.value().map_or("unknown", String::as_str),
                conditions.plumb_version
            ),
        ],
    )
}

fn or_absent<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or(figure::ABSENT.to_owned(), write)
}

fn time(ns: Option<u64>) -> String {
    or_absent(ns, |ns| figure::time(ns as f64))
}

/// A figure's median.
fn median(figure: Option<&Figure>, write: impl Fn(f64) -> String) -> String {
    or_absent(figure, |figure| write(figure.median))
}

/// A figure's interval, `24.1 to 25.0`.
fn span(figure: Option<&Figure>, write: impl Fn(f64) -> String) -> String {
    or_absent(figure.and_then(|figure| figure.interval), |interval| {
        let (low, high) = (write(interval.low), write(interval.high));
        if low == high { low } else { format!("{low} to {high}") }
    })
}

/// The lowest and the highest of a figure's blocks, where they say nothing of an interval.
fn range(figure: Option<&Figure>, write: impl Fn(f64) -> String) -> String {
    or_absent(figure, |figure| {
        let (low, high) = (write(figure.lowest), write(figure.highest));
        if low == high { low } else { format!("{low} to {high}") }
    })
}

/// Headings of [`distribution`].
const DISTRIBUTION: [Column; 6] = [
    Column::number("samples"),
    Column::number("p50"),
    Column::number("p95"),
    Column::number("p99"),
    Column::number("p99.9"),
    Column::number("max"),
];

/// The cells of a distribution.
fn distribution(times: &Distribution) -> Vec<String> {
    vec![
        figure::count(times.samples),
        time(times.p50_ns),
        time(times.p95_ns),
        time(times.p99_ns),
        time(times.p999_ns),
        time(times.max_ns),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sheet::{self, Body, Sheet};
    use crate::text::TextStyle;
    use plumb_model::facts::HostFacts;
    use plumb_model::observation::{Interval, IntervalMethod};
    use plumb_model::probe::{Noise, ProbeKind, SCHEMA_VERSION};

    /// A sheet as text, so wide that no sentence is broken.
    pub(crate) fn plain(sheet: &Sheet) -> String {
        sheet::text::render(sheet, TextStyle { color: false, width: 1_000 })
    }

    pub(crate) fn quiet(probe: ProbeKind) -> Conditions {
        Conditions {
            schema_version: SCHEMA_VERSION,
            probe,
            plumb_version: "0.1.0".to_owned(),
            started_at: "2026-11-20T15:04:05Z".to_owned(),
            elapsed_ns: 9_000_000_000,
            complete: true,
            ended_by: None,
            host: HostFacts::default(),
            noise: Noise { own_cpu_share: Some(0.5), others_cpu_share: Some(0.01), ..Noise::default() },
        }
    }

    pub(crate) fn figure(median: f64) -> Figure {
        let interval = Interval {
            low: median * 0.9,
            high: median * 1.1,
            level: 0.95,
            method: IntervalMethod::OrderStatistics,
        };
        Figure { median, interval: Some(interval), lowest: median / 2.0, highest: median * 2.0, blocks: 11 }
    }

    #[test]
    fn a_noisy_host_a_thief_and_a_stop_are_said_before_the_figures() {
        let mut conditions = quiet(ProbeKind::Memory);
        assert_eq!(cautions(&conditions), [] as [String; 0]);
        conditions.complete = false;
        conditions.noise =
            Noise { others_cpu_share: Some(0.12), steal_share: Some(0.02), ..Noise::default() };
        let said = cautions(&conditions);
        assert!(
            said[0].contains("Stopped") && said[1].contains("12 %") && said[2].contains("2 %"),
            "{said:?}"
        );
        conditions.ended_by = Some("/srv vanished".to_owned());
        assert!(
            cautions(&conditions)[0].contains("An error ended it")
                && cautions(&conditions)[0].contains("/srv vanished")
        );
    }

    #[test]
    fn a_quota_is_said_first_and_then_the_others_are_not_blamed() {
        let mut held = quiet(ProbeKind::Crypto);
        held.noise.others_cpu_share = Some(0.3);
        held.host.logical_cpus = Fact::known(4, "a test");
        let conditions_of = |held: &Conditions| match conditions(held).body {
            Body::Sentences(lines) => lines.join(" "),
            Body::Table { .. } => String::new(),
        };
        let limits = [
            (Limit::Unlimited, false, "group: none."),
            (Limit::At(4.0), false, "group: the time of 4 CPUs."),
            (Limit::At(1.5), true, "group: the time of 1.5 CPUs."),
        ];
        for (limit, holds, words) in limits {
            held.host.cgroup_cpu_limit_cpus = Fact::known(limit, "a test");
            let said = cautions(&held);
            assert_eq!(said[0].contains("A quota of the control group"), holds, "{said:?}");
            assert_eq!(said.last().unwrap().contains("Probe again when it is quiet"), !holds, "{said:?}");
            assert!(conditions_of(&held).contains(words), "{}", conditions_of(&held));
        }
    }

    #[test]
    fn what_is_absent_is_a_dash_and_an_interval_without_width_is_one_figure() {
        let tenths = |value: f64| figure::decimals(value, 1);
        assert_eq!((median(None, tenths), span(None, tenths)), ("-".to_owned(), "-".to_owned()));
        assert_eq!(span(Some(&figure(10.0)), tenths), "9.0 to 11.0");
        assert_eq!(span(Some(&figure(0.1)), tenths), "0.1");
    }
}
