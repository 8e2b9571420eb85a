//! The functions that the fuzz targets run, and the valid messages that they begin from.

pub mod seeds;
pub mod targets;
