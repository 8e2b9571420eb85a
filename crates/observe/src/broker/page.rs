//! Figures of two pages by Plumb's own names, and the growth between them.

use super::Rates;
use crate::MetricsPage;
use crate::prometheus::{Label, Labels, MetricSample};
use plumb_model::observed::{BrokerRole, FollowerLag, NetworkProcessor, RequestKind, TopicTraffic};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Fetchers whose lag is kept, those with most first (ours).
const FETCHERS_MOST: usize = 100;

/// A Yammer bean, by the parts of its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bean<'a> {
    domain: &'a str,
    kind: &'a str,
    name: &'a str,
}

impl<'a> Bean<'a> {
    pub(super) fn new(domain: &'a str, kind: &'a str, name: &'a str) -> Self {
        Bean { domain, kind, name }
    }

    fn metric(&self, attribute: &str) -> String {
        format!("{}_{}_{attribute}", self.domain, self.kind).to_ascii_lowercase()
    }
}

/// Samples of a page by their name in lower case: a broker's page has ten thousand of them, and each name is asked for once.
struct Index<'a>(HashMap<String, Vec<&'a MetricSample>>);

impl<'a> Index<'a> {
    fn new(page: &'a MetricsPage) -> Self {
        let mut index: HashMap<String, Vec<&MetricSample>> = HashMap::new();
        for sample in &page.samples {
            index.entry(sample.name.to_ascii_lowercase()).or_default().push(sample);
        }
        Index(index)
    }

    fn named(&self, name: &str) -> &[&'a MetricSample] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The sum of all samples of a name.
    fn total(&self, name: &str) -> Option<f64> {
        self.named(name).iter().map(|sample| sample.value).reduce(|a, b| a + b)
    }

    /// The sample of a bean that has no labels but its name: the sum over all topics, not that of one.
    fn of(&self, bean: &Bean<'_>, attribute: &str) -> Option<f64> {
        let wanted = Label { name: "name", value: bean.name };
        let mut fitting = self
            .named(&bean.metric(attribute))
            .iter()
            .filter(|sample| sample.labels.len() == 1 && has(sample, &wanted));
        fitting.next().map(|sample| sample.value).filter(|value| value.is_finite())
    }
}

fn has(sample: &MetricSample, label: &Label<'_>) -> bool {
    let (name, value) = (label.name, label.value);
    sample.labels.iter().any(|(key, text)| key.eq_ignore_ascii_case(name) && text.eq_ignore_ascii_case(value))
}

fn label<'a>(sample: &'a MetricSample, name: &str) -> Option<&'a str> {
    sample.labels.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Processor time of the process, by the JVM's exporter or by Redpanda.
const PROCESSOR: &str = "process_cpu_seconds_total";

/// Two readings of one page.
pub(super) struct Growth<'a> {
    before: Index<'a>,
    after: Index<'a>,
    elapsed_s: f64,
    /// A counter went back: another process than before.
    pub(super) went_back: bool,
}

impl<'a> Growth<'a> {
    /// Between two pages; of Redpanda the processor time alone never goes back, its counters of a partition leave with it.
    pub(super) fn new(
        before: &'a MetricsPage,
        after: &'a MetricsPage,
        elapsed: Duration,
        is_redpanda: bool,
    ) -> Self {
        let (before, after) = (Index::new(before), Index::new(after));
        let went_back =
            |values: [Option<f64>; 2]| matches!(values, [Some(before), Some(after)] if after < before);
        let of_bean = |bean: Bean<'_>| went_back([before.of(&bean, "Count"), after.of(&bean, "Count")]);
        let processor = went_back([before.total(PROCESSOR), after.total(PROCESSOR)]);
        let counters = [
            Bean::new("kafka_server", "BrokerTopicMetrics", "MessagesInPerSec"),
            Bean::new("kafka_server", "BrokerTopicMetrics", "BytesInPerSec"),
            Bean::new("kafka_server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent"),
        ];
        let went_back = processor || !is_redpanda && counters.into_iter().any(of_bean);
        Growth { before, after, elapsed_s: elapsed.as_secs_f64(), went_back }
    }

    fn grown(&self, before: f64, after: f64) -> Option<f64> {
        let grown = after - before;
        (grown >= 0.0 && grown.is_finite() && self.elapsed_s > 0.0 && !self.went_back)
            .then(|| grown / self.elapsed_s)
    }

    /// Growth of a bean's count, a second.
    pub(super) fn rate(&self, bean: &Bean<'_>) -> Option<f64> {
        let after = self.after.of(bean, "Count")?;
        // A broker makes a meter when it first ticks. Where its first page has none of that kind, that page was not whole, and growth
        // from nothing would be all that the broker ever counted.
        let whole = !self.before.named(&bean.metric("Count")).is_empty();
        self.grown(self.before.of(bean, "Count").or(whole.then_some(0.0))?, after)
    }

    /// A bean's value at the end.
    pub(super) fn gauge(&self, bean: &Bean<'_>) -> Option<f64> {
        self.after.of(bean, "Value")
    }

    /// Exact mean of a histogram's values within the window.
    pub(super) fn window_mean(&self, bean: &Bean<'_>) -> Option<f64> {
        let sums = |index: &Index<'_>| {
            Some((index.of(bean, "Mean")? * index.of(bean, "Count")?, index.of(bean, "Count")?))
        };
        let ((sum_before, count_before), (sum_after, count_after)) =
            (sums(&self.before)?, sums(&self.after)?);
        let (sum, count) = (sum_after - sum_before, count_after - count_before);
        (count > 0.0 && sum >= 0.0).then(|| sum / count)
    }

    /// Growth of all samples of a name together, a second.
    pub(super) fn sum_of_growth(&self, name: &str) -> Option<f64> {
        self.grown(self.before.total(name)?, self.after.total(name)?)
    }

    /// The values of all samples of a name at the end.
    pub(super) fn sum_at_end(&self, name: &str) -> Option<f64> {
        self.after.total(name)
    }

    /// Processor time of the process.
    pub(super) fn processor_ns(&self) -> Option<u64> {
        self.sum_of_growth(PROCESSOR).map(|share| (share * self.elapsed_s * 1e9) as u64)
    }

    /// The broker's id, by its own word.
    pub(super) fn id(&self) -> Option<i32> {
        let ids = self.after.named("kafka_server_app_info_starttimems").iter();
        ids.filter_map(|sample| label(sample, "id")?.parse().ok()).find(|id| *id >= 0)
    }

    /// The largest growth of a bean's count among its samples, a second: one of each listener.
    pub(super) fn rate_most(&self, bean: &Bean<'_>) -> Option<f64> {
        let each = self.each(&bean.metric("Count"), bean.name);
        each.into_iter().map(|(_, per_s)| per_s).reduce(f64::max)
    }

    /// Largest lag of this broker's own fetchers.
    pub(super) fn follower_max_lag(&self) -> Option<f64> {
        let samples = self.after.named("kafka_server_replicafetchermanager_value");
        let wanted = Label { name: "name", value: "MaxLag" };
        let of_replicas = samples.iter().find(|sample| {
            has(sample, &wanted) && label(sample, "clientId").is_none_or(|id| id == "Replica")
        });
        of_replicas.map(|sample| sample.value).filter(|lag| *lag >= 0.0)
    }

    /// The lag of each of this broker's fetchers, the largest first.
    pub(super) fn follower_lags(&self) -> Vec<FollowerLag> {
        let samples = self.after.named("kafka_server_fetcherlagmetrics_value").iter();
        let mut lags: BTreeMap<&str, f64> = BTreeMap::new();
        for sample in samples.filter(|sample| sample.value >= 0.0) {
            let Some(fetcher) = label(sample, "clientId") else { continue };
            let lag = lags.entry(fetcher).or_default();
            *lag = lag.max(sample.value);
        }
        let mut lags: Vec<FollowerLag> = lags
            .into_iter()
            .map(|(fetcher, messages)| FollowerLag { fetcher: fetcher.to_owned(), messages })
            .collect();
        lags.sort_by(|a, b| b.messages.total_cmp(&a.messages));
        lags.truncate(FETCHERS_MOST);
        lags
    }

    /// Mean of the throttle times that the quotas tell, in milliseconds; none where no quota held anybody back.
    pub(super) fn throttle_ms(&self) -> Option<f64> {
        let names =
            ["produce_throttle_time", "fetch_throttle_time", "request_throttle_time", "quota_throttle_time"];
        let samples = names.iter().flat_map(|name| self.after.named(&format!("kafka_server_{name}")).iter());
        let held_back: Vec<f64> = samples.map(|sample| sample.value).filter(|ms| *ms > 0.0).collect();
        (!held_back.is_empty()).then(|| held_back.iter().sum::<f64>() / held_back.len() as f64)
    }

    /// Whether the count of a request's times is served without their mean.
    pub(super) fn times_without_means(&self) -> bool {
        let wanted = Label { name: "name", value: "TotalTimeMs" };
        let has_times = |metric: &str| self.after.named(metric).iter().any(|sample| has(sample, &wanted));
        has_times("kafka_network_requestmetrics_count")
            && !has_times("kafka_network_requestmetrics_mean")
            && !has_times("kafka_network_requestmetrics_sum")
    }

    /// Requests a second by kind, all versions together, and each version.
    pub(super) fn requests(&self) -> BTreeMap<String, RequestKind> {
        let mut kinds: BTreeMap<String, RequestKind> = BTreeMap::new();
        for (sample, per_s) in self.each("kafka_network_requestmetrics_count", "RequestsPerSec") {
            let Some(request) = label(sample, "request") else { continue };
            let kind = kinds.entry(request.to_owned()).or_default();
            kind.per_s = Some(kind.per_s.unwrap_or(0.0) + per_s);
            if let Some(version) = label(sample, "version").filter(|_| per_s > 0.0) {
                *kind.versions.entry(version.to_owned()).or_default() += per_s;
            }
        }
        // Each request has one total time.
        for (sample, per_s) in self.each("kafka_network_requestmetrics_count", "TotalTimeMs") {
            let Some(request) = label(sample, "request") else { continue };
            kinds.entry(request.to_owned()).or_default().per_s.get_or_insert(per_s);
        }
        kinds.retain(|_, kind| kind.per_s.is_some_and(|per_s| per_s > 0.0));
        for (request, kind) in &mut kinds {
            kind.bytes_mean = self.request_bytes(request);
        }
        kinds
    }

    /// Mean bytes of a kind of request in the window.
    fn request_bytes(&self, request: &str) -> Option<f64> {
        let of = [Label { name: "name", value: "RequestBytes" }, Label { name: "request", value: request }];
        let value = |index: &Index<'_>, metric: &str| {
            let samples = index.named(metric);
            samples.iter().find(|sample| of.iter().all(|label| has(sample, label))).map(|sample| sample.value)
        };
        let total = |index: &Index<'_>| {
            let count = value(index, "kafka_network_requestmetrics_count")?;
            Some((value(index, "kafka_network_requestmetrics_mean")? * count, count))
        };
        let ((bytes_before, before), (bytes_after, after)) = (total(&self.before)?, total(&self.after)?);
        let (bytes, count) = (bytes_after - bytes_before, after - before);
        (count > 0.0 && bytes >= 0.0 && !self.went_back).then(|| bytes / count)
    }

    /// Errors a second by code.
    pub(super) fn errors(&self) -> Rates {
        let mut errors = Rates::new();
        for (sample, per_s) in self.each("kafka_network_requestmetrics_count", "ErrorsPerSec") {
            let Some(code) = label(sample, "error").filter(|code| *code != "NONE" && per_s > 0.0) else {
                continue;
            };
            *errors.entry(code.to_owned()).or_default() += per_s;
        }
        errors
    }

    /// Each sample of a metric whose `name` label is that one, with its growth a second.
    fn each(&self, metric: &str, name: &str) -> Vec<(&'a MetricSample, f64)> {
        let wanted = Label { name: "name", value: name };
        let key = |sample: &MetricSample| {
            let mut labels = sample.labels.clone();
            labels.sort();
            labels
        };
        let before: HashMap<_, f64> =
            self.before.named(metric).iter().map(|sample| (key(sample), sample.value)).collect();
        if before.is_empty() {
            return Vec::new();
        }
        let after = self.after.named(metric).iter().filter(|sample| has(sample, &wanted));
        after
            .filter_map(|sample| {
                let earlier = before.get(&key(sample)).copied().unwrap_or(0.0);
                Some((*sample, self.grown(earlier, sample.value)?))
            })
            .collect()
    }

    /// Topics by bytes in and out.
    pub(super) fn topics(&self, most: usize) -> Vec<TopicTraffic> {
        let mut topics: BTreeMap<&str, TopicTraffic> = BTreeMap::new();
        for name in ["BytesInPerSec", "BytesOutPerSec", "MessagesInPerSec"] {
            for (sample, per_s) in self.each("kafka_server_brokertopicmetrics_count", name) {
                let Some(topic) = label(sample, "topic") else { continue };
                let traffic = topics.entry(topic).or_default();
                match name {
                    "BytesInPerSec" => traffic.bytes_in_per_s = Some(per_s),
                    "BytesOutPerSec" => traffic.bytes_out_per_s = Some(per_s),
                    _ => traffic.messages_in_per_s = Some(per_s),
                }
            }
        }
        let bytes =
            |topic: &TopicTraffic| topic.bytes_in_per_s.unwrap_or(0.0) + topic.bytes_out_per_s.unwrap_or(0.0);
        let named =
            topics.into_iter().map(|(topic, traffic)| TopicTraffic { topic: topic.to_owned(), ..traffic });
        let mut topics: Vec<TopicTraffic> = named.filter(|topic| bytes(topic) > 0.0).collect();
        topics.sort_by(|a, b| bytes(b).total_cmp(&bytes(a)));
        topics.truncate(most);
        topics
    }

    /// Produce requests that wait for followers.
    pub(super) fn purgatory(&self) -> Option<f64> {
        let samples = self.after.named("kafka_server_delayedoperationpurgatory_value");
        let of = [
            Label { name: "delayedOperation", value: "Produce" },
            Label { name: "name", value: "PurgatorySize" },
        ];
        samples.iter().find(|sample| of.iter().all(|label| has(sample, label))).map(|sample| sample.value)
    }

    /// Share of the window for which collections stopped the application, by the JVM's own counters. Absent where one of them counts
    /// concurrent work as well.
    pub(super) fn gc_share(&self) -> Option<f64> {
        let of_beans = self.stopped("java_lang_garbagecollector_collectiontime").map(|ms| ms / 1e3);
        let share = of_beans.or_else(|| self.stopped("jvm_gc_collection_seconds_sum"))?;
        Some(share.min(1.0))
    }

    /// Growth of the collectors' times, a second, without the whole cycles that ZGC and Shenandoah count beside the pauses in them.
    fn stopped(&self, name: &str) -> Option<f64> {
        let total = |index: &Index<'_>| {
            let mut sum = 0.0;
            for sample in index.named(name) {
                let collector = label(sample, "gc").unwrap_or_default().to_ascii_lowercase();
                match collector.trim_end_matches("_collectiontime") {
                    // CMS counts its sweep, which runs beside the application.
                    cms if cms.ends_with("concurrentmarksweep") => return None,
                    cycles if cycles.ends_with("cycles") => {}
                    _ => sum += sample.value,
                }
            }
            (!index.named(name).is_empty()).then_some(sum)
        };
        self.grown(total(&self.before)?, total(&self.after)?)
    }

    /// Broker and controller in one process have meters of both.
    pub(super) fn role(&self) -> BrokerRole {
        let has = |name: &str| {
            let bean = Bean::new("kafka_server", "KafkaRequestHandlerPool", name);
            self.after.of(&bean, "Count").is_some()
        };
        match (has("BrokerRequestHandlerAvgIdlePercent"), has("ControllerRequestHandlerAvgIdlePercent")) {
            (true, true) => BrokerRole::Combined,
            _ if has("RequestHandlerAvgIdlePercent") => BrokerRole::Broker,
            _ => BrokerRole::Unknown,
        }
    }

    /// Idle share of the broker's own pool in a combined process.
    pub(super) fn broker_handlers_idle(&self) -> Option<f64> {
        let bean = Bean::new("kafka_server", "KafkaRequestHandlerPool", "BrokerRequestHandlerAvgIdlePercent");
        let share = self.rate(&bean)? / 1e9;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// Each network thread, with the share of the window for which it waited for sockets and the connections that it serves.
    pub(super) fn network_processors(&self) -> Vec<NetworkProcessor> {
        let thread = |sample: &MetricSample| -> Labels {
            let of = |name: &str| label(sample, name).map(|value| (name.to_owned(), value.to_owned()));
            ["listener", "networkProcessor"].into_iter().filter_map(of).collect()
        };
        let values = |index: &Index<'_>, name: &str| -> HashMap<Labels, f64> {
            let both = index.named(name).iter().map(|sample| (thread(sample), sample.value));
            both.filter(|(thread, _)| thread.len() == 2).collect()
        };
        let before = values(&self.before, "kafka_server_socket_server_metrics_io_wait_time_ns");
        let connections = values(&self.after, "kafka_server_socket_server_metrics_connection_count");
        let after = values(&self.after, "kafka_server_socket_server_metrics_io_wait_time_ns");
        let mut processors: Vec<NetworkProcessor> = after
            .into_iter()
            .filter_map(|(thread, waited_ns)| {
                let share = self.grown(*before.get(&thread)?, waited_ns)? / 1e9;
                Some(NetworkProcessor {
                    name: format!("{} of {}", thread[1].1, thread[0].1),
                    idle_share: Some(share.min(1.0)),
                    from_gauge: false,
                    connections: connections.get(&thread).copied(),
                })
            })
            .collect();
        processors.sort_by(|a, b| a.name.cmp(&b.name));
        processors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scrape;
    use crate::broker::broker_window;
    use std::time::{Duration, Instant};

    fn scrape(lines: &[&str], after: Duration) -> Scrape {
        Scrape::at(Instant::now() + after, MetricsPage::parse(&lines.join("\n")).unwrap())
    }

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn rates_are_the_growth_of_the_sum_over_topics_and_of_each_topic() {
        let page = |all: u64, a: u64, produce: u64| {
            [
                format!("kafka_server_BrokerTopicMetrics_Count{{name=\"BytesInPerSec\"}} {all}"),
                format!("kafka_server_BrokerTopicMetrics_Count{{name=\"BytesInPerSec\",topic=\"a\"}} {a}"),
                format!(
                    "kafka_network_RequestMetrics_Count{{name=\"RequestsPerSec\",request=\"Produce\",version=\"11\"}} {produce}"
                ),
            ]
        };
        let lines = |page: &[String; 3]| page.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let (first, second) = (page(1_000, 500, 7), page(11_000, 5_500, 107));
        let start = Instant::now();
        let before = Scrape::at(start, MetricsPage::parse(&lines(&first)).unwrap());
        let after = Scrape::at(start + TEN, MetricsPage::parse(&lines(&second)).unwrap());
        let window = broker_window(&before, &after, "test");
        assert_eq!(window.bytes_in_per_s, Some(1_000.0));
        assert_eq!(window.topics[0].bytes_in_per_s, Some(500.0));
        assert_eq!(window.requests["Produce"].per_s, Some(10.0));
        assert!(window.missing.contains(&"replicas in sync".to_owned()), "{:?}", window.missing);
    }

    #[test]
    fn a_first_page_that_lacked_a_kind_of_beans_makes_no_rates_of_all_that_was_ever_counted() {
        let bytes = "kafka_server_BrokerTopicMetrics_Count{name=\"BytesInPerSec\"} 900000";
        let topic = "kafka_server_BrokerTopicMetrics_Count{name=\"BytesInPerSec\",topic=\"a\"} 900000";
        let window = broker_window(&scrape(&["up 1"], Duration::ZERO), &scrape(&[bytes, topic], TEN), "test");
        assert_eq!((window.bytes_in_per_s, window.topics.len()), (None, 0));
        let other = "kafka_server_BrokerTopicMetrics_Count{name=\"MessagesInPerSec\"} 0";
        let window = broker_window(&scrape(&[other], Duration::ZERO), &scrape(&[bytes], TEN), "test");
        let per_s = window.bytes_in_per_s.unwrap();
        assert!((per_s - 90_000.0).abs() < 10.0, "a meter that first ticked in the window: {per_s}");
    }

    #[test]
    fn a_broker_that_started_anew_has_no_rates() {
        let line = |count: u64| {
            format!("kafka_server_BrokerTopicMetrics_Count{{name=\"MessagesInPerSec\"}} {count}")
        };
        let window = broker_window(&scrape(&[&line(900)], Duration::ZERO), &scrape(&[&line(5)], TEN), "test");
        assert!(window.restarted);
        assert_eq!(window.messages_in_per_s, None);
    }
}
