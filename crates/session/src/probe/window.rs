//! The time in which a probe ran: the host's work in the meantime becomes the document's conditions.

use jiff::Timestamp;
use plumb_model::probe::{Conditions, Noise, ProbeKind, SCHEMA_VERSION};
use plumb_observe::{HostRoot, HostSample, SystemCommands, host_delta, host_facts, sample_host};
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// A probe that runs.
pub(super) struct Window {
    started_at: Timestamp,
    began: Instant,
    own_cpu_ns: u64,
    helpers_cpu_ns: u64,
    host: Option<HostSample>,
}

impl Window {
    pub(super) fn open() -> Self {
        let host = sample_host(&HostRoot::default()).ok();
        Window {
            started_at: Timestamp::now(),
            began: Instant::now(),
            own_cpu_ns: own_cpu_ns(),
            helpers_cpu_ns: 0,
            host,
        }
    }

    /// Another process that measured for the probe used so much processor time: it is the probe's own.
    pub(super) fn also_own(&mut self, cpu_ns: u64) {
        self.helpers_cpu_ns += cpu_ns;
    }

    /// The probe is over, or stopped.
    pub(super) fn close(self, probe: ProbeKind, complete: bool) -> Conditions {
        self.close_after(probe, complete, None)
    }

    /// The probe is over, or stopped by the user or by an error.
    pub(super) fn close_after(
        self,
        probe: ProbeKind,
        complete: bool,
        error: Option<&(dyn std::error::Error + 'static)>,
    ) -> Conditions {
        let elapsed_ns = self.began.elapsed().as_nanos() as u64;
        Conditions {
            schema_version: SCHEMA_VERSION,
            probe,
            plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            elapsed_ns,
            complete: complete && error.is_none(),
            ended_by: error.map(with_causes),
            noise: self.noise().unwrap_or_default(),
            host: host_facts(&HostRoot::default(), &SystemCommands::default()),
        }
    }

    fn noise(&self) -> Option<Noise> {
        let own_ns = (own_cpu_ns().saturating_sub(self.own_cpu_ns) + self.helpers_cpu_ns) as f64;
        let delta = host_delta(self.host.as_ref()?, &sample_host(&HostRoot::default()).ok()?);
        let total_ns = delta.cpu.total_ns.filter(|total| *total > 0).map(|total| total as f64);
        let share = |ns: f64| total_ns.map(|total| (ns / total).clamp(0.0, 1.0));
        let pressure = |ns: u64| ns as f64 / delta.elapsed_ns.max(1) as f64;
        Some(Noise {
            own_cpu_share: share(own_ns),
            others_cpu_share: delta.cpu.busy_ns.and_then(|busy| share(busy as f64 - own_ns)),
            steal_share: delta.cpu.steal_share(),
            cpu_pressure_share: delta.pressure.cpu_some_ns.map(pressure),
        })
    }
}

/// An error with its causes, on one line.
pub(super) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Processor time of this process so far.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
