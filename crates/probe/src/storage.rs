//! The speed at which a directory's storage commits and streams.
//!
//! [`Directory`] is where it happens: every file of ours is made there without a name where that makes no difference to its
//! file system, so that the kernel removes it however this process ends, and elsewhere with one that goes with the file. [`Committers`] commit in one way for as long as they are told, with one
//! file each; [`Streams`] moves bytes one way. A block ends with figures and keeps its files, so that blocks of many
//! cases can take turns without the cost of making and removing files between them.
//!
//! A committer has a file of its own because a Kafka broker has: each partition's log is a file that is synced by
//! itself. A database with one log file commits in groups before it syncs, which is one committer here; what the file
//! system makes of syncs that come together is the curve over committers.
//!
//! Not here: in which order blocks run, what their figures mean, and what is behind the directory.

mod buffer;
mod commit;
mod committers;
mod directory;
mod error;
mod fault;
mod file;
mod flush;
mod left_over;
mod mapped;
mod pace;
mod recorder;
mod ring;
mod stream;
mod writer;

pub use committers::{Committers, Prepared};
pub use directory::{Directory, check_open_files};
pub use error::StorageError;
pub use recorder::CommitSample;
pub use stream::{StreamSample, Streams};
