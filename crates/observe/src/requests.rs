//! The stages in which a Kafka broker's requests spent their time between two scrapes of its `RequestMetrics`.
//!
//! The broker keeps, for each kind of request and stage, the mean and the count of all values since its start (a Yammer
//! histogram). Two readings give the exact mean of the time between them:
//! `(mean2 * count2 - mean1 * count1) / (count2 - count1)`. Its percentiles are of a decaying sample that is biased to the
//! last five minutes, so no window can be had from them and they are not read.
//!
//! The broker rounds every value to whole milliseconds before it counts it (`RequestChannel.updateRequestMetrics`), so
//! the mean of the true values lies within half a millisecond of ours. A page is not read in one instant: requests that
//! end between the reading of a mean and that of its count add an error of about one request's time over the window's
//! requests.
//!
//! Names are Plumb's own, to which `broker/naming.rs` brings those of the exporters. The page must be one
//! broker's own; where several samples fit, a stage is absent.

use std::time::{Duration, Instant};

use plumb_model::facts::{RequestStages, RequestTimes, WindowMean};

use crate::broker::naming::{self, Figures};
use crate::http::{METRICS, Question, Trust};
use crate::prometheus::{Label, MetricSample, PageReader};
use crate::{Login, MetricsPage, ObserveError, PageError, client, http, idle};

const MEAN: &str = "kafka_network_RequestMetrics_Mean";
const COUNT: &str = "kafka_network_RequestMetrics_Count";
/// Redpanda's alone: it has the sum of its times, which are not rounded.
const SUM: &str = "kafka_network_requestmetrics_sum";

const NS_PER_MS: f64 = 1e6;
const ROUNDING_NS: f64 = 0.5e6;

/// `kafka.server:type=app-info,id=N`, attribute `StartTimeMs`, without underscores and in lower case.
const APP_INFO_START: &str = "kafkaserverappinfostarttimems";

/// `java.lang:type=Runtime`, attribute `StartTime`, without underscores and in lower case: the same moment in milliseconds.
const RUNTIME_START: &str = "javalangruntimestarttime";

/// Which process a page is of: two pages that have one of these in common are of one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessStart {
    /// The broker's id and the moment of its start, in milliseconds of the Unix epoch.
    broker: Option<BrokerStart>,
    /// The moment of the JVM's start, in milliseconds of the Unix epoch.
    jvm_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct BrokerStart {
    id: i32,
    at_ms: f64,
}

impl ProcessStart {
    /// True if the page tells of which process it is.
    pub fn is_told(&self) -> bool {
        self.broker.is_some() || self.jvm_ms.is_some()
    }

    /// True if both are known to be of one process.
    pub fn is_same(&self, other: &ProcessStart) -> bool {
        match (self.broker, other.broker) {
            (Some(own), Some(others)) => own == others,
            _ => self.jvm_ms.is_some() && self.jvm_ms == other.jvm_ms,
        }
    }
}

/// One reading of a broker's metrics.
#[derive(Debug, Clone)]
pub struct Scrape {
    taken_at: Instant,
    /// The page that was read.
    pub page: MetricsPage,
}

impl Scrape {
    /// A page that was read at some moment.
    pub(crate) fn at(taken_at: Instant, page: MetricsPage) -> Self {
        Scrape { taken_at, page }
    }

    /// The process that the page is of, by the moments of its start.
    pub fn process_start(&self) -> ProcessStart {
        ProcessStart { broker: self.broker_start(), jvm_ms: self.jvm_start_ms() }
    }

    /// None where the page does not tell, or tells of several.
    fn broker_start(&self) -> Option<BrokerStart> {
        let starts = self.starts(APP_INFO_START).filter_map(|sample| {
            let (_, id) = sample.labels.iter().find(|(name, _)| name.eq_ignore_ascii_case("id"))?;
            Some(BrokerStart { id: id.parse().ok()?, at_ms: sample.value })
        });
        the_only(starts)
    }

    fn jvm_start_ms(&self) -> Option<u64> {
        let by_client = self.page.samples.iter().filter(|sample| sample.name == naming::PROCESS_START_S);
        let by_bean = self.starts(RUNTIME_START).map(|sample| sample.value);
        let moments = by_client.map(|sample| sample.value * 1e3).chain(by_bean);
        the_only(moments.filter(|at_ms| *at_ms > 0.0).map(|at_ms| at_ms.round() as u64))
    }

    fn starts(&self, name: &'static str) -> impl Iterator<Item = &MetricSample> {
        let is_start =
            move |sample: &&MetricSample| sample.name.to_ascii_lowercase().replace('_', "") == name;
        self.page.samples.iter().filter(is_start)
    }

    /// The time from an earlier reading to this one.
    pub(crate) fn since(&self, earlier: &Scrape) -> Duration {
        self.taken_at.saturating_duration_since(earlier.taken_at)
    }
}

/// The value that all of these are; none without any.
fn the_only<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Whose metrics a page has: those of others on it are read over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageOf {
    /// A broker's.
    Broker,
    /// Those of Java clients.
    Clients,
}

impl PageOf {
    fn keep(self) -> fn(&str) -> bool {
        match self {
            PageOf::Broker => naming::is_known,
            PageOf::Clients => client::java::is_known,
        }
    }
}

/// Largest page that is read (ours): some hundred times that of a broker with a thousand partitions.
const PAGE_LIMIT_BYTES: u64 = 512 << 20;

/// Reads the metrics page at `url` (`http://HOST:PORT/metrics`, or https), all of it within `timeout`.
pub fn scrape(
    url: &str,
    login: Option<&Login>,
    timeout: Duration,
    of: PageOf,
) -> Result<Scrape, ObserveError> {
    let taken_at = Instant::now();
    let mut reader = PageReader::new(of.keep());
    let trust = Trust::Authorities;
    let question = Question { url, login, trust, accept: METRICS, timeout, limit_bytes: PAGE_LIMIT_BYTES };
    let read = http::read(&question, &mut |bytes| reader.take(bytes));
    read.map_err(|source| ObserveError::Fetch { url: shown(url), source })?;
    let page = reader.end().map_err(|source| {
        // A page may send back what it was asked with.
        let got = login.map_or(source.got.clone(), |login| login.removed_from(&source.got));
        ObserveError::Page { url: shown(url), source: PageError { got, ..source } }
    })?;
    Ok(Scrape { taken_at, page })
}

/// A URL as it may be shown: one with a password is refused by the fetch, and must not be shown here either.
pub(crate) fn shown(url: &str) -> String {
    url.split('@').next_back().unwrap_or(url).to_owned()
}

/// Mean time in each stage of the requests that ended between two scrapes of one broker, and how idle its threads were.
pub fn request_times(before: &Scrape, after: &Scrape) -> RequestTimes {
    let elapsed = after.since(before);
    times_of(&Figures::of(&before.page).page, &Figures::of(&after.page).page, elapsed)
}

/// The same of pages with Plumb's own names.
pub(crate) fn times_of(before: &MetricsPage, after: &MetricsPage, elapsed: Duration) -> RequestTimes {
    RequestTimes {
        elapsed_ns: elapsed.as_nanos() as u64,
        produce: stages(before, after, "Produce"),
        fetch_consumer: stages(before, after, "FetchConsumer"),
        fetch_follower: stages(before, after, "FetchFollower"),
        network_threads: idle::network_threads(before, after, elapsed),
        request_handlers: idle::request_handlers(before, after, elapsed),
    }
}

fn stages(before: &MetricsPage, after: &MetricsPage, request: &str) -> RequestStages {
    let mean = |stage: &str| window_mean(total(before, request, stage)?, total(after, request, stage)?);
    RequestStages {
        request_queue: mean("RequestQueueTimeMs"),
        local: mean("LocalTimeMs"),
        remote: mean("RemoteTimeMs"),
        response_queue: mean("ResponseQueueTimeMs"),
        response_send: mean("ResponseSendTimeMs"),
        throttle: mean("ThrottleTimeMs"),
        total: mean("TotalTimeMs"),
    }
}

/// All values of one histogram since the broker's start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Total {
    sum_ms: f64,
    count: u64,
    /// The broker rounded each value to whole milliseconds.
    rounded: bool,
}

fn total(page: &MetricsPage, request: &str, stage: &str) -> Option<Total> {
    let labels = [Label { name: "name", value: stage }, Label { name: "request", value: request }];
    let count = page.only(COUNT, &labels)?;
    // Whole milliseconds add up to whole milliseconds: rounding takes the error of the division out again.
    let by_mean = || page.only(MEAN, &labels).map(|mean_ms| (mean_ms * count).round());
    let sum = page.only(SUM, &labels);
    let sum_ms = sum.or_else(by_mean)?;
    let plausible = (0.0..2_f64.powi(53)).contains(&sum_ms) && (0.0..2_f64.powi(53)).contains(&count);
    plausible.then_some(Total { sum_ms, count: count as u64, rounded: sum.is_none() })
}

/// Absent when there was no request in the window, or the broker started anew.
fn window_mean(before: Total, after: Total) -> Option<WindowMean> {
    let samples = after.count.checked_sub(before.count).filter(|samples| *samples > 0)?;
    let sum_ms = after.sum_ms - before.sum_ms;
    if sum_ms < 0.0 {
        return None;
    }
    let mean_ns = sum_ms / samples as f64 * NS_PER_MS;
    let rounding_ns = if after.rounded { ROUNDING_NS } else { 0.0 };
    let low_ns = (mean_ns - rounding_ns).max(0.0);
    Some(WindowMean { mean_ns, low_ns, high_ns: mean_ns + rounding_ns, samples })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(lines: &[String]) -> Scrape {
        Scrape { taken_at: Instant::now(), page: MetricsPage::parse(&lines.join("\n")).unwrap() }
    }

    fn local_time(mean_ms: f64, count: u64) -> Vec<String> {
        let labels = "{name=\"LocalTimeMs\",request=\"Produce\",}";
        vec![format!("{MEAN}{labels} {mean_ms}"), format!("{COUNT}{labels} {count}.0")]
    }

    fn local(before: &[String], after: &[String]) -> Option<WindowMean> {
        request_times(&page(before), &page(after)).produce.local
    }

    #[test]
    fn a_page_tells_which_start_it_is_of_unless_it_is_of_several() {
        let line = |id: &str, ms: f64| format!("kafka_server_app_info_StartTimeMs{{id=\"{id}\"}} {ms}");
        let one = page(&[line("3", 1.7e12)]);
        assert_eq!(one.broker_start(), Some(BrokerStart { id: 3, at_ms: 1.7e12 }));
        assert_eq!(page(&[line("3", 1.7e12).to_lowercase()]).broker_start(), one.broker_start());
        assert_eq!(page(&[line("3", 1.7e12), line("4", 1.7e12)]).broker_start(), None);
        assert_eq!(page(&[local_time(1.0, 1)[0].clone()]).broker_start(), None);
    }

    #[test]
    fn two_pages_are_of_one_process_where_they_have_a_start_in_common() {
        let by_exporter = page(&["process_start_time_seconds 1.795646033046E9".to_owned()]).process_start();
        let by_bean = page(&["java_lang_Runtime_StartTime 1.795646033046E12".to_owned()]).process_start();
        assert!(by_exporter.is_told() && by_exporter.is_same(&by_bean));
        let other = page(&["java_lang_Runtime_StartTime 1.795646033047E12".to_owned()]).process_start();
        assert!(!by_exporter.is_same(&other));
        let untold = page(&local_time(1.0, 1)).process_start();
        assert!(!untold.is_told() && !untold.is_same(&untold));
    }

    #[test]
    fn the_mean_of_a_window_is_not_the_mean_since_start() {
        // 10 requests of 77 ms each (a cold start), then 1000 requests of which 400 were rounded to 1 ms.
        let after = local_time((770.0 + 400.0) / 1010.0, 1010);
        let mean = local(&local_time(77.0, 10), &after).unwrap();
        let expected = WindowMean { mean_ns: 400_000.0, low_ns: 0.0, high_ns: 900_000.0, samples: 1000 };
        assert_eq!(mean, expected);
    }

    #[test]
    fn the_band_is_half_a_millisecond_on_both_sides() {
        let mean = local(&local_time(0.0, 0), &local_time(3.0, 7)).unwrap();
        assert_eq!((mean.low_ns, mean.mean_ns, mean.high_ns), (2_500_000.0, 3_000_000.0, 3_500_000.0));
    }

    #[test]
    fn lower_case_names_are_read_too() {
        let lower = |lines: Vec<String>| -> Vec<String> {
            lines
                .iter()
                .map(|line| line.replace(MEAN, &MEAN.to_lowercase()).replace(COUNT, &COUNT.to_lowercase()))
                .collect()
        };
        assert_eq!(
            local(&lower(local_time(0.0, 0)), &lower(local_time(3.0, 7))),
            local(&local_time(0.0, 0), &local_time(3.0, 7))
        );
    }

    #[test]
    fn no_request_a_restarted_broker_and_no_number_are_absent() {
        assert_eq!(local(&local_time(3.0, 7), &local_time(3.0, 7)), None, "no request");
        assert_eq!(local(&local_time(3.0, 7), &local_time(1.0, 2)), None, "fewer than before");
        assert_eq!(
            local(&local_time(30.0, 7), &local_time(1.0, 8)),
            None,
            "more, but they took less than none"
        );
        assert_eq!(local(&local_time(f64::NAN, 7), &local_time(1.0, 8)), None, "no number");
        assert_eq!(local(&[], &local_time(1.0, 8)), None, "no such metric before");
    }

    #[test]
    fn stages_of_one_request_are_not_taken_for_another() {
        let times = request_times(&page(&local_time(0.0, 0)), &page(&local_time(3.0, 7)));
        assert_eq!(times.fetch_consumer, RequestStages::default());
        assert_eq!(times.produce.remote, None);
    }

    proptest! {
        #[test]
        fn the_window_is_exact_and_the_band_holds_the_unrounded_mean(
            earlier_us in proptest::collection::vec(0_u64..90_000, 0..200),
            window_us in proptest::collection::vec(0_u64..90_000, 1..200),
        ) {
            let round = |us: &u64| (*us as f64 / 1000.0).round();
            let scrape = |values: &[u64]| {
                let mean = values.iter().map(round).sum::<f64>() / values.len().max(1) as f64;
                local_time(mean, values.len() as u64)
            };
            let all: Vec<u64> = earlier_us.iter().chain(&window_us).copied().collect();
            let mean = local(&scrape(&earlier_us), &scrape(&all)).unwrap();
            let exact = window_us.iter().map(round).sum::<f64>() / window_us.len() as f64 * 1e6;
            prop_assert!((mean.mean_ns - exact).abs() < 1e-3);
            let unrounded = window_us.iter().sum::<u64>() as f64 * 1e3 / window_us.len() as f64;
            prop_assert!(mean.low_ns <= unrounded + 1e-3 && unrounded <= mean.high_ns + 1e-3);
        }

        #[test]
        fn any_numbers_give_a_band_in_order_or_nothing(values: [f64; 2], counts: [f64; 2]) {
            let labels = "{name=\"LocalTimeMs\",request=\"Produce\"}";
            let lines = |i: usize| [format!("{MEAN}{labels} {}", values[i]), format!("{COUNT}{labels} {}", counts[i])];
            if let Some(mean) = local(&lines(0), &lines(1)) {
                prop_assert!(0.0 <= mean.low_ns && mean.low_ns <= mean.mean_ns && mean.mean_ns < mean.high_ns);
                prop_assert!(mean.high_ns.is_finite() && mean.samples > 0);
            }
        }
    }
}
