//! The figures of a run's brokers: the load that one has carried, and the CPU time that it took.
//!
//! A rate that was reached is proof of as much and no bound: the run may have asked for no more. CPU time per byte is a
//! figure of the broker as it was loaded; small batches cost more of it than large ones.

use super::input::{Figure, Source};
use super::machine::{CpuCost, Machine};
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::figure::{self, short};
use plumb_model::finding::{Severity, ValidityVerdict};
use plumb_model::plan::{Mode, StepPlan};
use thiserror::Error;

const GB: f64 = 1e9;

/// A run that says nothing of what its brokers carry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MeasuredError {
    /// The step is not in it.
    #[error("the run has no step {got:?}; its steps: {steps}")]
    NoStep {
        /// As asked for.
        got: String,
        /// Those that it has.
        steps: String,
    },
    /// No step in which producers were confirmed anything.
    #[error("the run has no step in which producers had messages confirmed")]
    NothingProduced,
}

/// The figures of a run's brokers.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its figures; what it does not tell is absent.
    pub machine: Machine,
    /// The step that they are from.
    pub step: String,
    /// The run's verdict.
    pub verdict: ValidityVerdict,
    /// Cautions for a reader of the figures, each as a sentence.
    pub cautions: Vec<String>,
}

/// The figures of a step: the one named, or the one with the most bytes per second.
///
/// # Errors
/// [`MeasuredError`] when there is no such step, or none in which anything was produced.
pub fn from_run(document: &RunDocument, step: Option<&str>) -> Result<Measured, MeasuredError> {
    let result = chosen(document, step)?;
    let plan = document.plan.steps.iter().find(|plan| plan.name == result.name);
    let verdict = document.validity.verdict;
    let detail = format!("run {}, step {:?}, {}", document.run.id, result.name, verdict.word());
    let figure =
        |value: f64, shown: String| Figure { value, shown, source: Source::Measured(detail.clone()) };

    let mut machine = Machine::default();
    let mut cautions = cautions(document, result, plan);
    let replication = result.effective.replication.unwrap_or(1);
    let brokers = document.environment.cluster.brokers.len();
    let ingress = bytes_per_s(result).filter(|_| brokers > 0).map(|bytes_per_s| bytes_per_s / brokers as f64);
    machine.proven_ingress_bytes_per_s = ingress.map(|value| figure(value, figure::bytes_per_s(value)));
    machine.proven_replication = Some(replication);
    let cpus = document.environment.host.as_ref().and_then(|host| host.logical_cpus.value().copied());
    let idle = result.instrument.broker_cpu_s.and_then(|cpu_s| idle(result, plan, cpu_s, cpus?));
    if let Some(caution) = idle {
        cautions.push(caution);
    } else if let Some(broker_cpu_s) = result.instrument.broker_cpu_s {
        let s_per_gb = broker_cpu_s / (result.counts.acked as f64 * result.value_bytes_mean / GB);
        machine.cpu = Some(CpuCost {
            s_per_gb: figure(s_per_gb, format!("{} CPU seconds per GB", short(s_per_gb))),
            replication,
            groups: groups(plan),
            tls: is_tls(document),
        });
    } else {
        cautions.push(
            "The run does not know its brokers' CPU time (they were not on its host): the CPU bound is not known."
                .to_owned(),
        );
    }
    // The host is the brokers' only where they run on it.
    if document.environment.cluster.on_this_host == Some(true)
        && let Some(host) = &document.environment.host
    {
        machine.cores =
            host.logical_cpus.value().map(|cpus| figure(f64::from(*cpus), format!("{cpus} logical CPUs")));
        machine.memory_bytes = host
            .memory_total_bytes
            .value()
            .map(|total| figure(*total as f64, figure::binary_bytes(*total as f64)));
    }
    Ok(Measured { machine, step: result.name.clone(), verdict, cautions })
}

/// Share of their host's CPUs from which what brokers take is the price of bytes (ours). Below it the price of a broker that does next to nothing, and
/// of requests with a record or two, is divided by few bytes: at 200 records a second that was a hundred times what the same broker took at its limit.
const CPU_SHARE_MIN: f64 = 0.25;

/// The reason why CPU time per byte is not taken from a step at a rate that leaves its brokers idle; none where it is taken.
fn idle(result: &StepResult, plan: Option<&StepPlan>, broker_cpu_s: f64, cpus: u32) -> Option<String> {
    let rate = plan.and_then(|plan| plan.load.rate_per_s)?;
    let measured_s = result.counts.acked as f64 / result.achieved_per_s?;
    let share = broker_cpu_s / (measured_s * f64::from(cpus));
    (share < CPU_SHARE_MIN).then(|| {
        format!(
            "At {} messages a second the run's brokers used {} of their host's CPUs: what a byte costs brokers at work is not known from \
             it, and neither is the CPU bound. A run of plumb throughput tells it.",
            figure::rate(rate),
            figure::percent(share)
        )
    })
}

fn chosen<'a>(document: &'a RunDocument, step: Option<&str>) -> Result<&'a StepResult, MeasuredError> {
    match step {
        Some(name) => {
            let found = document.steps.iter().find(|step| step.name == name).ok_or_else(|| {
                let names: Vec<&str> = document.steps.iter().map(|step| step.name.as_str()).collect();
                MeasuredError::NoStep { got: name.to_owned(), steps: names.join(", ") }
            })?;
            bytes_per_s(found).map(|_| found)
        }
        None => {
            let rated = document.steps.iter().filter_map(|step| Some((step, bytes_per_s(step)?)));
            rated.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(step, _)| step)
        }
    }
    .ok_or(MeasuredError::NothingProduced)
}

/// Bytes per second that were acknowledged to producers; absent where none were.
fn bytes_per_s(step: &StepResult) -> Option<f64> {
    let produced = step.counts.acked > 0 && step.value_bytes_mean > 0.0;
    step.achieved_per_s.filter(|_| produced).map(|rate| rate * step.value_bytes_mean)
}

fn groups(plan: Option<&StepPlan>) -> f64 {
    let reads = plan.is_none_or(|plan| plan.load.mode != Mode::Produce && plan.load.consumers > 0);
    if reads { 1.0 } else { 0.0 }
}

fn is_tls(document: &RunDocument) -> bool {
    let protocol = document.environment.cluster.security_protocol.as_deref().unwrap_or_default();
    protocol.to_ascii_uppercase().ends_with("SSL")
}

fn cautions(document: &RunDocument, step: &StepResult, plan: Option<&StepPlan>) -> Vec<String> {
    let mut cautions = Vec::new();
    if document.validity.verdict != ValidityVerdict::Valid {
        let reasons = document.validity.reasons.iter().filter(|reason| reason.severity != Severity::Note);
        let reasons: Vec<&str> = reasons.map(|reason| reason.claim.trim_end_matches('.')).collect();
        let verdict = document.validity.verdict.word();
        cautions.push(format!("The run is {verdict}: {}.", reasons.join("; ")));
    }
    let names = ["compression.type", "compression.codec"];
    let properties = plan.map(|plan| &plan.producer);
    let compression = names
        .iter()
        .find_map(|name| step.effective.producer.get(*name).or_else(|| properties?.get(*name)))
        .filter(|codec| codec.as_str() != "none");
    if let Some(codec) = compression {
        cautions.push(format!(
            "The run's producers compressed with {codec}: its bytes are those of values before that, the target's after it."
        ));
    }
    if document.environment.cluster.on_this_host == Some(true) {
        cautions.push(
            "The run's brokers shared their host with the load: alone they would have more of its CPU, memory and disk."
                .to_owned(),
        );
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{DEFAULT, LOW, healthy};
    use plumb_model::facts::{Fact, HostFacts};

    #[test]
    fn the_step_with_the_most_bytes_per_second_speaks_unless_one_is_named() {
        let mut run = healthy();
        run.steps[1].achieved_per_s = Some(1_000.0);
        assert_eq!(from_run(&run, None).unwrap().step, DEFAULT);
        assert_eq!(from_run(&run, Some(LOW)).unwrap().step, LOW);
        let error = from_run(&run, Some("other")).unwrap_err().to_string();
        assert!(error.contains("\"other\"") && error.contains(LOW), "{error}");
    }

    #[test]
    fn what_a_run_carried_is_shared_among_its_brokers_and_says_where_it_is_from() {
        let mut run = healthy();
        run.environment.cluster.brokers = vec!["a:9092".to_owned(), "b:9092".to_owned()];
        run.steps[0].achieved_per_s = Some(1_000.0);
        run.steps[0].value_bytes_mean = 500.0;
        run.steps[0].counts.acked = 4_000_000;
        run.steps[0].instrument.broker_cpu_s = Some(6.0);
        let measured = from_run(&run, Some(LOW)).unwrap();
        let ingress = measured.machine.proven_ingress_bytes_per_s.unwrap();
        assert_eq!(ingress.value, 250_000.0);
        assert!(
            matches!(&ingress.source, Source::Measured(detail) if detail.contains("valid") && detail.contains(LOW))
        );
        // 6 CPU seconds over 2 GB.
        assert_eq!(measured.machine.cpu.unwrap().s_per_gb.value, 3.0);
    }

    #[test]
    fn brokers_that_were_idle_do_not_tell_what_a_byte_costs() {
        let mut run = healthy();
        let logical_cpus = Fact::Known { value: 2, source: "test".to_owned() };
        let host = HostFacts { logical_cpus, ..HostFacts::default() };
        run.environment.host = Some(host);
        run.steps[0].achieved_per_s = Some(200.0);
        run.steps[0].counts.acked = 6_000;
        // 30 s of two processors, of which a quarter is 15 s.
        for (broker_cpu_s, told) in [(7.5, false), (14.9, false), (15.1, true)] {
            run.steps[0].instrument.broker_cpu_s = Some(broker_cpu_s);
            let measured = from_run(&run, Some(LOW)).unwrap();
            assert_eq!(measured.machine.cpu.is_some(), told, "{broker_cpu_s}");
            let cautioned = measured
                .cautions
                .iter()
                .any(|caution| caution.contains("A run of plumb throughput tells it"));
            assert_eq!(cautioned, !told, "{:?}", measured.cautions);
        }
        run.steps[0].instrument.broker_cpu_s = Some(7.5);
        run.plan.steps.iter_mut().for_each(|step| step.load.rate_per_s = None);
        assert!(from_run(&run, Some(LOW)).unwrap().machine.cpu.is_some(), "as fast as it goes is at work");
    }

    #[test]
    fn a_run_that_confirmed_nothing_or_is_not_valid_does_not_pass_for_a_measurement_of_anything() {
        let mut run = healthy();
        run.validity.verdict = ValidityVerdict::Invalid;
        assert!(from_run(&run, None).unwrap().cautions[0].contains("invalid"));
        for step in &mut run.steps {
            step.counts.acked = 0;
        }
        assert_eq!(from_run(&run, None).unwrap_err(), MeasuredError::NothingProduced);
    }
}
