//! The instrument, proven.
