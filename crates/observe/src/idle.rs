//! The share of the time between two scrapes of a broker in which its threads had nothing to do.
//!
//! Network threads: the broker counts, for each, the nanoseconds that it waited for sockets (`io-wait-time-ns-total` of its
//! `socket-server-metrics`); the growth between two scrapes over the time between them is exact. Its gauges `IdlePercent` and
//! `NetworkProcessorAvgIdlePercent` are rates over two windows of 30 seconds that are divided by their full length: on Kafka
//! 4.3 a broker whose threads had idled since its start, 9 s ago, said 20 %. They are read only where the counters are not
//! served, and where a minute or more lies between the scrapes. A connection stays with one thread, so the busiest thread
//! counts, not their mean.
//!
//! Request handlers: the meter `RequestHandlerAvgIdlePercent` counts idle nanoseconds, divided by the number of handlers.

use std::collections::BTreeMap;
use std::time::Duration;

use plumb_model::facts::Idle;

use crate::MetricsPage;
use crate::prometheus::Label;

/// Older exporters keep the ending `_total`, later ones take it away.
const WAITED: [&str; 2] = [
    "kafka_server_socket_server_metrics_io_wait_time_ns",
    "kafka_server_socket_server_metrics_io_wait_time_ns_total",
];
const GAUGE: &str = "kafka_network_Processor_Value";
const MEAN_GAUGE: (&str, &str) = ("kafka_network_SocketServer_Value", "NetworkProcessorAvgIdlePercent");
/// The source of a share that is exact.
pub(crate) const COUNTED_IDLE: &str = "counted idle time";
const HANDLERS_RATE: &str = "kafka_server_KafkaRequestHandlerPool_OneMinuteRate";
const HANDLERS: (&str, &str) = ("kafka_server_KafkaRequestHandlerPool_Count", "RequestHandlerAvgIdlePercent");

/// Two samples of 30 s each: what a gauge says at the end is of this time at most (`metrics.sample.window.ms`,
/// `metrics.num.samples`, their defaults).
const GAUGE_WINDOW: Duration = Duration::from_secs(60);

/// The busiest network thread of a broker.
pub(crate) fn network_threads(before: &MetricsPage, after: &MetricsPage, elapsed: Duration) -> Option<Idle> {
    counted(before, after, elapsed).or_else(|| (elapsed >= GAUGE_WINDOW).then(|| gauge(after)).flatten())
}

/// All request handlers of a broker. The meter's rate of the last minute, where its count is not served, remembers two minutes.
pub(crate) fn request_handlers(before: &MetricsPage, after: &MetricsPage, elapsed: Duration) -> Option<Idle> {
    let name = [Label { name: "name", value: HANDLERS.1 }];
    let of = "all request handlers".to_owned();
    if let (Some(before_ns), Some(after_ns)) = (before.only(HANDLERS.0, &name), after.only(HANDLERS.0, &name))
    {
        let share = share(before_ns, after_ns, elapsed)?;
        return Some(Idle { share, of, source: COUNTED_IDLE.into() });
    }
    let rate = after.only(HANDLERS_RATE, &name).filter(|_| elapsed >= 2 * GAUGE_WINDOW)?;
    let share = rate.is_finite().then(|| rate.clamp(0.0, 1.0))?;
    Some(Idle { share, of, source: "the broker's rate of the last minute".into() })
}

fn counted(before: &MetricsPage, after: &MetricsPage, elapsed: Duration) -> Option<Idle> {
    let (before, after) = (waited(before), waited(after));
    if after.is_empty() || !before.keys().eq(after.keys()) {
        return None;
    }
    let shares: Option<Vec<(f64, &Thread)>> =
        after.iter().map(|(thread, ns)| Some((share(before[thread], *ns, elapsed)?, thread))).collect();
    let (share, (listener, number)) = shares?.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let of = format!("network thread {number} of listener {listener}");
    Some(Idle { share, of, source: "counted waiting time".into() })
}

/// Listener, and number within it.
type Thread = (String, String);

/// Nanoseconds that each network thread has waited since its start.
fn waited(page: &MetricsPage) -> BTreeMap<Thread, f64> {
    let label = |sample: &crate::MetricSample, name: &str| {
        sample.labels.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    };
    let samples =
        page.samples.iter().filter(|sample| WAITED.iter().any(|name| sample.name.eq_ignore_ascii_case(name)));
    samples
        .filter_map(|sample| {
            Some(((label(sample, "listener")?, label(sample, "networkProcessor")?), sample.value))
        })
        .collect()
}

/// Absent where the broker started anew between the two, or a value is no number.
fn share(before_ns: f64, after_ns: f64, elapsed: Duration) -> Option<f64> {
    let idle = (after_ns - before_ns) / elapsed.as_nanos() as f64;
    // The two pages are not read in one instant, so a thread that did nothing can come out a little above 1.
    (idle.is_finite() && idle >= 0.0).then(|| idle.min(1.0))
}

fn gauge(page: &MetricsPage) -> Option<Idle> {
    let of_threads = page.samples.iter().filter(|sample| {
        sample.name.eq_ignore_ascii_case(GAUGE)
            && sample.labels.iter().any(|(_, value)| value.eq_ignore_ascii_case("IdlePercent"))
    });
    let least = of_threads.map(|sample| sample.value).min_by(f64::total_cmp);
    let (value, of) = match least {
        Some(value) => (value, "the busiest network thread"),
        None => (
            page.only(MEAN_GAUGE.0, &[Label { name: "name", value: MEAN_GAUGE.1 }])?,
            "all network threads, on average",
        ),
    };
    let share = value.is_finite().then(|| value.clamp(0.0, 1.0))?;
    Some(Idle { share, of: of.into(), source: "the broker's gauge, over its last minute".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[&str]) -> MetricsPage {
        MetricsPage::parse(&lines.join("\n")).unwrap()
    }

    fn threads(name: &str, waited_s: [f64; 2]) -> MetricsPage {
        let line = |thread: usize, listener: &str| {
            format!(
                "{name}{{listener=\"{listener}\",networkProcessor=\"{thread}\"}} {}",
                waited_s[thread] * 1e9
            )
        };
        page(&[&line(0, "CLIENTS"), &line(1, "REPLICATION")])
    }

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn the_busiest_thread_is_named_with_its_share_of_the_window() {
        for name in WAITED.map(str::to_owned).into_iter().chain(WAITED.map(str::to_lowercase)) {
            let idle = network_threads(&threads(&name, [100.0, 200.0]), &threads(&name, [109.0, 204.0]), TEN);
            let idle = idle.unwrap();
            assert!((idle.share - 0.4).abs() < 1e-9, "{idle:?}");
            assert_eq!(idle.of, "network thread 1 of listener REPLICATION");
        }
    }

    #[test]
    fn a_thread_that_did_nothing_is_idle_all_the_time_and_not_more() {
        let name = WAITED[0];
        let idle = network_threads(&threads(name, [0.0, 0.0]), &threads(name, [10.2, 10.1]), TEN).unwrap();
        assert_eq!(idle.share, 1.0);
    }

    #[test]
    fn a_restarted_broker_and_other_threads_than_before_are_absent() {
        let name = WAITED[0];
        assert_eq!(network_threads(&threads(name, [5.0, 5.0]), &threads(name, [6.0, 1.0]), TEN), None);
        let one = page(&[&format!("{name}{{listener=\"CLIENTS\",networkProcessor=\"0\"}} 1")]);
        assert_eq!(network_threads(&one, &threads(name, [6.0, 1.0]), TEN), None);
        assert_eq!(network_threads(&page(&[]), &page(&[]), TEN), None);
    }

    #[test]
    fn a_gauge_of_the_last_minute_says_nothing_of_ten_seconds() {
        let gauges = page(&[
            "kafka_network_Processor_Value{name=\"IdlePercent\",networkProcessor=\"0\"} 0.9",
            "kafka_network_Processor_Value{name=\"IdlePercent\",networkProcessor=\"1\"} 0.3",
            "kafka_network_SocketServer_Value{name=\"NetworkProcessorAvgIdlePercent\"} 0.6",
        ]);
        assert_eq!(network_threads(&gauges, &gauges, TEN), None);
        let minute = network_threads(&gauges, &gauges, GAUGE_WINDOW).unwrap();
        assert_eq!((minute.share, minute.of.as_str()), (0.3, "the busiest network thread"));
        let mean = page(&["kafka_network_SocketServer_Value{name=\"NetworkProcessorAvgIdlePercent\"} 0.6"]);
        assert_eq!(
            network_threads(&mean, &mean, GAUGE_WINDOW).unwrap().of,
            "all network threads, on average"
        );
    }

    #[test]
    fn request_handlers_are_read_from_the_meter_of_all() {
        let at = |ns: f64| {
            page(&[
                &format!(
                    "kafka_server_KafkaRequestHandlerPool_Count{{name=\"RequestHandlerAvgIdlePercent\"}} {ns}"
                ),
                "kafka_server_KafkaRequestHandlerPool_Count{name=\"BrokerRequestHandlerAvgIdlePercent\"} 7",
            ])
        };
        let idle = request_handlers(&at(1e9), &at(8.5e9), TEN).unwrap();
        assert!((idle.share - 0.75).abs() < 1e-9, "{idle:?}");
    }
}
