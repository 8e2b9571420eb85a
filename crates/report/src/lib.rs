//! Run document in, something to read out: terminal text, one HTML file, JSON, CSV.
//!
//! Every function here is pure: the same document gives the same text, on any machine and at any time. Not here: files,
//! clocks, the environment, progress while a run goes (that is the program's), and judgement (a renderer shows a
//! verdict, it never makes one).
//!
//! [`text`] is what `plumb run` prints at its end, [`html`] the page that one sends to a colleague, [`json`] and [`csv`]
//! are for other programs, [`install`] makes files of a winner's settings, [`plan_text`] is a dry run, [`sheet`] lays out what has no charts (a sizing, a comparison), [`probe`] makes sheets of what was probed, [`fleet`] what a trial on a fleet showed. All figures are written by [`plumb_model::figure`]. What a renderer says of a
//! document in words is worked out once, in `figures` (the table), `fastest` (the setup that beats each other one), `headline` (which
//! latency it shows), `rates` and `searches` (steps without a rate of their own, and searches for one), `ledger` (counts that do not add up), `absence`
//! (why a figure is missing), `pairing` (published rows beside ours) and `wording` (the run, its end, its plan).

mod absence;
mod backlogs;
mod brokers;
pub mod compare_text;
pub mod csv;
mod fastest;
mod figures;
mod findings;
pub mod fleet;
mod headline;
pub mod host;
pub mod html;
pub mod install;
pub mod json;
pub mod junit;
mod ledger;
pub mod omb;
pub mod page_text;
mod paint;
mod pairing;
pub mod path;
pub mod plan_text;
pub mod power_text;
pub mod probe;
mod queues;
mod rates;
pub mod rejudged;
pub mod search;
mod searches;
pub mod sheet;
mod short_blocks;
pub mod text;
mod trials;
mod went_on;
mod wording;
mod workers;

/// A document that could not be rendered. Both are bugs of Plumb: no document should cause them.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A page template failed.
    #[error("the report page could not be written")]
    Page(#[from] askama::Error),
    /// The document could not be serialised.
    #[error("the run document could not be written as JSON")]
    Json(#[from] serde_json::Error),
}
