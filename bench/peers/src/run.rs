//! One run of one tool, measured.

use crate::broker::Broker;
use crate::error::BenchError;
use crate::flow::Flow;
use crate::job::{Acks, Job, Work};
use crate::meter::{Meter, Said, Spent};
use crate::tool::{Claim, Tool};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// No run is longer: the slowest one seen took a fifth of it.
const LIMIT: Duration = Duration::from_secs(180);

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// The tool's name.
    pub tool: &'static str,
    /// The round, from 1.
    pub round: usize,
    /// Each value.
    pub size_bytes: usize,
    /// Of a producer.
    pub acks: Option<Acks>,
    /// Messages that the tool was asked for.
    pub asked: u64,
    /// Messages that the broker has, or had for the consumer to read.
    pub messages: u64,
    /// Messages a second: of a producer as the broker saw them come, of a consumer as it says.
    pub messages_per_s: Option<f64>,
    /// The tool's own figures.
    pub claim: Claim,
    /// From the start of its process to the end.
    pub wall_s: f64,
    /// CPU time of its process.
    pub client_cpu_s: f64,
    /// CPU time of a process of the same tool that moved next to nothing, where that was measured.
    pub start_up_cpu_s: Option<f64>,
    /// CPU time of the broker meanwhile.
    pub broker_cpu_s: f64,
    /// Share of the machine that others used meanwhile.
    pub foreign_share: f64,
}

impl Run {
    /// CPU seconds of the client for a million messages.
    pub(crate) fn client_cpu_s_per_million(&self) -> f64 {
        self.client_cpu_s * 1e6 / self.messages as f64
    }

    /// The same without what the tool needs to start and end.
    pub(crate) fn moving_cpu_s_per_million(&self) -> Option<f64> {
        Some((self.client_cpu_s - self.start_up_cpu_s?) * 1e6 / self.messages as f64)
    }

    /// CPU seconds of the broker for a million messages.
    pub(crate) fn broker_cpu_s_per_million(&self) -> f64 {
        self.broker_cpu_s * 1e6 / self.messages as f64
    }
}

/// The task of a tool in a run.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The round.
    pub round: usize,
    /// Each value.
    pub size_bytes: usize,
    /// The direction.
    pub work: Work,
    /// Messages.
    pub count: u64,
    /// The topic, for a consumer. A producer gets a new one, which is deleted afterwards.
    pub topic: Option<&'a str>,
}

/// Runs it once the broker is calm.
///
/// # Errors
/// When the tool fails or the broker does not answer. Whatever happens, a topic that was made is deleted.
pub fn measure(broker: &mut Broker, tool: &dyn Tool, order: &Order<'_>) -> Result<Run, BenchError> {
    let Some(topic) = order.topic else {
        let topic = broker.make_topic()?;
        let run = on_topic(broker, tool, order, &topic);
        broker.delete_topic(&topic)?;
        return run;
    };
    on_topic(broker, tool, order, topic)
}

fn on_topic(broker: &mut Broker, tool: &dyn Tool, order: &Order<'_>, topic: &str) -> Result<Run, BenchError> {
    let scratch = tempfile::Builder::new().prefix("plumb-bench-").tempdir()?;
    let bootstrap = broker.bootstrap();
    let job = Job {
        bootstrap: &bootstrap,
        topic,
        work: order.work,
        count: order.count,
        size_bytes: order.size_bytes,
        scratch: scratch.path(),
    };
    let command = tool.command(&job)?;
    broker.calm_down()?;
    let meter = Meter { broker_pid: broker.pid(), limit: LIMIT, good_codes: tool.good_codes() };
    let Watched { said, spent, flow } = watched(broker, &meter, command, scratch.path(), &job)?;
    let claim = tool.claim(&job, &said);
    let (name, messages) = (tool.name(), flow.messages());
    match order.work {
        Work::Produce(_) if messages == 0 => return Err(BenchError::Nothing { tool: name }),
        Work::Consume if claim.messages != Some(order.count) => {
            return Err(BenchError::Unread { tool: name, expected: order.count, got: claim.messages });
        }
        _ => {}
    }
    let (acks, messages_per_s) = match order.work {
        Work::Produce(acks) => (Some(acks), flow.messages_per_s()),
        Work::Consume => (None, claim.messages_per_s),
    };
    Ok(Run {
        tool: name,
        round: order.round,
        size_bytes: order.size_bytes,
        acks,
        asked: order.count,
        messages,
        messages_per_s,
        claim,
        wall_s: spent.wall_s,
        client_cpu_s: spent.client_cpu_s,
        start_up_cpu_s: None,
        broker_cpu_s: spent.broker_cpu_s,
        foreign_share: spent.foreign_share,
    })
}

/// A run with what came to the broker meanwhile.
struct Watched {
    said: Said,
    spent: Spent,
    flow: Flow,
}

/// While a producer runs, the broker is asked all the time how much it has; of a topic that is only read, once is enough.
fn watched(
    broker: &mut Broker,
    meter: &Meter,
    command: std::process::Command,
    scratch: &Path,
    job: &Job<'_>,
) -> Result<Watched, BenchError> {
    let mut flow = Flow::default();
    let (said, spent) = meter.run(command, scratch, |at_s| {
        if matches!(job.work, Work::Produce(_)) || at_s == 0.0 {
            flow.note(at_s, broker.end_offset(job.topic)?);
        }
        Ok(())
    })?;
    Ok(Watched { said, spent, flow })
}
