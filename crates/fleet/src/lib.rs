//! Figures of a fleet's servers, out of files and metrics servers: one value a server and interval.
//!
//! | step | module |
//! |---|---|
//! | what is asked for | [`FleetRequest`]: source, groups, window, kinds of samples |
//! | bytes into samples | `csv`, `parquet`, `prometheus` |
//! | samples in the order of time, whatever the input's order | `order` |
//! | samples into values of intervals, resets and gaps handled | `track` |
//! | which server is in which group | `servers`, `groups` |
//! | what is left out or mended, counted | `exclusions` |
//!
//! What comes out is a [`FleetTable`]; whether its groups differ is said elsewhere (`plumb_judge`). Nothing is ever dropped without
//! a count: what cannot be used is an error, or an exclusion with how often and an example. Read `request.rs` next.

mod batch;
mod batch_sink;
mod csv;
mod error;
mod exclusions;
mod files;
mod groups;
mod instant;
mod intervals;
mod order;
mod parquet;
mod prometheus;
mod quotes;
mod request;
mod rows;
mod servers;
mod table;
mod text;
mod track;
mod value;

pub use error::FleetInputError;
pub use exclusions::TOO_FEW_SAMPLES;
pub use instant::instant;
pub use prometheus::{PrometheusError, TlsFault};
pub use request::{
    FleetColumns, FleetFiles, FleetGroups, FleetInterval, FleetProgress, FleetRequest, FleetSource,
    FleetWindow, GroupNames, PrometheusSource, Sampling, Watch,
};
pub use text::delimiter;

use plumb_model::fleet::FleetTable;

/// Reads everything that is asked for.
///
/// `watch` is told how far it is about ten times a second, and ends the reading by answering so.
///
/// # Errors
///
/// What cannot be read, or not be believed: see [`FleetInputError`]. What can be left out is in the table's exclusions.
pub fn read(request: &FleetRequest, watch: &mut Watch<'_>) -> Result<FleetTable, FleetInputError> {
    match &request.source {
        FleetSource::Files(files) => files::read(request, files, watch),
        FleetSource::Prometheus(source) => prometheus::read(request, source, watch),
    }
}
