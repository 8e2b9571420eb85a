//! What a probe learned of one resource of a host: the documents that `plumb probe` prints.
//!
//! Each is complete in itself, so that two hosts can be compared from two files. Data only: the measuring is the work of
//! `plumb_probe`, what the host says of itself that of `observe`.

pub mod storage;
