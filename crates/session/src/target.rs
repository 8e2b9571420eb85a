//! The path under test, made ready: a lab or the user's brokers, and the topics of the steps.

use crate::client_config;
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::Event;
use plumb_lab::kafka::{LabCluster, LabOptions, Step as LabStep, Tls};
use plumb_load::librdkafka::admin::{OwnTopic, Replicas, TopicShape, run_topics};
use plumb_load::librdkafka::connect::{Cluster, connect};
use plumb_model::facts::LogDirectory;
use plumb_model::plan::{ClusterPlan, Plan, TopicPlan, heap_mib};
use plumb_observe::shortest_connects;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::lab_watch::LabWatch;
use super::log_dirs::LogDirs;
use super::metrics::{self, BrokerMetrics};
use super::silence_watch::SilenceWatch;

/// Longest wait for a broker to take a connection whose time is measured.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// The path under test. Dropping it deletes the topics that it made and takes its lab down.
pub(super) struct Target {
    /// The topics that this run made.
    own: Vec<OwnTopic>,
    /// The topics in use, by the end of their name.
    shapes: BTreeMap<String, TopicShape>,
    run_id: String,
    pub(super) metrics: BrokerMetrics,
    pub(super) cluster: Cluster,
    /// The log directories of a lab; empty for brokers that were there.
    pub(super) log_dirs: LogDirs,
    /// Flags that the user gave a lab's JVMs.
    asked_jvm_flags: Vec<String>,
    context: RunContext,
    _silence: SilenceWatch,
    /// Before the lab: brokers that are taken down have not ended by themselves.
    watch: Option<LabWatch>,
    /// After the cluster, so that it is dropped last.
    pub(super) lab: Option<LabCluster>,
}

impl Target {
    /// Starts the lab or connects to the brokers.
    pub(super) fn ready(plan: &ClusterPlan, run_id: &str, context: &RunContext) -> Result<Self> {
        let (lab, bootstrap, properties, metrics) = match plan {
            ClusterPlan::Brokers { bootstrap, metrics, config } => {
                // Each cluster has a login of its own.
                let properties = client_config::read(config.as_deref())?.properties;
                let metrics = BrokerMetrics::of_brokers(metrics.clone())?;
                for url in &metrics.urls {
                    metrics.read(url, metrics::TIMEOUT)?;
                }
                (None, bootstrap.clone(), properties, metrics)
            }
            ClusterPlan::Lab { .. } => {
                let lab = LabCluster::start(&lab_options(plan, context)?)?;
                let bootstrap = lab.bootstrap();
                let properties = lab.client_properties().into_iter().collect();
                let metrics = lab.jmx_metrics_urls().unwrap_or_else(|error| {
                    context.note(&format!("warning: no broker metrics, so fewer stages are known: {error}"));
                    Vec::new()
                });
                (Some(lab), bootstrap, properties, BrokerMetrics::of_lab(metrics))
            }
        };
        context.phase("connecting");
        let watch = lab.as_ref().map(|lab| LabWatch::begin(lab.broker_processes(), context));
        let stop = watch.as_ref().map_or(&context.stop, LabWatch::stop);
        let cluster = connect(&bootstrap, &properties, stop)?;
        let silence = SilenceWatch::begin(&cluster.patience, context);
        let own = Vec::new();
        let asked_jvm_flags = match plan {
            ClusterPlan::Lab { jvm_flags, .. } => jvm_flags.clone(),
            ClusterPlan::Brokers { .. } => Vec::new(),
        };
        let run_id = run_id.to_owned();
        let log_dirs = LogDirs::of(plan, lab.as_ref());
        Ok(Target {
            own,
            shapes: BTreeMap::new(),
            run_id,
            metrics,
            cluster,
            log_dirs,
            asked_jvm_flags,
            context: context.clone(),
            _silence: silence,
            watch,
            lab,
        })
    }

    /// A topic of the plan: made on first use, its name ending with `suffix`, or looked up.
    pub(super) fn topic(&mut self, suffix: &str, plan: &TopicPlan) -> Result<TopicShape> {
        if let Some(shape) = self.shapes.get(suffix) {
            return Ok(shape.clone());
        }
        let shape = match plan {
            TopicPlan::Existing { name } => self.cluster.topic_shape(name)?,
            TopicPlan::Own { partitions, replication, configs, log_dir } => {
                let on = log_dir.as_deref().and_then(|name| self.log_dirs.broker_of(name));
                let replicas = on.map_or(Replicas::Number(*replication), Replicas::On);
                let name = format!("{}-{suffix}", run_topics(&self.run_id));
                // Ours from the moment at which it is made, whatever comes after.
                self.own.push(self.cluster.create_topic(&name, *partitions, replicas, configs)?);
                self.cluster.wait_for_leaders(&name, *partitions)?
            }
        };
        self.shapes.insert(suffix.to_owned(), shape.clone());
        Ok(shape)
    }

    /// Deletes a topic that this run made for something that is over. One of the user's is only forgotten.
    pub(super) fn delete(&mut self, suffix: &str) {
        let Some(shape) = self.shapes.remove(suffix) else { return };
        if let Some(at) = self.own.iter().position(|topic| topic.name() == shape.name) {
            let topic = self.own.swap_remove(at);
            if self.cluster.delete_topic(&topic).is_err() {
                // The end of the run tries again, and says so if it cannot.
                self.own.push(topic);
            }
        }
    }

    /// Deletes what a part of this run left on the cluster when it was killed. Nothing of it is used again.
    pub(super) fn delete_what_was_left(&self) -> Result<()> {
        if self.lab.is_some() {
            return Ok(());
        }
        for topic in self.cluster.topics_of_run(&self.run_id)? {
            self.cluster.delete_topic(&topic)?;
            self.context
                .note(&format!("topic {} was left by the part that was killed: deleted", topic.name()));
        }
        Ok(())
    }

    /// Set once what is under way on the brokers is to end: the user wants it, or no broker of a lab is left.
    pub(super) fn stop(&self) -> &Arc<AtomicBool> {
        self.watch.as_ref().map_or(&self.context.stop, LabWatch::stop)
    }

    /// Refuses to go on with a lab of which no broker is left: what cannot be asked of it any more is not the cause. Where the
    /// user wants to stop, that is what ends the run.
    pub(super) fn check_lab(&self) -> Result<()> {
        if self.context.is_stopped() {
            return Ok(());
        }
        Ok(self.lab.as_ref().map_or(Ok(()), LabCluster::check_running)?)
    }

    /// Replicas of the topic's partitions in each log directory of the lab; empty when they cannot be looked at.
    pub(super) fn log_dirs(&self, topic: &str) -> BTreeMap<String, u32> {
        self.log_dirs.partitions_of(topic)
    }

    /// The log directories with what is behind them.
    pub(super) fn log_directories(&self) -> Vec<LogDirectory> {
        self.log_dirs.facts()
    }

    /// Flags of the JVM of a lab's first broker, as its process has them; empty for other brokers, and where they cannot be
    /// read.
    pub(super) fn jvm_flags(&self) -> Vec<String> {
        let pid = self.lab.as_ref().and_then(|lab| lab.broker_pids().first().copied());
        let command =
            pid.and_then(|pid| fs_err::read(format!("/proc/{pid}/cmdline")).ok()).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.filter(|word| is_setting(word, &self.asked_jvm_flags)).collect()
    }

    /// Addresses of each broker; none where its name does not resolve.
    fn addresses_by_broker(&self) -> impl Iterator<Item = Vec<SocketAddr>> {
        self.cluster.brokers.iter().map(|(_, host, port)| {
            let port = u16::try_from(*port).unwrap_or(0);
            (host.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
        })
    }

    /// Addresses of the brokers, as far as their names resolve.
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.addresses_by_broker().flatten().map(|address| address.ip()).collect()
    }

    /// Shortest time to open a connection to each broker.
    pub(super) fn connect_ns(&self) -> Vec<Option<u64>> {
        let first: Vec<Option<SocketAddr>> =
            self.addresses_by_broker().map(|found| found.first().copied()).collect();
        let connects = shortest_connects(&first, CONNECT_PATIENCE);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        connects.into_iter().map(|time| time.map(ns)).collect()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // A lab goes with everything in it.
        if self.lab.is_some() {
            return;
        }
        for topic in &self.own {
            if let Err(error) = self.cluster.delete_topic(topic) {
                let left = format!("warning: topic {} is left behind: {error}", topic.name());
                self.context.note(&left);
            }
        }
    }
}

/// True if a word of a broker's command line is a setting of its JVM. Paths to Plumb's own files are no setting: they differ from
/// lab to lab and are nobody else's business, unless the user gave them.
fn is_setting(word: &str, asked: &[String]) -> bool {
    word.starts_with("-X") && (!word.contains('/') || asked.iter().any(|flag| flag == word))
}

/// Refuses labs of the plan that could not be started.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let clusters = plan.steps.iter().filter_map(|step| step.cluster.as_ref());
    for cluster in clusters.chain([&plan.cluster]) {
        if matches!(cluster, ClusterPlan::Lab { .. }) {
            asked(cluster)?.check()?;
        }
    }
    Ok(())
}

fn lab_options(plan: &ClusterPlan, context: &RunContext) -> Result<LabOptions> {
    let interrupt = Arc::clone(&context.stop);
    Ok(LabOptions { steps: Some(lab_steps(context)), interrupt, ..asked(plan)? })
}

/// The channel on which a lab announces its next step.
fn lab_steps(context: &RunContext) -> Sender<LabStep> {
    let (steps, told) = channel();
    let context = context.clone();
    std::thread::spawn(move || told.into_iter().for_each(|step| context.tell(&Event::Lab(step))));
    steps
}

/// The options of a lab that the plan asks for.
fn asked(plan: &ClusterPlan) -> Result<LabOptions> {
    let ClusterPlan::Lab {
        brokers,
        tls,
        inter_broker,
        broker_properties,
        jvm_flags,
        heap,
        log_dirs,
        log_dir_layout,
    } = plan
    else {
        return Ok(LabOptions::default());
    };
    Ok(LabOptions {
        brokers: *brokers,
        tls: if *tls { Tls::Server } else { Tls::Off },
        inter_broker: *inter_broker,
        broker_properties: broker_properties.clone().into_iter().collect(),
        jvm_flags: jvm_flags.clone(),
        heap_mib: heap_mib(heap)?,
        log_dirs: log_dirs.iter().map(|dir| dir.path.clone().into()).collect(),
        log_dir_layout: *log_dir_layout,
        ..LabOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_setting_of_the_jvm_only_where_the_user_gave_it() {
        let asked = ["-XX:HeapDumpPath=/var/dumps".to_owned()];
        assert!(is_setting("-Xmx512m", &asked) && is_setting("-XX:+UseSerialGC", &asked));
        assert!(is_setting("-XX:HeapDumpPath=/var/dumps", &asked));
        assert!(!is_setting("-XX:SharedArchiveFile=/home/ann/.cache/plumb/classes.jsa", &asked));
        assert!(!is_setting("-Xlog:gc*:file=/tmp/lab/gc.log", &asked));
        assert!(!is_setting("-Dlog4j.configurationFile=/tmp/lab/log4j2.yaml", &asked));
    }
}
