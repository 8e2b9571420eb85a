//! The vocabulary of Plumb as data.
//!
//! A [`scenario::Scenario`] is what the user wrote; a [`plan::Plan`] is that, fully resolved, each value with its
//! origin; a [`document::RunDocument`] is everything that one run learned: [`observation`]s, [`finding`]s, validity and
//! the [`facts`] of host and cluster. Every renderer, rule and verdict works from the document alone.
//!
//! How a figure is written is [`figure`]'s alone.
//! Not here: input and output, clocks, threads, arithmetic on samples. Read [`document`] next.

pub mod best;
pub mod change;
pub mod check;
pub mod compare;
pub mod condition;
pub mod diagnosis;
pub mod document;
pub mod driver_check;
pub mod facts;
pub mod fault;
pub mod figure;
pub mod finding;
pub mod fleet;
pub mod metric;
pub mod observation;
pub mod observed;
pub mod outcome;
pub mod plan;
pub mod power;
pub mod probe;
pub mod property;
pub mod prose;
pub mod queue;
pub mod random;
mod rate;
pub mod resolve;
pub mod scenario;
pub mod scenario_settings;
pub mod search;
pub mod search_report;
pub mod secret;
pub mod setting_name;
pub mod settings_search;
pub mod start_setting;
pub mod sweep;
pub mod trial;
pub mod tunable;
pub mod units;
pub mod verdict;
pub mod winner;
