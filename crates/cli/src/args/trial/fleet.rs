//! The words of `plumb trial fleet`.

use super::{VerdictWord, level};
use clap::{ArgGroup, Args, ValueEnum};
use plumb_model::fleet::SampleKind;
use plumb_model::scenario::MarginWords;
use plumb_model::units::{Nanos, UnitError};
use std::path::PathBuf;
use std::str::FromStr;

const FIGURES: &str = "The figures";
const COLUMNS: &str = "Columns of the files";
const SERVER: &str = "A Prometheus-compatible server";
const GROUPS: &str = "The groups";
const QUESTION: &str = "The question";
const ASSIGN: &str = "Groups for a new trial";

/// A quantity with what its samples are: `drops:counter`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// A column's name.
    pub(crate) name: String,
    /// What a sample is; none where nothing was said.
    pub(crate) kind: Option<SampleKind>,
}

impl FromStr for Sampled {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = [
            ("increments", SampleKind::Increments),
            ("counter", SampleKind::Counter),
            ("level", SampleKind::Level),
        ];
        let parts = text.rsplit_once(':').and_then(|(name, word)| {
            let (_, kind) = kinds.into_iter().find(|(known, _)| *known == word)?;
            Some((name, kind))
        });
        // A name may have colons of its own.
        let (name, kind) = parts.map_or((text, None), |(name, kind)| (name, Some(kind)));
        if name.trim().is_empty() {
            return Err("a name is missing; write it as drops, drops:counter or p99_ms:level".to_owned());
        }
        Ok(Sampled { name: name.trim().to_owned(), kind })
    }
}

/// Length of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalWord {
    /// Days of the calendar.
    Days,
    /// So many seconds.
    Seconds(u32),
}

impl FromStr for IntervalWord {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "1d" {
            return Ok(IntervalWord::Days);
        }
        let nanos: Nanos = text.parse().map_err(|_| {
            format!("{text:?} is no interval; write 1d for days of the calendar, or a time such as 5m or 6h")
        })?;
        let seconds = u32::try_from(nanos.0 / 1_000_000_000).unwrap_or(0);
        if seconds == 0 || !nanos.0.is_multiple_of(1_000_000_000) || seconds > 7 * 86_400 {
            return Err(format!("{text:?} is no interval; expected whole seconds, up to 168h"));
        }
        Ok(IntervalWord::Seconds(seconds))
    }
}

/// The direction that is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GoodWord {
    /// Less is better
    Lower,
    /// More is better
    Higher,
}

/// The property that makes servers alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StratumWord {
    /// Site
    Site,
    /// Hardware
    Hardware,
}

/// The format of a fleet's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetOutput {
    /// For people.
    Text,
    /// The whole result, for programs.
    Json,
}

/// A result that may end a fleet's trial with exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetFailWord {
    /// The test group got worse
    Worse,
    /// Neither a difference nor its absence is shown
    Undecided,
}

/// `plumb trial fleet`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).multiple(true).args(["data", "prometheus", "inventory"]))]
#[command(group = ArgGroup::new("who").args(["groups", "group_column", "group_label"]))]
pub(crate) struct FleetArgs {
    /// CSV or Parquet files with a row for each server and time
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = FIGURES)]
    pub(crate) data: Vec<PathBuf>,
    /// A Prometheus-compatible server: http://host:9090; needs --from and --until
    #[arg(long, value_name = "URL", conflicts_with = "data", help_heading = FIGURES)]
    pub(crate) prometheus: Option<String>,
    /// The metric's column, or its selector on a server, and what its samples are: NAME[:increments|counter|level] [default kind:
    /// increments; on a server counter]
    #[arg(long, value_name = "NAME[:KIND]", help_heading = FIGURES)]
    pub(crate) metric: Option<Sampled>,
    /// The load that goes with it, likewise; without it nothing is adjusted
    #[arg(long, value_name = "NAME[:KIND]", help_heading = FIGURES)]
    pub(crate) load: Option<Sampled>,
    /// Samples before it are left out
    #[arg(long, value_name = "TIME", help_heading = FIGURES)]
    pub(crate) from: Option<String>,
    /// Samples at it or after are left out
    #[arg(long, value_name = "TIME", help_heading = FIGURES)]
    pub(crate) until: Option<String>,
    /// Time between two samples of a server [default: as the samples are]
    #[arg(long, value_name = "TIME", value_parser = positive_time, help_heading = FIGURES)]
    pub(crate) step: Option<Nanos>,

    /// The server's name
    #[arg(long, value_name = "NAME", default_value = "server", help_heading = COLUMNS)]
    pub(crate) server_column: String,
    /// The part of the server that a row is of, such as an interface: counts of the parts are added up
    #[arg(long, value_name = "NAME", conflicts_with = "prometheus", help_heading = COLUMNS)]
    pub(crate) part_column: Option<String>,
    /// When a sample was taken
    #[arg(long, value_name = "NAME", default_value = "time", help_heading = COLUMNS)]
    pub(crate) time_column: String,
    /// The server's site
    #[arg(long, value_name = "NAME", help_heading = COLUMNS)]
    pub(crate) site_column: Option<String>,
    /// The server's hardware
    #[arg(long, value_name = "NAME", help_heading = COLUMNS)]
    pub(crate) hardware_column: Option<String>,

    /// The label that is the server's name
    #[arg(long, value_name = "NAME", default_value = "instance", help_heading = SERVER)]
    pub(crate) server_label: String,
    /// The label that is its site
    #[arg(long, value_name = "NAME", requires = "prometheus", help_heading = SERVER)]
    pub(crate) site_label: Option<String>,
    /// The label that is its hardware
    #[arg(long, value_name = "NAME", requires = "prometheus", help_heading = SERVER)]
    pub(crate) hardware_label: Option<String>,
    /// Who asks: a YAML file in the form of Prometheus' HTTP client settings
    #[arg(long, value_name = "FILE", requires = "prometheus", help_heading = SERVER)]
    pub(crate) prometheus_config: Option<PathBuf>,
    /// For https: certificates of the authorities to believe, PEM [default: those of --prometheus-config, SSL_CERT_FILE or the system]
    #[arg(long, value_name = "FILE", requires = "prometheus", help_heading = SERVER)]
    pub(crate) prometheus_ca: Option<PathBuf>,
    /// The longest that one answer may take
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = SERVER)]
    pub(crate) prometheus_timeout: Nanos,
    /// Use answers that the server itself warns about; the warnings are counted
    #[arg(long, requires = "prometheus", help_heading = SERVER)]
    pub(crate) accept_warnings: bool,

    /// CSV with the columns server, group and, if there are any, site and hardware
    #[arg(long, value_name = "FILE", help_heading = GROUPS)]
    pub(crate) groups: Option<PathBuf>,
    /// The column of the files that names the group
    #[arg(long, value_name = "NAME", help_heading = GROUPS)]
    pub(crate) group_column: Option<String>,
    /// The label that names the group
    #[arg(long, value_name = "NAME", requires = "prometheus", help_heading = GROUPS)]
    pub(crate) group_label: Option<String>,
    /// What the control group is called
    #[arg(long, value_name = "NAME", default_value = "control", help_heading = GROUPS)]
    pub(crate) control: String,
    /// What the test group is called
    #[arg(long, value_name = "NAME", default_value = "test", help_heading = GROUPS)]
    pub(crate) test: String,

    /// When the change came: 2026-03-01T10:00:00Z, 2026-03-01 10:00, 2026-03-01, or seconds since 1970
    #[arg(long, value_name = "TIME", required_unless_present = "assign", help_heading = QUESTION)]
    pub(crate) change: Option<String>,
    /// Which direction of the metric is good
    #[arg(long, value_enum, default_value = "lower", help_heading = QUESTION)]
    pub(crate) good: GoodWord,
    /// What becomes one value of a server: 1d is a day of the calendar
    #[arg(long, value_name = "TIME", default_value = "1d", help_heading = QUESTION)]
    pub(crate) interval: IntervalWord,
    /// Where days begin, and what times without a zone are taken for
    #[arg(long, value_name = "ZONE", default_value = "UTC", help_heading = QUESTION)]
    pub(crate) time_zone: String,
    /// Compare servers within these only
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = QUESTION)]
    pub(crate) strata: Vec<StratumWord>,
    /// Differences up to this count as none
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, default_value = "3%", help_heading = QUESTION)]
    pub(crate) margin: MarginWords,
    /// Confidence level of every interval
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, value_parser = level, help_heading = QUESTION)]
    pub(crate) level: f64,
    /// A surge of load that is known: FROM/UNTIL, or FROM/ to the end [default: looked for in the load]
    #[arg(long, value_name = "FROM/UNTIL", help_heading = QUESTION)]
    pub(crate) surge: Option<String>,
    /// Servers of the whole fleet, for the roll-out [default: those that have figures]
    #[arg(long, value_name = "N", help_heading = QUESTION)]
    pub(crate) fleet_size: Option<u32>,
    /// Verdicts with which the command ends with exit code 0 [default: better,equivalent]
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', help_heading = QUESTION)]
    pub(crate) accept: Vec<VerdictWord>,
    /// What alone ends the command with exit code 1: worse, undecided [default: whatever --accept does not name]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with = "accept", help_heading = QUESTION)]
    pub(crate) fail_on: Vec<FleetFailWord>,

    /// Draw so many servers for each group, balanced by site and hardware (and by the metric before, with --data)
    #[arg(long, value_name = "N", requires = "inventory", conflicts_with_all = ["change", "who", "good", "strata", "margin", "level", "surge", "fleet_size", "accept", "fail_on"], help_heading = ASSIGN)]
    pub(crate) assign: Option<usize>,
    /// CSV with the columns server and, if there are any, site and hardware
    #[arg(long, value_name = "FILE", requires = "assign", help_heading = ASSIGN)]
    pub(crate) inventory: Option<PathBuf>,

    /// Seed of the permutations [default: 1], or of the groups [default: the time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: FleetOutput,
    /// Directory for the page and the result; with --assign, for the groups file
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A time that is not nothing.
fn positive_time(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: UnitError| error.to_string())?;
    if time.0 > 0 { Ok(time) } else { Err("expected a time above 0, such as 15s".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_own_colons_and_loses_only_a_kind() {
        let of = |text: &str| text.parse::<Sampled>().unwrap();
        assert_eq!(of("drops"), Sampled { name: "drops".to_owned(), kind: None });
        assert_eq!(of("drops:counter").kind, Some(SampleKind::Counter));
        assert_eq!(of("job:drops:rate5m").name, "job:drops:rate5m");
        assert_eq!(
            of("job:p99:level"),
            Sampled { name: "job:p99".to_owned(), kind: Some(SampleKind::Level) }
        );
        assert!(":level".parse::<Sampled>().is_err());
    }

    #[test]
    fn an_interval_is_a_day_of_the_calendar_or_whole_seconds() {
        let of = |text: &str| text.parse::<IntervalWord>();
        assert_eq!(of("1d"), Ok(IntervalWord::Days));
        assert_eq!(of("6h"), Ok(IntervalWord::Seconds(21_600)));
        for text in ["0s", "100ms", "2d", "1000h", "day"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
