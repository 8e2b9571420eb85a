//! The precision of this host's clocks and timers: the document of `plumb probe clock`.

use super::{Conditions, Figure};
use crate::facts::Fact;
use crate::observation::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockProbe {
    /// The time, version and host. The clock source and the time service's word are among the host's facts.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The meaning of the figures for latencies that Plumb prints.
    pub smallest: Smallest,
    /// Clock sources that the kernel could use instead.
    pub available_sources: Fact<Vec<String>>,
    /// The kernel's own account of how well the wall clock is kept.
    pub kernel_sync: Fact<KernelSync>,
    /// Each clock that programs read.
    pub clocks: Vec<ClockRead>,
    /// The agreement of the processors' clocks; absent where only one processor may be used, threads could not be placed, or it
    /// was stopped before.
    pub across_cpus: Option<AcrossCpus>,
    /// The lateness of a thread that asked to wake at an absolute time.
    pub timers: Vec<TimerRow>,
    /// The lateness of Plumb's own pacing: the sleep and spin that sends use.
    pub pacing: Vec<PacingRow>,
}

/// The smallest that a latency printed on this host can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Smallest {
    /// Two moments on this host that are closer than this are not told apart: the larger of the monotonic clock's step
    /// and the cost of a reading.
    pub resolution_ns: Option<f64>,
    /// Half of the sends on a schedule go out later than intended by more than this, on the worst of the schedules in
    /// `pacing`. A latency counts from the intended time, so it is in it.
    pub schedule_p50_ns: Option<u64>,
    /// The same for one in a hundred sends.
    pub schedule_p99_ns: Option<u64>,
    /// The most by which the wall clock may be off: the least error of a time between two hosts, each with such a clock, is the
    /// sum of theirs. Absent when nothing says so.
    pub wall_clock_error_ns: Option<u64>,
}

/// Cost and step of one clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRead {
    /// Name as in `clock_gettime(2)`.
    pub clock: String,
    /// Cost of a reading as programs do it.
    pub read_ns: Option<Figure>,
    /// Cost of a reading by a system call.
    pub system_call_ns: Option<Figure>,
    /// Read without a system call (vDSO): a reading costs less than half of one by system call.
    pub vdso: Option<bool>,
    /// Step that the kernel states.
    pub stated_step_ns: Option<u64>,
    /// Smallest difference between two readings in a row that differ; absent when it stood still while looked at.
    pub step_ns: Option<u64>,
    /// Readings that were smaller than the one before, on one processor.
    pub backward: u64,
}

/// The wall clock: it may be set back, and that is no fault of the host's.
const WALL_CLOCK: &str = "CLOCK_REALTIME";

impl ClockRead {
    /// True if it went back although it must not.
    pub fn went_back(&self) -> bool {
        self.backward > 0 && self.clock != WALL_CLOCK
    }
}

impl ClockProbe {
    /// True if a clock went back that must not, on one processor or between two: every latency is doubtful then.
    pub fn went_back(&self) -> bool {
        self.clocks.iter().any(ClockRead::went_back)
            || self.across_cpus.as_ref().is_some_and(|across| across.backward > 0)
    }
}

/// Readings handed from one processor to another and back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcrossCpus {
    /// Clock that was read.
    pub clock: String,
    /// Pairs of processors.
    pub pairs: u32,
    /// Readings handed over.
    pub handed_over: u64,
    /// Readings that were smaller than one made before on another processor.
    pub backward: u64,
    /// The largest of these.
    pub backward_most_ns: u64,
    /// The processors' clocks agree within this: the larger of the quickest hand-overs there and back, of the worst pair.
    pub agree_within_ns: u64,
}

/// The kernel's account (adjtimex(2)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelSync {
    /// True when a time service told the kernel that the clock is right.
    pub synchronised: bool,
    /// Correction that is still to be made, signed.
    pub offset_ns: i64,
    /// Largest error, as the time service told and the kernel lets it grow since; it means nothing when not synchronised.
    pub max_error_ns: u64,
    /// Estimated error, as the time service told.
    pub estimated_error_ns: u64,
    /// Correction of the clock's rate, parts per million.
    pub frequency_ppm: f64,
}

/// Wake-ups at absolute times, one period after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerRow {
    /// Time between two wake-ups.
    pub period_ns: u64,
    /// Slack that the kernel was allowed (`PR_SET_TIMERSLACK`).
    pub slack_ns: Option<u64>,
    /// The lateness of its wake-ups, for every period of the schedule: a missed one is as late as the wake-up that came in its
    /// stead.
    pub late: Distribution,
    /// Of the samples of `late` those that could not be slept for, because the wake-up before came later than they were due.
    pub missed: u64,
}

/// Sends on a schedule, without the send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacingRow {
    /// Sends per second.
    pub rate_per_s: f64,
    /// The time before a send at which the sleep ends and spinning begins.
    pub spin_ns: u64,
    /// The lateness that the send would have had.
    pub late: Distribution,
}
