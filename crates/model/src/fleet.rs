//! A trial on a fleet: a metric and a load per server and interval, two groups, before and after a change.
//!
//! [`FleetTable`] is what every source of figures (CSV, Parquet, a Prometheus-compatible server) becomes; [`FleetResult`] is
//! what the comparison of the groups says. The server is the unit of analysis, never the sample.

use crate::finding::{Check, Finding, earlier};
use crate::outcome::Outcome;
use crate::trial::Good;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`FleetResult`]'s shape.
pub const FLEET_SCHEMA_VERSION: u32 = 1;

/// The way in which raw samples of a column or series become one value an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// Events in a step that begins at the sample's time, such as drops in five minutes: summed.
    Increments,
    /// A count since the start of its process, such as /proc/net counters: its rises are summed, a fall is a reset.
    Counter,
    /// A state or a percentile, such as a health check's p99: the mean of an interval's samples.
    Level,
}

/// The unit of comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetUnit {
    /// Servers: the usual.
    #[default]
    Server,
    /// Sites, each with servers of one group only.
    Site,
    /// Kinds of hardware, each with servers of one group only.
    Hardware,
}

/// The group of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetGroup {
    /// It keeps what it has.
    Control,
    /// It gets the change.
    Test,
}

impl FleetGroup {
    /// `control`, `test`.
    pub fn name(self) -> &'static str {
        match self {
            FleetGroup::Control => "control",
            FleetGroup::Test => "test",
        }
    }
}

/// Values of every server in every interval. Absent is `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetTable {
    /// Start of each interval, seconds since 1970 (UTC), ascending. Only whole intervals: those that the samples cover in part,
    /// and the one that the change cuts, are not in it, so that there may be a hole; days have 23 to 25 hours.
    pub intervals_start_s: Vec<i64>,
    /// The servers, by name, ascending.
    pub servers: Vec<FleetServer>,
    /// The data that were left out or mended on the way here, each kind counted.
    pub exclusions: Vec<Exclusion>,
}

/// One server's row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetServer {
    /// Its name.
    pub name: String,
    /// Its group; none: in neither.
    pub group: Option<FleetGroup>,
    /// Site, rack or the like; empty when unknown.
    pub site: String,
    /// Hardware; empty when unknown.
    pub hardware: String,
    /// The metric in each interval: the count in all of it, or the mean level. Absent where less than half of the samples are there;
    /// a count that rests on less than all of them is scaled to the whole interval.
    pub metric: Vec<Option<f64>>,
    /// The load in each interval, likewise; empty when no load was given.
    pub load: Vec<Option<f64>>,
    /// The basis of the metric's values.
    pub metric_basis: FleetBasis,
    /// The basis of the load's.
    pub load_basis: FleetBasis,
}

/// The basis of the values of one quantity of a server. Where nothing is known of it, it is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetBasis {
    /// Share of each interval that its value rests on, 0..1: of its samples, with those of parts that are not there; of a counter, of
    /// the time between the samples whose rises are known.
    pub covered: Vec<f32>,
    /// Of counters: how often they restarted in each interval. Empty for everything else.
    pub restarts: Vec<u32>,
    /// Samples that an interval has when none is missing, those of all parts together.
    pub samples: f64,
    /// The highest sample over the mean one of its interval: the median of the intervals that samples cover whole, else of all.
    pub peak: Option<f64>,
}

/// Something that was left out or mended, with how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exclusion {
    /// The kind, such as `samples that are no number` or `counter resets`.
    pub what: String,
    /// The number of cases.
    pub count: u64,
    /// An example, such as a server's name with a time; empty when there is none.
    pub example: String,
    /// The treatment.
    pub done: String,
}

/// The result of a trial on a fleet. `plumb trial fleet --output json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetResult {
    /// Shape of this document.
    pub schema_version: u32,
    /// Version of Plumb.
    pub plumb_version: String,
    /// The metric's name.
    pub metric: String,
    /// The way in which its samples became values.
    pub metric_kind: SampleKind,
    /// The load's name; absent when there was none.
    pub load: Option<String>,
    /// The good direction.
    pub good: Good,
    /// The time of the change, UTC, RFC 3339.
    pub changed_at: String,
    /// Whole intervals before and after it.
    pub intervals_before: u32,
    /// After it.
    pub intervals_after: u32,
    /// Length of an interval.
    pub interval_s: u64,
    /// Seed of the permutations.
    pub seed: u64,
    /// Servers in each group that are compared.
    pub servers: BTreeMap<FleetGroup, u32>,
    /// Strata within which they are compared; 1 where there are none.
    pub strata: u32,
    /// The unit that was drawn into the groups and is compared: the site or hardware where none of them has both groups.
    #[serde(default)]
    pub unit: FleetUnit,
    /// The number of these in each group: as many as servers, or the sites or kinds of hardware.
    #[serde(default)]
    pub units: BTreeMap<FleetGroup, u32>,
    /// Test over control, after over before, at equal load: 0.05 means 95 % less; absent when it cannot be told.
    pub effect_ratio: Option<f64>,
    /// True if the ratio is of the share of intervals with any event, and not at equal load, as most servers of a group have
    /// none.
    #[serde(default)]
    pub of_shares: bool,
    /// Lower end of its interval; absent where a single server of a group tells nothing of its own spread. Where the ratio is absent, as a
    /// group has no event left or had none, one of the ends is a bound for it: of a lower bound alone the upper end is absent.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Confidence level.
    pub level: f64,
    /// The same by single intervals, where the groups' loads changed unlike; absent where it is not needed, or cannot be told. Where it
    /// agrees, `interval_low` and `interval_high` hold both.
    #[serde(default)]
    pub by_intervals: Option<SecondEstimate>,
    /// By permutation of the units (Freedman and Lane), within strata.
    pub p: Option<f64>,
    /// Differences up to this count as none: 0.03 is a ratio between 1/1.03 and 1.03.
    pub margin: f64,
    /// The verdict, under the name that every result has for its one word.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why it is undecided; absent for every other verdict.
    pub reason: Option<String>,
    /// The smallest ratio above 1 that so many units of this spread show with a chance of 80 %.
    pub smallest_detectable_ratio: Option<f64>,
    /// Units ([`FleetResult::unit`]) in each group that would show ratios with that chance, by this spread.
    pub needed: Vec<ServersNeeded>,
    /// The growth of the metric with the load: its logarithm over the load's; 1 where it is a plain rate. Absent where its
    /// interval spans all that is usual (0.5 to 2.5): then the loads changed too little, or too much alike, to tell.
    pub load_elasticity: Option<f64>,
    /// Lower end of its interval.
    pub load_elasticity_low: Option<f64>,
    /// Upper end.
    pub load_elasticity_high: Option<f64>,
    /// In the order in which they are read: `strata` (where servers are compared within them), `servers`, `balance`, `exposure`,
    /// `stamps` (where there is a load), `missing`, `coverage`, `one-day`, `pre-trend`, `placebo`, `drift`, `overlap`,
    /// `interference`, `leave-one-out`, `restarts` (of counters), `totals` (of counts), `surge`.
    pub checks: Vec<Check>,
    /// The answers of the usual ways of looking at the same data, each with the reason not to use it.
    pub naive: Vec<NaiveFigure>,
    /// The effect of a surge of load on each group; absent when there was none.
    pub surge: Option<Surge>,
    /// Per interval and group, for the chart.
    pub days: Vec<FleetDay>,
    /// The stages of the rollout from here.
    pub rollout: Vec<RolloutStage>,
    /// The data that were left out or mended, each kind counted.
    pub exclusions: Vec<Exclusion>,
    /// For a person: at most three sentences.
    pub summary: Vec<String>,
    /// What a reader must know before relying on it: the checks that do not hold, and what else there is. Older documents have
    /// sentences of the second kind alone, as `caveats`.
    #[serde(alias = "caveats", deserialize_with = "earlier::findings")]
    pub findings: Vec<Finding>,
}

/// An estimate from every interval of every server (two-way effects, errors clustered by unit) beside that of levels before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondEstimate {
    /// Test over control, after over before, at equal load.
    pub ratio: f64,
    /// Lower end of its interval, at the result's level.
    pub interval_low: f64,
    /// Upper end.
    pub interval_high: f64,
    /// The growth of the metric with the load: its logarithm over the load's.
    pub load_elasticity: f64,
    /// True if its interval and that of levels have anything in common. Where not, the verdict is undecided.
    pub agrees: bool,
}

/// The result of a trial of another size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServersNeeded {
    /// The ratio, above 1 (1 over it is as hard to see).
    pub ratio: f64,
    /// Units in each group; absent where a million would not do.
    pub servers: Option<u64>,
}

/// A figure that is wrong in a known way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NaiveFigure {
    /// Such as `test group, after over before`.
    pub name: String,
    /// The ratio by that way.
    pub estimate_ratio: Option<f64>,
    /// Lower end of the interval that goes with it.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// The p that goes with it.
    pub p: Option<f64>,
    /// The reason not to use it.
    pub why_not: String,
}

/// The effect of a surge of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surge {
    /// First interval of it, UTC, RFC 3339.
    pub from: String,
    /// First interval after it; absent when it went on to the end.
    pub until: Option<String>,
    /// True if the change lies between the surge and the time that it is compared with, as no time on its own side is without it:
    /// the change is in these ratios then.
    #[serde(default)]
    pub has_change_in_it: bool,
    /// Load during it over load beside it, by group.
    pub load_ratio: BTreeMap<FleetGroup, f64>,
    /// Metric during it over metric beside it, by group.
    pub metric_ratio: BTreeMap<FleetGroup, f64>,
    /// The test group's ratio over the control group's.
    pub ratio_of_ratios: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// By permutation of servers.
    pub p: Option<f64>,
}

/// One interval of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDay {
    /// UTC, RFC 3339.
    pub start: String,
    /// The group.
    pub group: FleetGroup,
    /// Servers with a value.
    pub servers: u32,
    /// Mean over them.
    pub metric_mean: Option<f64>,
    /// Median over them.
    pub metric_median: Option<f64>,
    /// Mean load.
    pub load_mean: Option<f64>,
}

/// One stage of a roll-out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutStage {
    /// Share of the fleet that has the change when it is done, 0..1.
    pub share: f64,
    /// Servers that get it in this stage.
    pub servers: u32,
    /// Intervals to watch before the next.
    pub watch_intervals: u32,
    /// Stop and go back when one of these holds.
    pub stop_when: Vec<String>,
}
