//! What causes look at: the document, its stages, and questions that several causes ask. Not here: any judgement about a cause.

use super::client::{requests_per_s, setting};
use super::measure::{count, known, least, mean, most, number, ratio, share, sum};
use super::stages::{APPENDS_MIN, HELD_NS_MIN, LAG_GROWS, Stage, Stages, appends_of_fetch, fetch_held_ns};
use super::threads::{Threads, waits_in};
use plumb_model::facts::{DiskDelta, InterfaceDelta, WindowMean};
use plumb_model::observed::{
    BrokerKind, BrokerWindow, ClientKind, ClientWindow, CpuClass, HostWindow, ObservedPath, OffCpuStack,
    ProcessWaits, ProcessWindow, RequestKind, ThreadClass,
};

/// A stage must be at least this long to matter: brokers round every time to whole milliseconds, so that less may be nothing but
/// rounding (ours).
const MATTERS_NS: f64 = 2e6;
/// Use of a connection's time from which it is full (ours: means, and times that are rounded to milliseconds).
pub(super) const CONNECTION_FULL: f64 = 0.8;
/// Above this share a connection is not what it seems: the client has several, or its broker serves more than one request at once
/// (ours; means that were rounded to milliseconds can be somewhat above 1).
const SERIAL_MAX: f64 = 1.5;
/// Longest round trip of a network (ours): what takes longer waited in a queue.
pub(super) const NETWORK_NS_MAX: f64 = 500e6;
/// The linger that current clients have where nobody sets another (Kafka 4.0, librdkafka 2).
const LINGER_DEFAULT_NS: f64 = 5e6;
/// A stage must be at least this share of what a message waits for to matter (ours).
const MATTERS_SHARE: f64 = 0.25;
/// A mean wait from here up is slow, whatever makes it (ours).
const SLOW_NS: f64 = 20e6;
/// Handlers that a disk holds at any moment from which requests wait behind them (ours): one for a quarter of the window.
const HELD_MIN: f64 = 0.25;
/// Share of the broker's time from which a stage is most of it.
const MOST: f64 = 0.5;
/// Mean round trip over the least one from which requests wait behind others (ours).
const BEHIND_MIN: f64 = 3.0;
/// Idle below this is too little: "ideally > 0.3" of Apache Kafka's documentation, for network threads and handlers alike.
pub(super) const IDLE_MIN: f64 = 0.3;
/// Processors busy above this share are busy: the limit of Amazon MSK's guide to troubleshooting for handlers short of processors.
pub(super) const CPU_BUSY: f64 = 0.6;

/// Where a request waits for its turn on a connection.
const BEFORE_BROKER: [Stage; 2] = [Stage::ClientQueue, Stage::Unexplained];

/// A watched path with what is asked of it more than once. Every figure that it gives is a number from 0 up.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) path: &'a ObservedPath,
    pub(super) stages: Stages,
}

impl<'a> Case<'a> {
    /// The case of a document.
    pub(super) fn of(path: &'a ObservedPath) -> Case<'a> {
        Case { path, stages: Stages::of(path) }
    }

    /// The window in seconds; absent where it is 0.
    pub(super) fn seconds(&self) -> Option<f64> {
        (self.path.elapsed_ns > 0).then(|| self.path.elapsed_ns as f64 / 1e9)
    }

    /// Share of stages in what a message waits for. A wait for one's turn is as long as what is waited for: where a connection is full, the time
    /// before the broker belongs to the broker's stages, and where the producers' queue is longer than their linger, it belongs to the stages
    /// behind it, to each by its part.
    pub(super) fn share(&self, stages: &[Stage]) -> Option<f64> {
        let alone = self.stages.share(stages)?;
        let has = |waits: &[Stage]| stages.iter().any(|stage| waits.contains(stage));
        let is_held = self.connection_is_full() || stages.iter().any(|stage| self.holds_those_behind(*stage));
        if is_held && !has(&BEFORE_BROKER) {
            let waits = self.stages.share(&BEFORE_BROKER).unwrap_or(0.0);
            return Some((alone + waits * self.stages.share_of_broker(stages).unwrap_or(0.0)).min(1.0));
        }
        if self.queue_matters() && !has(&[Stage::ClientQueue, Stage::Fetch]) {
            let fetch = self.stages.share(&[Stage::Fetch]).unwrap_or(0.0);
            return Some(self.share_behind_queue(stages)? * (1.0 - fetch));
        }
        Some(alone)
    }

    /// The share of its time for which the busiest connection of a producer has a request in the broker.
    pub(super) fn serial_use(&self) -> Option<f64> {
        let total_ns = self.stages.broker_ns.filter(|_| self.is_kafka())?;
        let brokers = self.taking_brokers();
        // What a client has made and not sent yet is no request of the brokers.
        let taken_per_s = self.requests_per_s("Produce").unwrap_or(f64::INFINITY);
        let used = self
            .producers()
            .map(|client| Some(requests_per_s(client)?.min(taken_per_s) / brokers * total_ns / 1e9));
        most(used).filter(|used| *used <= SERIAL_MAX)
    }

    /// Whether a producer's connection has a request in the broker nearly all the time, or all the time while there are bursts.
    pub(super) fn connection_is_full(&self) -> bool {
        self.serial_use().is_some_and(|used| used >= CONNECTION_FULL) || self.requests_wait_in_turn()
    }

    /// Whether a round trip is as long as the broker takes for the requests in flight one after another, while a single one is answered as fast as
    /// the broker takes it: then requests wait for each other, and the way is short.
    fn requests_wait_in_turn(&self) -> bool {
        let turns = || {
            let broker_ns =
                self.stages.broker_ns.filter(|broker_ns| *broker_ns >= MATTERS_NS && self.is_kafka())?;
            let in_flight = self.producers_most(|client| client.in_flight_max).filter(|most| *most > 1.0)?;
            let way_is_short = self.producers_most(|client| client.rtt_min_ns)? <= 1.5 * broker_ns;
            let rtt_ns = self.stages.rtt_ns?;
            Some(way_is_short && (1.5 * broker_ns..=1.2 * in_flight * broker_ns).contains(&rtt_ns))
        };
        turns().unwrap_or(false)
    }

    /// Whether a wait in this stage is long enough, in itself and beside the others, to be looked into.
    pub(super) fn matters(&self, stage: Stage) -> bool {
        let long = self.stages.mean_ns(stage).is_some_and(|mean_ns| mean_ns >= MATTERS_NS);
        let share = match stage {
            Stage::ClientQueue => self.share_of_produce(&[stage]),
            Stage::Fetch => self.stages.share(&[stage]),
            _ => self.share_behind_queue(&[stage]),
        };
        let of_wait = share.is_some_and(|share| share >= MATTERS_SHARE);
        let of_broker = || self.stages.share_of_broker(&[stage]).is_some_and(|share| share >= MATTERS_SHARE);
        let in_itself = long && (of_wait || self.connection_is_full() && of_broker());
        in_itself || self.holds_those_behind(stage)
    }

    /// Whether this stage is where requests are for which others wait on their connections, though its mean is short: the brokers' mean over all
    /// requests hides a few that take long, and knows nothing of the turns between two requests of a connection.
    fn holds_those_behind(&self, stage: Stage) -> bool {
        match stage {
            Stage::Local => self.disk_holds_appends(),
            Stage::RequestQueue => self.handlers_hold_requests(),
            _ => false,
        }
    }

    /// Whether round trips are much longer than the least one, and not in the brokers' stages.
    fn requests_wait_behind_others(&self) -> bool {
        let least_ns = self.producers_most(|client| client.rtt_min_ns).unwrap_or(0.0);
        let is_long = |rtt_ns: f64| rtt_ns >= (BEHIND_MIN * least_ns).max(SLOW_NS);
        self.stages.rtt_ns.is_some_and(is_long) && self.matters(Stage::Unexplained)
    }

    /// Whether the handlers have no time left, and the wait for one is most of what a request does in the broker.
    fn handlers_hold_requests(&self) -> bool {
        let of_broker = self.stages.share_of_broker(&[Stage::RequestQueue]);
        self.handlers_busy()
            && !self.network_busy()
            && of_broker.is_some_and(|share| share >= MOST)
            && self.requests_wait_behind_others()
    }

    /// Whether a handler is seen waiting for the disk for a good part of the window.
    fn disk_holds_appends(&self) -> bool {
        let held = self.threads(ThreadClass::Handler, Threads::in_disk).is_some_and(|held| held >= HELD_MIN);
        held && self.requests_wait_behind_others()
    }

    /// Share of stages in what a message waits for until its acknowledgement: a consumer's backlog makes none of these waits shorter.
    pub(super) fn share_of_produce(&self, stages: &[Stage]) -> Option<f64> {
        let fetch = self.stages.share(&[Stage::Fetch]).unwrap_or(0.0);
        share(ratio(self.stages.share(stages), Some(1.0 - fetch)))
    }

    /// The same behind the producers' queue: that is their own choice (linger), or a wait for what is behind.
    fn share_behind_queue(&self, stages: &[Stage]) -> Option<f64> {
        let queue = self.share_of_produce(&[Stage::ClientQueue]).unwrap_or(0.0);
        share(ratio(self.share_of_produce(stages), Some(1.0 - queue)))
    }

    /// Whether any of these stages matters.
    pub(super) fn any_matters(&self, stages: &[Stage]) -> bool {
        stages.iter().any(|stage| self.matters(*stage))
    }

    /// Whether clients wait long, are held back, or fall behind, whatever the reason.
    pub(super) fn slow(&self) -> bool {
        self.stages.sum_ns().is_some_and(|sum_ns| sum_ns >= SLOW_NS)
            || self.producers_most(|client| client.queue_share_max).is_some_and(|share| share >= 0.9)
            || self.producers_most(|client| client.buffer_wait_share).is_some_and(|share| share >= 0.05)
            || self.lag_grows()
            || self.producers().any(|client| self.waits_long(client))
    }

    /// Whether a producer waits long by itself, beside a linger that it told: the mean of all hides one among many.
    fn waits_long(&self, client: &ClientWindow) -> bool {
        let linger = setting(client, &["linger.ms", "queue.buffering.max.ms"]).and_then(number);
        let chosen_ns = 1.2 * linger.map_or(0.0, |linger_ms| linger_ms * 1e6);
        let queue_ns = known(client.queue_mean_ns).unwrap_or(0.0);
        let rest = [client.outbuf_mean_ns, client.rtt_mean_ns].into_iter();
        let rest_ns = sum(rest).unwrap_or(0.0);
        (queue_ns - chosen_ns).max(0.0) + rest_ns >= SLOW_NS
    }

    /// Whether consumers' fetches wait in the brokers though messages come: a fetch that returns at the first append has no more than one.
    pub(super) fn fetches_wait(&self) -> bool {
        fetch_held_ns(self.path).is_some_and(|held_ns| held_ns >= HELD_NS_MIN)
            && appends_of_fetch(self.path).is_some_and(|appends| appends >= APPENDS_MIN)
    }

    /// Whether consumers fall behind by 1 % of their messages or more (ours).
    pub(super) fn lag_grows(&self) -> bool {
        self.lag_growth().is_some_and(|growth| growth >= LAG_GROWS)
    }

    /// Growth of the consumers' lag over the messages that they take, the worst of them.
    pub(super) fn lag_growth(&self) -> Option<f64> {
        most(self.consumers().map(|client| ratio(client.lag_growth_per_s, client.messages_per_s)))
    }

    // Clients.

    pub(super) fn producers(&self) -> impl Iterator<Item = &'a ClientWindow> + use<'a> {
        self.path.clients.iter().filter(|client| client.is_producer)
    }

    pub(super) fn consumers(&self) -> impl Iterator<Item = &'a ClientWindow> + use<'a> {
        self.path.clients.iter().filter(|client| !client.is_producer)
    }

    /// Mean over the producers.
    pub(super) fn producers_mean(&self, figure: fn(&ClientWindow) -> Option<f64>) -> Option<f64> {
        mean(self.producers().map(|client| (figure(client), 1.0)))
    }

    /// Largest of the producers.
    pub(super) fn producers_most(&self, figure: fn(&ClientWindow) -> Option<f64>) -> Option<f64> {
        most(self.producers().map(figure))
    }

    /// Largest of the consumers.
    pub(super) fn consumers_most(&self, figure: fn(&ClientWindow) -> Option<f64>) -> Option<f64> {
        most(self.consumers().map(figure))
    }

    /// The first of these settings that any producer told, as a number.
    pub(super) fn producer_number(&self, keys: &[&str]) -> Option<f64> {
        self.producers().find_map(|client| setting(client, keys)).and_then(number)
    }

    /// The first of these settings that any consumer told, as a number.
    pub(super) fn consumer_number(&self, keys: &[&str]) -> Option<f64> {
        // Plumb's own load has its producer and its consumer in one row.
        let own = self.path.clients.iter().filter(|client| client.kind == ClientKind::Probe);
        self.consumers().chain(own).find_map(|client| setting(client, keys)).and_then(number)
    }

    /// The linger of the producers; absent where no client told it.
    pub(super) fn linger_ns(&self) -> Option<f64> {
        let keys = ["linger.ms", "queue.buffering.max.ms"];
        self.producer_number(&keys).map(|linger_ms| linger_ms * 1e6)
    }

    /// Whether the wait in the producers' queue is no longer than their linger (the default where nobody told it): then it is no sign of
    /// anything else.
    pub(super) fn queue_is_linger(&self) -> bool {
        let linger_ns = self.linger_ns().unwrap_or(LINGER_DEFAULT_NS);
        self.stages.mean_ns(Stage::ClientQueue).is_some_and(|queue_ns| queue_ns <= 1.2 * linger_ns + 0.3e6)
    }

    /// Whether the wait in the producers' queue matters and is longer than their linger.
    pub(super) fn queue_matters(&self) -> bool {
        self.matters(Stage::ClientQueue) && !self.queue_is_linger()
    }

    /// Mean time to the acknowledgement, where a producer measures it itself.
    pub(super) fn acknowledge_ns(&self) -> Option<f64> {
        self.producers_mean(|client| client.acknowledge_mean_ns)
    }

    // Brokers.

    /// Brokers that take Produce requests: a producer's requests are spread over these.
    pub(super) fn taking_brokers(&self) -> f64 {
        let takes = |broker: &&BrokerWindow| {
            broker.requests.get("Produce").and_then(|kind| kind.per_s).is_some_and(|per_s| per_s > 0.0)
        };
        self.path.brokers.iter().filter(takes).count().max(1) as f64
    }

    pub(super) fn brokers(&self) -> &'a [BrokerWindow] {
        &self.path.brokers
    }

    /// Whether the brokers may be Apache Kafka's: its rules of threads and connections hold.
    pub(super) fn is_kafka(&self) -> bool {
        self.path.brokers.iter().all(|broker| broker.kind != BrokerKind::Redpanda)
    }

    /// Sum over the brokers.
    pub(super) fn broker_sum(&self, figure: fn(&BrokerWindow) -> Option<f64>) -> Option<f64> {
        sum(self.path.brokers.iter().map(figure))
    }

    /// Largest of the brokers.
    pub(super) fn broker_most(&self, figure: fn(&BrokerWindow) -> Option<f64>) -> Option<f64> {
        most(self.path.brokers.iter().map(figure))
    }

    /// Requests a second of one kind, of all brokers.
    pub(super) fn requests_per_s(&self, kind: &str) -> Option<f64> {
        sum(self.path.brokers.iter().map(|broker| broker.requests.get(kind)?.per_s))
    }

    /// Share of one kind in all requests that the brokers took.
    pub(super) fn share_of_requests(&self, kind: &str) -> Option<f64> {
        share(ratio(self.requests_per_s(kind), sum(self.path.brokers.iter().map(all_requests_per_s))))
    }

    /// Mean of a stage of one kind of request, by the requests of each broker.
    pub(super) fn request_mean_ns(
        &self,
        kind: &str,
        of: fn(&RequestKind) -> Option<WindowMean>,
    ) -> Option<f64> {
        let kinds = self.path.brokers.iter().filter_map(|broker| broker.requests.get(kind));
        mean(kinds.filter_map(of).map(|window| (Some(window.mean_ns), window.samples as f64)))
    }

    /// Mean bytes of a Produce request: as told, or bytes in over requests.
    pub(super) fn produce_bytes(&self) -> Option<f64> {
        let told = self.path.brokers.iter().filter_map(|broker| broker.requests.get("Produce"));
        mean(told.map(|kind| (kind.bytes_mean, kind.per_s.unwrap_or(1.0)))).or_else(|| {
            ratio(self.broker_sum(|broker| broker.bytes_in_per_s), self.requests_per_s("Produce"))
        })
    }

    /// Idle share of the busiest network thread: connections stay with their thread, so the mean of all says nothing.
    pub(super) fn network_idle(&self) -> Option<f64> {
        share(least(self.path.brokers.iter().map(network_idle)))
    }

    /// Idle share of the busiest broker's request handlers.
    pub(super) fn handler_idle(&self) -> Option<f64> {
        share(least(self.path.brokers.iter().map(|broker| broker.handlers.idle_share)))
    }

    /// The part of the time for which the broker's handlers are on a processor or wait for one. A controller in the same process has as many of its
    /// own, which have next to nothing to do.
    pub(super) fn handlers_at_work(&self) -> Option<f64> {
        let class = ThreadClass::Handler;
        let of_all =
            self.threads(class, |threads| Some(threads.executing? + threads.runnable.unwrap_or(0.0)))?;
        let all = self.threads(class, |threads| Some(f64::from(threads.threads)))?;
        let pool = self.broker_number("num.io.threads").filter(|pool| *pool >= 1.0).unwrap_or(all);
        Some((of_all * (all / pool).max(1.0)).min(1.0))
    }

    /// Whether some network thread has too little idle time.
    pub(super) fn network_busy(&self) -> bool {
        self.network_idle().is_some_and(|idle| idle < IDLE_MIN)
    }

    /// Whether some broker's request handlers have too little idle time.
    pub(super) fn handlers_busy(&self) -> bool {
        self.handler_idle().is_some_and(|idle| idle < IDLE_MIN)
    }

    /// Whether some pool of broker threads has too little idle time.
    pub(super) fn threads_busy(&self) -> bool {
        self.network_busy() || self.handlers_busy()
    }

    /// Whether the brokers' threads are known to have time left.
    pub(super) fn threads_idle(&self) -> bool {
        self.network_idle().is_some_and(|idle| idle >= IDLE_MIN)
            && self.handler_idle().is_some_and(|idle| idle >= IDLE_MIN)
    }

    /// The first value of a broker setting.
    pub(super) fn broker_setting(&self, key: &str) -> Option<&'a str> {
        self.path.settings.brokers.values().find_map(|settings| settings.get(key)).map(String::as_str)
    }

    /// A broker setting as a number.
    pub(super) fn broker_number(&self, key: &str) -> Option<f64> {
        self.broker_setting(key).and_then(number)
    }

    /// Values of a topic config.
    pub(super) fn topic_settings(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.path.settings.topics.values().filter_map(move |topic| topic.configs.get(key)).map(String::as_str)
    }

    /// The topic with most bytes in, with its share of the bytes of all.
    pub(super) fn busiest_topic(&self) -> Option<(&'a str, f64)> {
        let mut bytes: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
        for topic in self.path.brokers.iter().flat_map(|broker| &broker.topics) {
            *bytes.entry(&topic.topic).or_default() += known(topic.bytes_in_per_s).unwrap_or(0.0);
        }
        let total = sum(bytes.values().map(|bytes| Some(*bytes)));
        let (topic, most) = bytes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((topic, ratio(Some(most), total)?))
    }

    /// Whether anybody encrypts: clients and brokers, or brokers among themselves.
    pub(super) fn uses_tls(&self) -> bool {
        self.clients_use_tls() || self.replicates_over_tls()
    }

    /// Whether brokers talk to each other over TLS, by their settings: the protocol of the listener between brokers.
    pub(super) fn replicates_over_tls(&self) -> bool {
        let encrypts = |protocol: &str| protocol.to_ascii_uppercase().ends_with("SSL");
        if let Some(listener) = self.broker_setting("inter.broker.listener.name") {
            let protocols = self.broker_setting("listener.security.protocol.map").unwrap_or_default();
            let mut pairs = protocols.split(',').filter_map(|pair| pair.trim().split_once(':'));
            return pairs.any(|(name, protocol)| name.eq_ignore_ascii_case(listener) && encrypts(protocol));
        }
        self.broker_setting("security.inter.broker.protocol").is_some_and(encrypts)
    }

    /// Whether clients use TLS: by a client's setting, by the name of a thread's listener, or by the broker's listeners.
    pub(super) fn clients_use_tls(&self) -> bool {
        let secure = |text: &str| text.to_ascii_uppercase().contains("SSL");
        let clients =
            || self.path.clients.iter().filter_map(|client| client.settings.get("security.protocol"));
        if clients().next().is_some() {
            return clients().any(|protocol| secure(protocol));
        }
        let processors = self.path.brokers.iter().flat_map(|broker| &broker.network_processors);
        processors
            .filter(|processor| known(processor.connections).unwrap_or(1.0) > 0.0)
            .any(|p| secure(&p.name))
            || self.broker_setting("listeners").is_some_and(secure)
            || !self.replicates_over_tls()
                && self.profile(&[CpuClass::Tls], None).is_some_and(|share| share > 0.02)
    }

    // Processes of this host.

    pub(super) fn broker_processes(&self) -> impl Iterator<Item = &'a ProcessWindow> + use<'a> {
        self.path.processes.iter().filter(|process| process.is_broker)
    }

    pub(super) fn other_processes(&self) -> impl Iterator<Item = &'a ProcessWindow> + use<'a> {
        self.path.processes.iter().filter(|process| !process.is_broker)
    }

    /// A figure of one class of the brokers' threads, the largest of all brokers of this host.
    pub(super) fn threads(&self, class: ThreadClass, figure: fn(&Threads) -> Option<f64>) -> Option<f64> {
        most(
            self.broker_processes()
                .map(|process| figure(&Threads::of(process, class, self.path.elapsed_ns)?)),
        )
    }

    /// The same of the other processes.
    pub(super) fn client_threads(
        &self,
        class: ThreadClass,
        figure: fn(&Threads) -> Option<f64>,
    ) -> Option<f64> {
        most(
            self.other_processes().map(|process| figure(&Threads::of(process, class, self.path.elapsed_ns)?)),
        )
    }

    /// Largest share of readings in which the brokers' threads of a class slept in one of these functions of the kernel.
    pub(super) fn waits(&self, class: ThreadClass, functions: &[&str]) -> f64 {
        let groups = self.broker_processes().flat_map(|process| &process.groups);
        let of_class = groups.filter(|group| group.class == class);
        of_class.map(|group| waits_in(group, functions)).fold(0.0, f64::max)
    }

    /// How many handlers of a broker wait in one of these functions at any moment, on average; of the broker that has most.
    pub(super) fn handlers_in(&self, functions: &[&str]) -> f64 {
        let groups = self.broker_processes().flat_map(|process| &process.groups);
        let handlers = groups.filter(|group| group.class == ThreadClass::Handler);
        let seen = handlers.map(|group| waits_in(group, functions) * f64::from(group.threads));
        seen.fold(0.0, f64::max).max(self.off_cpu(functions))
    }

    /// Time off the processor in one of these functions over the window, of the threads of the broker that has most of it.
    pub(super) fn off_cpu(&self, functions: &[&str]) -> f64 {
        let waits = self.broker_processes().filter_map(|process| process.kernel.as_ref());
        waits.map(|waits| off_cpu_in(waits, functions)).fold(0.0, f64::max)
    }

    /// Share of classes in the profile of a broker, of all its work or of one class of threads; the largest of all brokers.
    pub(super) fn profile(&self, classes: &[CpuClass], threads: Option<ThreadClass>) -> Option<f64> {
        share(most(self.broker_processes().map(|process| profile(process, classes, threads))))
    }

    /// The same of the other processes.
    pub(super) fn client_profile(&self, classes: &[CpuClass]) -> Option<f64> {
        share(most(self.other_processes().map(|process| profile(process, classes, None))))
    }

    // The host.

    pub(super) fn host(&self) -> Option<&'a HostWindow> {
        self.path.host_window.as_ref()
    }

    /// Busy share of the host's processors.
    pub(super) fn cpu_busy(&self) -> Option<f64> {
        share(self.host()?.counters.cpu.busy_share())
    }

    /// Logical processors: as told, or as many as have a row.
    pub(super) fn cpus(&self) -> Option<f64> {
        let told = self.path.host.as_ref().and_then(|host| host.logical_cpus.value().copied());
        let rows = self.host().map(|host| host.counters.each_cpu.len() as u32).filter(|cpus| *cpus > 0);
        told.or(rows).map(f64::from)
    }

    /// The length of the host's counters in seconds.
    pub(super) fn host_seconds(&self) -> Option<f64> {
        let elapsed_ns = self.host()?.counters.elapsed_ns;
        if elapsed_ns > 0 { Some(elapsed_ns as f64 / 1e9) } else { self.seconds() }
    }

    /// The disk of the brokers' logs with most bytes written; where nobody told where they are, the one of all disks.
    pub(super) fn written_disk(&self) -> Option<&'a DiskDelta> {
        let disks = &self.host()?.counters.disks;
        let logs = self.broker_processes().flat_map(|process| &process.log_directories);
        let names: Vec<&str> = logs.filter_map(|log| log.device.as_deref()).collect();
        let of_logs = disks.iter().filter(|disk| names.contains(&disk.name.as_str()));
        let most = |disk: &&'a DiskDelta| disk.written_bytes;
        of_logs.max_by_key(most).or_else(|| disks.iter().max_by_key(most))
    }

    /// Bytes a second written to that disk.
    pub(super) fn written_per_s(&self) -> Option<f64> {
        ratio(count(self.written_disk()?.written_bytes), self.host_seconds())
    }

    /// Share of the window in which that disk had something to do.
    pub(super) fn disk_busy(&self) -> Option<f64> {
        share(ratio(count(self.written_disk()?.busy_ns), self.host_seconds().map(|s| s * 1e9)))
    }

    /// Mean time of a write of that disk.
    pub(super) fn disk_write_ns(&self) -> Option<f64> {
        let disk = self.written_disk()?;
        ratio(count(disk.write_ns), count(disk.writes))
    }

    /// Interfaces other than the loopback.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &'a InterfaceDelta> {
        self.host().into_iter().flat_map(|host| &host.counters.interfaces).filter(|face| face.name != "lo")
    }

    /// Packets received by the interfaces.
    pub(super) fn received_packets(&self) -> Option<f64> {
        sum(self.interfaces().map(|face| count(face.received_packets)))
    }

    /// Share of TCP segments that were sent again.
    pub(super) fn retransmitted(&self) -> Option<f64> {
        let host = self.host()?;
        let sent = host.tcp.sent_segments.or(host.counters.tcp_sent_segments);
        let again = host.tcp.retransmitted.or(host.counters.tcp_retransmitted_segments);
        ratio(count(again), count(sent))
    }

    /// Whether a disk of the log keeps the path: its writes are slow, it is always busy, or it is near a limit.
    pub(super) fn disk_is_slow(&self) -> bool {
        let slow_writes = self.disk_write_ns().is_some_and(|mean_ns| mean_ns >= 5e6);
        self.disk_busy().is_some_and(|busy| busy >= 0.9) && slow_writes
    }
}

/// Requests a second of all kinds that a broker took.
pub(super) fn all_requests_per_s(broker: &BrokerWindow) -> Option<f64> {
    // `Fetch` is the sum of its two kinds, where these are told.
    let has_kinds = broker.requests.keys().any(|kind| kind.starts_with("Fetch") && kind != "Fetch");
    let counted = broker.requests.iter().filter(|(name, _)| !(has_kinds && *name == "Fetch"));
    sum(counted.map(|(_, kind)| kind.per_s))
}

/// Idle share of a broker's busiest network thread.
pub(super) fn network_idle(broker: &BrokerWindow) -> Option<f64> {
    share(least(broker.network_processors.iter().map(|processor| processor.idle_share)))
}

/// Functions of the kernel in which a thread is that was stopped from outside: by a signal, by a debugger, by a freezer.
const STOPPED: [&str; 4] = ["do_signal_stop", "ptrace_stop", "__refrigerator", "do_freezer_trap"];

/// Share of the readings of a process' threads in which they were stopped: mean over its threads.
pub(super) fn stopped(process: &ProcessWindow) -> Option<f64> {
    share(mean(
        process.groups.iter().map(|group| (Some(waits_in(group, &STOPPED)), f64::from(group.threads))),
    ))
}

/// Time off the processor in one of these functions, of all threads of a process, over the window.
fn off_cpu_in(waits: &ProcessWaits, functions: &[&str]) -> f64 {
    let is_in = |stack: &&OffCpuStack| {
        stack.frames.iter().any(|frame| functions.iter().any(|function| frame.contains(function)))
    };
    let time_ns = waits.off_cpu.iter().filter(is_in).map(|stack| stack.time_ns as f64).sum();
    ratio(Some(time_ns), count(Some(waits.elapsed_ns))).unwrap_or(0.0)
}

fn profile(process: &ProcessWindow, classes: &[CpuClass], threads: Option<ThreadClass>) -> Option<f64> {
    let shares = &process.profile.as_ref()?.shares;
    let rows = shares.iter().filter(|row| row.threads == threads && classes.contains(&row.class));
    Some(sum(rows.map(|row| Some(row.share))).unwrap_or(0.0))
}
