//! How far the clocks of two hosts differ: the document of `plumb probe clock HOST`.

use super::Conditions;
use crate::observation::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole document. Everything is the peer's over this host's: above zero the peer's clock is ahead, or faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffsetProbe {
    /// The time, version and host.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The plan.
    pub plan: ClockOffsetPlan,
    /// Address of the listening side.
    pub peer: String,
    /// Whether the two clocks are one.
    pub relation: ClockRelation,
    /// The answer: by how much the peer's wall clock (`CLOCK_REALTIME`) was ahead when the probe ended. Without width where both
    /// hosts have one clock; absent where too little was exchanged.
    pub difference: Option<ClockDifference>,
    /// A latency from one host to the other that is corrected by the estimate is still off by up to this: half of the band.
    pub latency_error_ns: Option<u64>,
    /// What the exchanges alone say, also where both hosts have one clock.
    pub measured: Option<ClockDifference>,
    /// By how much the peer's clocks run faster, over the last window; absent where too little was exchanged since the last step.
    pub rates: Option<ClockRates>,
    /// Exchanges that were made.
    pub exchanges: u64,
    /// The least time on the way, there and back, without what the peer took in between: no band can be much narrower.
    pub least_round_trip_ns: Option<u64>,
    /// The same of all exchanges.
    pub round_trip: Distribution,
    /// `measured` at moments of the probe. Around a step there are none.
    pub course: Vec<ClockDifference>,
    /// Clocks that stepped meanwhile.
    pub steps: Vec<SteppedClock>,
    /// How far off this host's wall clock is at most, as this host says; absent when nothing says so.
    pub claim_here: Option<ClockClaim>,
    /// The same of the peer, as the peer says.
    pub claim_there: Option<ClockClaim>,
    /// Whether the difference can be what both claims allow. Absent where one of them, or the difference, is.
    pub claims_hold: Option<bool>,
}

impl ClockOffsetProbe {
    /// True if the document shows a fault of a clock: one stepped, is not what its host says, or is worse than its time service says.
    pub fn finds(&self) -> bool {
        !self.steps.is_empty()
            || self.relation == ClockRelation::Contradicted
            || self.claims_hold == Some(false)
    }
}

/// The plan of the exchanges, and what is taken for granted about oscillators.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffsetPlan {
    /// Time over which readings are exchanged.
    pub duration_ns: u64,
    /// Exchanges at once at the beginning and at the end; fewer where they took more than a quarter of the time.
    pub exchanges_at_an_end: u32,
    /// Exchanges a second between them.
    pub exchanges_per_s: f64,
    /// Largest difference of two oscillators' rates.
    pub rate_max_ppm: f64,
    /// Largest distance of that difference from one rate within a window.
    pub wander_max_ppm: f64,
    /// Longest time over which the offset is taken for a line.
    pub window_ns: u64,
}

/// How the clocks of the two hosts belong together, by the boot that each says and by the offsets of their time namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockRelation {
    /// One boot and one offset, and the exchanges do not contradict: one clock.
    OneClock,
    /// One boot, but time namespaces with other offsets.
    OneMachine,
    /// One boot, and clocks that differ all the same: a copy of a running virtual machine, or a clock that is made up.
    Contradicted,
    /// Two boots.
    TwoMachines,
    /// One of the two does not say.
    Unknown,
}

/// By how much the peer's clock is ahead, at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockDifference {
    /// Time since the first exchange.
    pub at_ns: u64,
    /// The estimate, in the middle of the band.
    pub ahead_ns: i64,
    /// It is ahead by no less.
    pub low_ns: i64,
    /// It is ahead by no more.
    pub high_ns: i64,
}

impl ClockDifference {
    /// The estimate is off by no more.
    pub fn half_ns(&self) -> u64 {
        self.low_ns.abs_diff(self.high_ns).div_ceil(2)
    }
}

/// By how much the peer's clocks run faster than this host's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRates {
    /// The oscillators (`CLOCK_MONOTONIC_RAW`), which nobody steers.
    pub oscillators: RateBand,
    /// The wall clocks, as the time services of both steer them.
    pub wall_clocks: RateBand,
}

/// A difference of rates with its band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateBand {
    /// The estimate, in the middle of the band.
    pub estimate_ppm: f64,
    /// No less.
    pub low_ppm: f64,
    /// No more.
    pub high_ppm: f64,
}

/// A clock that stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteppedClock {
    /// The clock.
    pub clock: SteppedWhich,
    /// Time since the first exchange of an exchange before it.
    pub after_ns: u64,
    /// The same of an exchange after it.
    pub before_ns: u64,
    /// It went ahead by no less; absent where too little is known of the time before.
    pub low_ns: Option<i64>,
    /// It went ahead by no more.
    pub high_ns: Option<i64>,
}

/// The clock that stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteppedWhich {
    /// The peer's oscillator against this host's. They cannot be set: a machine was moved, suspended or held.
    Oscillators,
    /// This host's wall clock was set.
    WallHere,
    /// The peer's wall clock was set.
    WallThere,
}

/// What a host says of its clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockAccount {
    /// The kernel's number of the boot.
    pub boot_id: Option<[u8; 16]>,
    /// What the time namespace adds to the clocks that begin with the boot.
    pub namespace_offset_ns: Option<i64>,
    /// How far off the wall clock is at most.
    pub claim: Option<ClockClaim>,
}

/// How far off a host says that its wall clock is at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockClaim {
    /// The largest error.
    pub error_ns: u64,
    /// Who says so.
    pub source: ClaimSource,
}

/// Who claims an error of a wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimSource {
    /// The time service: the offset that is left, root dispersion and half of the root delay (RFC 5905).
    TimeService,
    /// The kernel (`adjtimex`), from what a time service told it.
    Kernel,
}
