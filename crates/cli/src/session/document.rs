//! Keeps the run document true while the run goes on.

use super::fold::StepFold;
use super::target::Target;
use super::watch::Watched;
use anyhow::Result;
use jiff::Timestamp;
use plumb_judge::judge;
use plumb_judge::stages::stages;
use plumb_load::BlockOutcome;
use plumb_load::calibrate::Calibration;
use plumb_load::librdkafka::admin::TopicShape;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_load::random::Random;
use plumb_model::document::{
    BlockResult, ClusterFacts, Durability, Effective, Environment, Instrument, RunDocument, RunIdentity,
    RunState, SCHEMA_VERSION, StepResult,
};
use plumb_model::facts::ThreadUsage;
use plumb_model::finding::{Validity, ValidityVerdict};
use plumb_model::observation::{ClientStatistics, Counts, ErrorCount, ThreadCpu, Twin};
use plumb_model::plan::{Plan, Properties};
use plumb_observe::{HostRoot, SystemCommands, host_facts, is_local_address};
use plumb_stats::distribution::distribution;
use plumb_stats::interval::Spread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Threads listed in the document for each step.
const THREADS_MOST: usize = 12;

/// The document with what is needed to go on with it.
pub(super) struct Record {
    pub(super) document: RunDocument,
    /// Time behind each step's rates.
    spans: Vec<Span>,
    /// Whether all brokers read the clock of this host.
    same_clock: Option<bool>,
}

/// Time behind a step's rates, over its blocks so far.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    planned_ns: u64,
    measured_ns: u64,
}

/// 16 hexadecimal digits that no other run has.
pub(super) fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 40);
    format!("{:016x}", Random::new(seed).number())
}

/// UTC, RFC 3339, whole seconds.
pub(super) fn timestamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Record {
    /// A document of a run about which nothing is known but its plan.
    pub(super) fn new(plan: Plan, started: Timestamp, config: &ClientConfig) -> Result<Self> {
        let reference = plan.reference.as_deref().map(crate::reference::table).transpose()?;
        let steps = plan
            .steps
            .iter()
            .map(|step| StepResult {
                name: step.name.clone(),
                asked_per_s: step.load.rate_per_s,
                value_bytes_mean: step.load.size.mean(),
                ..StepResult::default()
            })
            .collect();
        let run = RunIdentity {
            id: new_id(),
            name: plan.name.clone(),
            started_at: timestamp(started),
            finished_at: None,
            state: RunState::Running,
            plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
            resumed: Vec::new(),
        };
        let environment = Environment {
            client: plumb_load::librdkafka::version(),
            config_keys: config.fates.clone(),
            ..Environment::default()
        };
        let document = RunDocument {
            schema_version: SCHEMA_VERSION,
            run,
            validity: Validity { verdict: ValidityVerdict::Invalid, reasons: Vec::new() },
            summary: Vec::new(),
            findings: Vec::new(),
            steps,
            comparisons: Vec::new(),
            sweeps: Vec::new(),
            reference,
            instrument: Instrument::default(),
            environment,
            plan,
        };
        let spans = vec![Span::default(); document.steps.len()];
        let mut record = Record { document, spans, same_clock: None };
        record.judge();
        Ok(record)
    }

    /// The run's id as a number.
    pub(super) fn run_number(&self) -> u64 {
        u64::from_str_radix(&self.document.run.id, 16).unwrap_or(0)
    }

    /// Host and cluster, as they describe themselves.
    pub(super) fn describe(&mut self, target: &Target) {
        let root = HostRoot::default();
        let environment = &mut self.document.environment;
        environment.log_directories = target.log_directories();
        environment.host = Some(host_facts(&root, &SystemCommands::default()));
        let local: Option<Vec<bool>> =
            target.addresses().into_iter().map(|address| is_local_address(&root, address).ok()).collect();
        let local = local.filter(|local| !local.is_empty());
        self.same_clock = local.as_ref().map(|local| local.iter().all(|local| *local));
        environment.cluster = ClusterFacts {
            id: target.cluster.id.clone(),
            brokers: target.cluster.brokers.iter().map(|(_, host, port)| format!("{host}:{port}")).collect(),
            on_this_host: local.map(|local| local.contains(&true)),
            version: target.lab.as_ref().map(|lab| format!("Apache Kafka {}", lab.kafka_version())),
            security_protocol: target.cluster.properties.get("security.protocol").cloned(),
        };
    }

    pub(super) fn instrument(&mut self, calibration: &Calibration) {
        let spread = Spread { level: self.document.plan.level, block_means_ns: &[], batches: &[] };
        self.document.instrument = Instrument {
            clock_read_ns: Some(calibration.clock_read_ns),
            clock_step_ns: Some(calibration.clock_step_ns),
            wake_late: distribution(&super::fold::histogram_of(&calibration.wake_late), &spread),
            spin_ns: calibration.spin_ns,
            ceilings: Vec::new(),
        };
    }

    /// A block is under way: the figures so far.
    pub(super) fn in_progress(&mut self, index: usize, fold: &StepFold) {
        let step = &mut self.document.steps[index];
        step.latency = fold.latencies(&step.blocks);
        step.slip = fold.slip();
        step.series = fold.series.clone();
    }

    /// A block is over.
    pub(super) fn block_done(
        &mut self,
        index: usize,
        fold: &StepFold,
        (block, outcome, watched): (BlockResult, BlockOutcome, Watched),
        (target, topic): (&Target, &TopicShape),
    ) {
        let same_clock = self.same_clock;
        let saturating = self.document.plan.steps[index].load.saturating();
        let step = &mut self.document.steps[index];
        if step.blocks.is_empty() {
            step.effective = effective(&outcome, target, topic);
            step.durability = durability(&step.effective);
        }
        add_counts(&mut step.counts, &outcome.counts);
        let span = &mut self.spans[index];
        span.planned_ns += outcome.planned_ns;
        span.measured_ns += outcome.measured_ns;
        // A rate is messages over time; a mean of rates is not.
        let rate = |messages: u64, ns: u64| (ns > 0).then(|| messages as f64 * 1e9 / ns as f64);
        step.asked_per_s =
            rate(step.counts.intended, span.planned_ns).or(step.asked_per_s).filter(|_| !saturating);
        step.achieved_per_s = rate(step.counts.acked, span.measured_ns);
        add_accounting(step, &outcome);
        merge_statistics(&mut step.producer_statistics, &outcome.producer_statistics);
        merge_statistics(&mut step.consumer_statistics, &outcome.consumer_statistics);
        add_errors(&mut step.errors, &outcome.errors);
        add_instrument(step, &watched, &outcome);
        step.blocks.push(block);
        step.latency = fold.latencies(&step.blocks);
        step.slip = fold.slip();
        step.series = fold.series.clone();
        step.histogram_logs = fold.logs.clone();
        step.stages = stages(step, same_clock);
        self.judge();
    }

    /// A step's twin topic has told the broker's append times.
    pub(super) fn twin_done(&mut self, index: usize, twin: Twin) {
        let step = &mut self.document.steps[index];
        step.twin = Some(twin);
        step.stages = stages(step, self.same_clock);
        self.judge();
    }

    /// The run is over.
    pub(super) fn finish(&mut self, state: RunState) {
        self.document.run.state = state;
        self.document.run.finished_at = Some(timestamp(Timestamp::now()));
        self.judge();
    }

    fn judge(&mut self) {
        let judgement = judge(&self.document);
        self.document.validity = judgement.validity;
        self.document.findings = judgement.findings;
        self.document.comparisons = judgement.comparisons;
        self.document.sweeps = judgement.sweeps;
        self.document.summary = judgement.summary;
    }
}

/// Mean of two figures by their weights; the second alone when the first stands for nothing yet.
fn weighted(a: f64, weight_a: u64, b: f64, weight_b: u64) -> f64 {
    let (weight_a, weight_b) = (weight_a as f64, weight_b as f64);
    if weight_a + weight_b == 0.0 { b } else { (a * weight_a + b * weight_b) / (weight_a + weight_b) }
}

fn effective(outcome: &BlockOutcome, target: &Target, topic: &TopicShape) -> Effective {
    let leader = topic.leaders.first().copied().unwrap_or(-1);
    Effective {
        topic_name: topic.name.clone(),
        partitions: u32::try_from(topic.leaders.len()).ok(),
        replication: (topic.replication > 0).then_some(topic.replication),
        log_dirs: target.log_dirs(&topic.name),
        producer: outcome.producer_properties.clone(),
        consumer: outcome.consumer_properties.clone(),
        topic: target.cluster.topic_configs(&topic.name),
        broker: target.cluster.broker_configs(leader),
    }
}

fn durability(effective: &Effective) -> Durability {
    let of = |properties: &Properties, key: &str| properties.get(key).cloned();
    let acks = of(&effective.producer, "acks");
    Durability {
        acks: acks.map(|acks| if acks == "-1" { "all".to_owned() } else { acks }),
        replication: effective.replication,
        min_insync_replicas: of(&effective.topic, "min.insync.replicas").and_then(|value| value.parse().ok()),
        flush_messages: of(&effective.topic, "flush.messages"),
        flush_ms: of(&effective.topic, "flush.ms"),
        idempotence: of(&effective.producer, "enable.idempotence").and_then(|value| value.parse().ok()),
    }
}

fn add_counts(sum: &mut Counts, counts: &Counts) {
    sum.intended += counts.intended;
    sum.sent += counts.sent;
    sum.acked += counts.acked;
    sum.failed += counts.failed;
    sum.unknown += counts.unknown;
    sum.received += counts.received;
    sum.lost += counts.lost;
    sum.duplicated += counts.duplicated;
    sum.reordered += counts.reordered;
}

fn add_accounting(step: &mut StepResult, outcome: &BlockOutcome) {
    let first = step.blocks.is_empty();
    let (sum, block) = (&mut step.accounting, &outcome.accounting);
    sum.acked += block.acked;
    sum.unknown += block.unknown;
    sum.foreign += block.foreign;
    sum.corrupt += block.corrupt;
    // One block that could not be asked leaves the sum unknown; one that disagrees is not outweighed.
    sum.offset_delta = match (first, sum.offset_delta, block.offset_delta) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far + now),
        (false, ..) => None,
    };
    sum.agrees = match (first, sum.agrees, block.agrees) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far && now),
        (false, so_far, now) => so_far.filter(|agrees| !agrees).or(now.filter(|agrees| !agrees)),
    };
}

fn merge_statistics(sum: &mut ClientStatistics, block: &ClientStatistics) {
    let mean = |a: Option<f64>, n: u64, b: Option<f64>, m: u64| match (a, b) {
        (Some(a), Some(b)) => Some(weighted(a, n, b, m)),
        (a, b) => a.or(b),
    };
    let (n, m) = (sum.queue_samples, block.queue_samples);
    sum.queue_mean_ns = mean(sum.queue_mean_ns, n, block.queue_mean_ns, m);
    let (n, m) = (sum.outbuf_samples, block.outbuf_samples);
    sum.outbuf_mean_ns = mean(sum.outbuf_mean_ns, n, block.outbuf_mean_ns, m);
    let (n, m) = (sum.batches, block.batches);
    sum.batch_messages_mean = mean(sum.batch_messages_mean, n, block.batch_messages_mean, m);
    sum.batch_bytes_mean = mean(sum.batch_bytes_mean, n, block.batch_bytes_mean, m);
    sum.outbuf_samples += block.outbuf_samples;
    sum.batches += block.batches;
    sum.rtt_mean_ns = mean(sum.rtt_mean_ns, sum.rtt_samples, block.rtt_mean_ns, block.rtt_samples);
    sum.rtt_min_ns = [sum.rtt_min_ns, block.rtt_min_ns].into_iter().flatten().min();
    sum.queue_samples += block.queue_samples;
    sum.rtt_samples += block.rtt_samples;
    sum.throttle_max_ns = sum.throttle_max_ns.max(block.throttle_max_ns);
    sum.throttled_responses += block.throttled_responses;
    sum.reconnects += block.reconnects;
    sum.disconnects += block.disconnects;
    sum.timeouts += block.timeouts;
    sum.retries += block.retries;
    sum.rebalances += block.rebalances;
    sum.out_of_range += block.out_of_range;
}

fn add_errors(sum: &mut Vec<ErrorCount>, errors: &[ErrorCount]) {
    for error in errors {
        match sum.iter_mut().find(|known| known.origin == error.origin && known.code == error.code) {
            Some(known) => known.count += error.count,
            None => sum.push(error.clone()),
        }
    }
}

fn add_instrument(step: &mut StepResult, watched: &Watched, outcome: &BlockOutcome) {
    let first = step.blocks.is_empty();
    let add = |so_far: Option<f64>, now: Option<f64>| match (first, so_far, now) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far + now),
        (false, ..) => None,
    };
    let sent = step.counts.sent;
    let instrument = &mut step.instrument;
    let cpu_s = watched.own.as_ref().and_then(|own| own.cpu_ns).map(|ns| ns as f64 / 1e9);
    instrument.cpu_s = add(instrument.cpu_s, cpu_s);
    instrument.broker_cpu_s = add(instrument.broker_cpu_s, watched.broker_cpu_s);
    instrument.cpu_s_per_million_messages =
        instrument.cpu_s.filter(|_| sent > 0).map(|cpu_s| cpu_s * 1e6 / sent as f64);
    instrument.queue_full_waits += outcome.queue_full_waits;
    if let Some(own) = &watched.own {
        // The busiest of any block: an average would hide the block in which a thread was the limit.
        let mut threads: Vec<ThreadCpu> =
            own.threads.iter().filter_map(|t| thread(t, own.elapsed_ns)).collect();
        threads.append(&mut instrument.threads);
        threads.sort_by(|a, b| b.share.total_cmp(&a.share));
        let mut seen = std::collections::BTreeSet::new();
        threads.retain(|thread| seen.insert(thread.thread.clone()));
        threads.truncate(THREADS_MOST);
        instrument.threads = threads;
    }
}

fn thread(usage: &ThreadUsage, elapsed_ns: u64) -> Option<ThreadCpu> {
    let ticks = usage.user_ns.zip(usage.system_ns).map(|(user, system)| user + system);
    let cpu_ns = usage.on_cpu_ns.or(ticks)?;
    (cpu_ns > 0 && elapsed_ns > 0).then(|| ThreadCpu {
        thread: usage.name.clone(),
        cpu_s: cpu_ns as f64 / 1e9,
        share: cpu_ns as f64 / elapsed_ns as f64,
        run_delay_s: usage.run_delay_ns.map(|ns| ns as f64 / 1e9),
    })
}
