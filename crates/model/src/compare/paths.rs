//! Two watched paths side by side: of two hosts, or of one before and after something was changed.
//!
//! Each is one window. One window has no spread between blocks, and so no interval; nothing here is better or worse.

use crate::diagnosis::DiagnosisVerdict;
use crate::finding::Confidence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of [`PathCompareResult`]'s shape.
pub const PATH_COMPARE_SCHEMA_VERSION: u32 = 1;

/// Two watched paths side by side. `plumb compare --output json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathCompareResult {
    /// Shape of this document.
    pub schema_version: u32,
    /// `paths`: tells it from a comparison of runs.
    pub kind: PathCompareKind,
    /// The first path.
    pub a: ComparedPath,
    /// The second.
    pub b: ComparedPath,
    /// From the begin of the first to that of the second, in seconds; absent where a begin is not a time.
    pub apart_s: Option<i64>,
    /// The differences around the two: host, kernel, versions.
    pub conditions: Vec<PathSetting>,
    /// Figures that at least one of them has: first those that differ, the most different of them first, then the others in the order of
    /// the path.
    pub figures: Vec<PathFigure>,
    /// Settings and JVM flags that differ.
    pub settings: Vec<PathSetting>,
    /// Findings that either has, those of one alone first.
    pub findings: Vec<PathFinding>,
    /// Parts that only one of them has, so that they are not compared.
    pub alone: Vec<String>,
    /// Limits of this comparison, a sentence each.
    pub cannot_show: Vec<String>,
}

/// The kind of this document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathCompareKind {
    /// Two watched paths.
    Paths,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPath {
    /// The name that the caller of the comparison gave it.
    pub label: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Length of the window.
    pub elapsed_ns: u64,
    /// False when it was stopped before its end.
    pub complete: bool,
    /// Version of Plumb that watched it.
    pub plumb_version: String,
    /// The verdict of its own diagnosis, by the rules of the version that compares.
    pub verdict: DiagnosisVerdict,
    /// Its paragraph.
    pub summary: String,
}

/// A part of the path that a figure is of, in the order of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathPart {
    /// The load: not a result, but what the others depend on.
    Load,
    /// Mean time by stage.
    Stages,
    /// The share of each limit that is in use.
    Limits,
    /// Brokers, by their own metrics.
    Brokers,
    /// Threads of the brokers, by state.
    Threads,
    /// The work that the brokers' processor time was spent on.
    Cpu,
    /// The kernel's trace points.
    Kernel,
    /// Counters of the host.
    Host,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// A share, 0 to 1.
    Share,
    /// Bytes a second.
    BytesPerS,
    /// Of anything else a second.
    PerS,
    /// Messages a second.
    MessagesPerS,
}

/// A figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathFigure {
    /// Its part of the path.
    pub part: PathPart,
    /// Its name within the part.
    pub name: String,
    /// The unit of both.
    pub unit: FigureUnit,
    /// Of the first; absent where it is not known.
    pub a_figure: Option<f64>,
    /// Of the second; absent where it is not known.
    pub b_figure: Option<f64>,
    /// Second over first; absent without both, and where the first is 0.
    pub ratio: Option<f64>,
    /// True if they are far enough apart to be told first. No more is meant by it: a window has no interval.
    pub differs: bool,
}

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathSetting {
    /// The thing that it is a setting of: `broker 1`, `JVM`, `topic orders`.
    pub of: String,
    /// Its name.
    pub key: String,
    /// In the first; absent where it has none, or none was told.
    pub a: Option<String>,
    /// In the second; absent where it has none, or none was told.
    pub b: Option<String>,
}

/// A finding of either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathFinding {
    /// Stable identifier; `plumb explain ID` has a page for it.
    pub id: String,
    /// Its confidence in the first; absent where it was not found.
    pub a: Option<Confidence>,
    /// Its confidence in the second; absent where it was not found.
    pub b: Option<Confidence>,
    /// One sentence, of the second where both have it.
    pub claim: String,
}
