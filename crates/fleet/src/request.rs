//! The request: the source of the samples, the servers of each group, and the division of time.
//!
//! The words of the command line end here; nothing below knows a flag. Read `files.rs` or `prometheus.rs` next.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_model::fleet::SampleKind;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Everything that decides what a table says.
#[derive(Debug, Clone)]
pub struct FleetRequest {
    /// The source of the samples.
    pub source: FleetSource,
    /// The servers of each group.
    pub groups: FleetGroups,
    /// The division of time.
    pub window: FleetWindow,
    /// The kind of the metric's samples.
    pub metric_kind: Sampling,
    /// The kind of the load's samples.
    pub load_kind: Sampling,
    /// Time between two samples of a server, in seconds; none: the usual one of each server, from its own samples.
    pub step_s: Option<f64>,
}

/// The kind of samples, and the source of that knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The user.
    Stated(SampleKind),
    /// Nobody: samples of such a source usually are. It is held against the samples.
    Usual(SampleKind),
}

impl Sampling {
    /// The kind, from whichever source.
    #[must_use]
    pub fn kind(self) -> SampleKind {
        match self {
            Sampling::Stated(kind) | Sampling::Usual(kind) => kind,
        }
    }
}

/// The source of the samples.
#[derive(Debug, Clone)]
pub enum FleetSource {
    /// CSV or Parquet files, told apart by their first bytes.
    Files(FleetFiles),
    /// A Prometheus-compatible server. The window needs both of its ends.
    Prometheus(PrometheusSource),
}

/// A Prometheus-compatible server, and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusSource {
    /// Its address, up to before `/api/v1`.
    pub url: String,
    /// A selector, of which raw samples are read; or, unless it counts, any expression with one series a server.
    pub metric: String,
    /// Likewise for the load.
    pub load: Option<String>,
    /// The label that is the server's name; Prometheus' own is `instance`.
    pub server_label: String,
    /// The label that is the group's name.
    pub group_label: Option<String>,
    /// The label that is the site.
    pub site_label: Option<String>,
    /// The label that is the hardware.
    pub hardware_label: Option<String>,
    /// The client's settings: a YAML file in the form of Prometheus' HTTP client settings.
    pub config: Option<PathBuf>,
    /// Certificates of the authorities to believe, PEM; none: those of the configuration, the environment or the system.
    pub authorities: Option<PathBuf>,
    /// The longest that one answer may take.
    pub timeout_s: u64,
    /// True to use an answer that the server itself warns about; the warnings are counted then.
    pub accept_warnings: bool,
}

/// Files of samples, a row each.
#[derive(Debug, Clone)]
pub struct FleetFiles {
    /// The files. Read in this order; ones that follow each other in time are read faster.
    pub paths: Vec<PathBuf>,
    /// Names of their columns.
    pub columns: FleetColumns,
}

/// Names of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetColumns {
    /// The server's name.
    pub server: String,
    /// The name of a part of it, such as an interface: counts of a server's parts are added up.
    pub part: Option<String>,
    /// The time of the sample.
    pub time: String,
    /// The metric.
    pub metric: String,
    /// The load that goes with it.
    pub load: Option<String>,
    /// The group's name.
    pub group: Option<String>,
    /// Site, rack or the like.
    pub site: Option<String>,
    /// Hardware.
    pub hardware: Option<String>,
}

/// The servers of each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetGroups {
    /// A CSV file with the columns `server`, `group` and, if there are any, `site` and `hardware`.
    File {
        /// The file.
        path: PathBuf,
        /// The names of the groups in it.
        names: GroupNames,
    },
    /// The source says it: [`FleetColumns::group`], or a label.
    Source {
        /// The names of the groups there.
        names: GroupNames,
    },
    /// Nobody is in a group: for planning a trial from the past.
    None,
}

/// The names of the two groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupNames {
    /// The one that keeps what it has.
    pub control: String,
    /// The one that gets the change.
    pub test: String,
}

impl Default for GroupNames {
    fn default() -> Self {
        GroupNames { control: "control".to_owned(), test: "test".to_owned() }
    }
}

/// The division of time.
#[derive(Debug, Clone)]
pub struct FleetWindow {
    /// The time of the change; none: there was none yet. The interval that it falls into is left out.
    pub changed_at: Option<Timestamp>,
    /// Length of an interval.
    pub interval: FleetInterval,
    /// The zone in which days begin, and of times that name none.
    pub zone: TimeZone,
    /// Samples before it are left out.
    pub from: Option<Timestamp>,
    /// Samples at it or after are left out.
    pub until: Option<Timestamp>,
}

/// Length of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetInterval {
    /// Days of the calendar, from midnight to midnight in the zone: 23, 24 or 25 hours.
    Days,
    /// So many seconds, counted from the change (from 1970 where there is none), so that none is cut by it.
    Seconds(u32),
}

/// The progress of the reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetProgress {
    /// Share of the work done, 0..1.
    pub share: f64,
    /// Samples read.
    pub samples: u64,
}

/// Told how far it is; answers whether to go on.
pub type Watch<'a> = dyn FnMut(FleetProgress) -> ControlFlow<()> + 'a;
