//! Keeps the run document true while the run goes on.

use super::checkpoint::Span;
use super::fold::{StepFold, per_s};
use super::read_back::{differences, durability, effective};
use super::readings::BlockReadings;
use super::sums::{
    add_accounting, add_counts, add_errors, add_instrument, add_span, add_spread, merge_statistics,
    throughput,
};
use super::target::Target;
use super::utc::timestamp;
use crate::error::Result;
use jiff::Timestamp;
use plumb_judge::judge;
use plumb_judge::stages::stages;
use plumb_load::BlockOutcome;
use plumb_load::calibrate::Calibration;
use plumb_load::librdkafka::admin::TopicShape;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_load::random::Random;
use plumb_model::document::{
    BlockResult, ClusterFacts, Durability, Effective, Environment, Instrument, LostBlock, Resumption,
    RunDocument, RunIdentity, RunState, SCHEMA_VERSION, StepResult,
};
use plumb_model::finding::{Validity, ValidityVerdict};
use plumb_model::observation::{Counts, Twin};
use plumb_model::plan::{Driver, Mode, Plan, StepPlan};
use plumb_observe::{HostRoot, SystemCommands, host_facts, is_local_address};
use plumb_stats::distribution::distribution;
use plumb_stats::interval::Spread;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// The document with what is needed to go on with it.
pub(super) struct Record {
    pub(super) document: RunDocument,
    /// Time and bytes behind each step's rates.
    pub(super) spans: Vec<Span>,
    /// True if all brokers read the clock of this host; none where it is not known.
    same_clock: Option<bool>,
    /// Steps of which no block has been done since the run went on.
    unseen: BTreeSet<usize>,
    /// Counts of the whole blocks of a step of which a block is under way, whose own are in the document too.
    whole: BTreeMap<usize, Counts>,
}

/// A block that is over.
pub(super) struct DoneBlock<'a> {
    pub(super) result: BlockResult,
    pub(super) outcome: BlockOutcome,
    pub(super) readings: BlockReadings,
    /// The cluster on which it ran.
    pub(super) target: &'a Target,
    pub(super) topic: &'a TopicShape,
}

/// 16 hexadecimal digits that no other run has.
fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 40);
    format!("{:016x}", Random::new(seed).bits())
}

impl Record {
    /// A document of a run about which nothing is known but its plan.
    pub(super) fn new(plan: Plan, started: Timestamp, config: &ClientConfig) -> Result<Self> {
        let reference = plan.reference.as_deref().map(crate::reference::table).transpose()?;
        let steps = plan.steps.iter().map(empty_result).collect();
        let run = RunIdentity {
            id: new_id(),
            name: plan.name.clone(),
            started_at: timestamp(started),
            finished_at: None,
            state: RunState::Running,
            plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
            resumed: Vec::new(),
            lost_block: None,
        };
        let environment = Environment {
            client: client(&plan),
            config_keys: config.fates.clone(),
            ..Environment::default()
        };
        let document = RunDocument {
            schema_version: SCHEMA_VERSION,
            run,
            outcome: None,
            validity: Validity { verdict: ValidityVerdict::Invalid, reasons: Vec::new() },
            summary: Vec::new(),
            findings: Vec::new(),
            steps,
            comparisons: Vec::new(),
            sweeps: Vec::new(),
            queues: Vec::new(),
            trial: None,
            settings_search: None,
            winners: Vec::new(),
            reference,
            instrument: Instrument::default(),
            environment,
            plan,
        };
        let spans = vec![Span::default(); document.steps.len()];
        let mut record =
            Record { document, spans, same_clock: None, unseen: BTreeSet::new(), whole: BTreeMap::new() };
        record.judge();
        Ok(record)
    }

    /// The document of a run that goes on.
    pub(super) fn resumed(mut document: RunDocument, spans: Vec<Span>) -> Self {
        let blocks_kept = document.steps.iter().map(|step| step.blocks.len() as u32).sum();
        let at = timestamp(Timestamp::now());
        let lost_block = document.run.lost_block.take();
        document.run.resumed.push(Resumption { at, blocks_kept, changes: Vec::new(), lost_block });
        document.run.state = RunState::Running;
        document.run.finished_at = None;
        let unseen = (0..document.steps.len()).filter(|at| !document.steps[*at].blocks.is_empty()).collect();
        let mut record = Record { document, spans, same_clock: None, unseen, whole: BTreeMap::new() };
        record.judge();
        record
    }

    /// The document of one step by itself, apart from the run's: same run, host and cluster.
    pub(super) fn scratch(&self, step: StepPlan) -> Self {
        let mut document = self.document.clone();
        document.plan.settings_search = None;
        document.settings_search = None;
        document.plan.goal = None;
        // An arm by itself is no trial.
        document.plan.trial = None;
        document.steps = vec![empty_result(&step)];
        document.plan.steps = vec![step];
        let mut record = Record {
            document,
            spans: vec![Span::default()],
            same_clock: self.same_clock,
            unseen: BTreeSet::new(),
            whole: BTreeMap::new(),
        };
        record.judge();
        record
    }

    /// A step's figures were made elsewhere.
    pub(super) fn replace(&mut self, index: usize, result: StepResult) {
        self.document.steps[index] = result;
        self.judge();
    }

    /// Something is not as it was before the run went on.
    pub(super) fn changed(&mut self, what: String) {
        if let Some(resumption) = self.document.run.resumed.last_mut()
            && !resumption.changes.contains(&what)
        {
            resumption.changes.push(what);
        }
    }

    /// The run went on because a worker that was lost came back.
    pub(super) fn went_on_after(&mut self, block: LostBlock) {
        if let Some(resumption) = self.document.run.resumed.last_mut() {
            resumption.lost_block = Some(block);
        }
    }

    /// The run ends after a worker was lost: what was opened to go on with does not go on.
    pub(super) fn lost_for_good(&mut self, block: LostBlock) {
        self.document.run.resumed.pop();
        self.document.run.lost_block = Some(block);
    }

    /// The run's id as a number.
    pub(super) fn run_number(&self) -> u64 {
        u64::from_str_radix(&self.document.run.id, 16).unwrap_or(0)
    }

    /// The host that generates the load, as it describes itself.
    pub(super) fn describe_host(&mut self) {
        let host = &mut self.document.environment.host;
        host.get_or_insert_with(|| host_facts(&HostRoot::default(), &SystemCommands::default()));
    }

    /// The cluster, as it describes itself. Of a run that goes on, what was said at its start stays.
    pub(super) fn describe(&mut self, target: &Target) {
        let goes_on = !self.document.run.resumed.is_empty();
        let local = self.beside_clients(target);
        self.same_clock = local.as_ref().map(|local| local.iter().all(|local| *local));
        if goes_on {
            return;
        }
        let environment = &mut self.document.environment;
        environment.log_directories = target.log_directories();
        environment.cluster = cluster_facts(target, local.as_deref());
    }

    /// The brokers that a step has to itself, as they describe themselves.
    pub(super) fn describe_own(&mut self, index: usize, target: &Target) {
        let local = self.beside_clients(target);
        self.document.steps[index].cluster = Some(cluster_facts(target, local.as_deref()));
    }

    /// True for each broker on the host that generates the load; none when that cannot be told, as where workers on other hosts do.
    fn beside_clients(&self, target: &Target) -> Option<Vec<bool>> {
        let elsewhere = self.document.environment.workers.iter().any(|worker| !worker.one_clock);
        if elsewhere { None } else { brokers_here(target) }
    }

    pub(super) fn instrument(&mut self, calibration: &Calibration) {
        let spread = Spread { level: self.document.plan.level, block_means_ns: &[], batches: &[] };
        self.document.instrument = Instrument {
            clock_read_ns: Some(calibration.clock_read_ns),
            clock_step_ns: Some(calibration.clock_step_ns),
            wake_late: distribution(&calibration.wake_late, &spread),
            spin_ns: calibration.spin_ns,
            ceilings: std::mem::take(&mut self.document.instrument.ceilings),
        };
    }

    /// A block is under way: the figures so far.
    pub(super) fn in_progress(&mut self, index: usize, fold: &StepFold) {
        let step = &mut self.document.steps[index];
        step.latency = fold.latencies(&step.blocks);
        step.slip = fold.slip();
        step.series = fold.series.clone();
        step.counts = *self.whole.entry(index).or_insert(step.counts);
        add_counts(&mut step.counts, &fold.counts_so_far(), step.blocks.is_empty());
    }

    /// A block is over.
    pub(super) fn block_done(&mut self, index: usize, fold: &StepFold, done: DoneBlock<'_>) {
        let DoneBlock { result, outcome, readings, target, topic } = done;
        let same_clock = self.same_clock;
        let plan = &self.document.plan.steps[index];
        let (load, reads_only) = (plan.load.clone(), plan.reads_as_it_is());
        if self.unseen.remove(&index) {
            let now = effective(&outcome, target, topic);
            for change in differences(&self.document.steps[index].effective, &now) {
                self.changed(format!("{}: {change}", self.document.steps[index].name));
            }
        }
        let step = &mut self.document.steps[index];
        if step.blocks.is_empty() {
            let host = std::mem::take(&mut step.effective.host);
            step.effective = Effective { host, ..effective(&outcome, target, topic) };
            step.durability = match reads_only {
                true => Durability::default(),
                false => durability(&step.effective),
            };
        }
        step.counts = self.whole.remove(&index).unwrap_or(step.counts);
        add_counts(&mut step.counts, &outcome.counts, step.blocks.is_empty());
        let span = &mut self.spans[index];
        add_span(span, &outcome);
        // A rate is messages over time; a mean of rates is not.
        step.asked_per_s =
            per_s(step.counts.intended, span.planned_ns).or(step.asked_per_s).filter(|_| !load.saturating());
        step.achieved_per_s = per_s(step.counts.acked, span.measured_ns);
        add_accounting(step, &outcome);
        add_spread(step, &outcome, &topic.leaders);
        merge_statistics(&mut step.producer_statistics, &outcome.producer_statistics);
        merge_statistics(&mut step.consumer_statistics, &outcome.consumer_statistics);
        add_errors(&mut step.errors, &outcome.errors);
        add_instrument(step, &readings, &outcome, *span);
        step.blocks.push(result);
        step.throughput = throughput(step, *span, self.document.plan.level);
        if load.mode == Mode::Consume && span.received_messages > 0 {
            // What others wrote has the size that it has, whatever the plan assumed.
            step.value_bytes_mean = span.received_bytes as f64 / span.received_messages as f64;
        }
        step.latency = fold.latencies(&step.blocks);
        step.slip = fold.slip();
        step.series = fold.series.clone();
        step.histogram_logs = fold.logs().clone();
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
        judge(&self.document).put_into(&mut self.document);
    }
}

/// True for each broker on this host; none when that cannot be told.
fn brokers_here(target: &Target) -> Option<Vec<bool>> {
    let root = HostRoot::default();
    let here = target.addresses().into_iter().map(|address| is_local_address(&root, address).ok());
    here.collect::<Option<Vec<bool>>>().filter(|here| !here.is_empty())
}

fn cluster_facts(target: &Target, here: Option<&[bool]>) -> ClusterFacts {
    ClusterFacts {
        id: target.cluster.id.clone(),
        brokers: target.cluster.brokers.iter().map(|(_, host, port)| format!("{host}:{port}")).collect(),
        on_this_host: here.map(|here| here.contains(&true)),
        version: target.lab.as_ref().map(|lab| format!("Apache Kafka {}", lab.kafka_version())),
        security_protocol: target.cluster.properties.get("security.protocol").cloned(),
        connect_ns: match here {
            Some(here) if here.iter().all(|here| *here) => Vec::new(),
            _ => target.connect_ns(),
        },
    }
}

/// A step of which nothing is known but its plan.
pub(super) fn empty_result(step: &StepPlan) -> StepResult {
    StepResult {
        name: step.name.clone(),
        asked_per_s: step.load.rate_per_s,
        value_bytes_mean: step.load.size.mean(),
        ..StepResult::default()
    }
}

/// The clients in use, with their versions.
fn client(plan: &Plan) -> String {
    let mut drivers: Vec<(Driver, String)> =
        plan.steps.iter().map(|step| (step.driver, step.driver_name())).collect();
    drivers.sort_unstable();
    drivers.dedup();
    let name = |(driver, name): &(Driver, String)| match driver {
        Driver::Librdkafka => plumb_load::librdkafka::version(),
        Driver::Wire => format!("plumb wire {}", env!("CARGO_PKG_VERSION")),
        // Each block says what its programs told of themselves.
        Driver::External => name.clone(),
    };
    drivers.iter().map(name).collect::<Vec<_>>().join(", ")
}
