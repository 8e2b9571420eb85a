//! Learns a function.
