//! The engine: runs a plan, keeps its document true, and tells whoever watches what happens.
//!
//! [`run`] carries a plan out from its first to its last block; [`resume`] goes on with one that was stopped or killed. All
//! that is measured goes into the run's directory ([`run_dir`]). Everything that a person or another program may want to know
//! meanwhile is an [`Event`] for a [`Watcher`]: the session prints nothing, reads no arguments and renders no page, which
//! are the program's. Start at `run.rs`; the loop over blocks is `blocks.rs`, one block is `block.rs`. The experiments on one resource of the host are in [`probe`].

pub mod cache;
pub mod client_config;
mod cluster_settings;
pub mod diagnose;
pub mod observe;
pub mod probe;
pub mod reference;
pub mod run_dir;

mod arm_changes;
mod block;
mod blocks;
mod bmc;
mod ceiling;
mod checkpoint;
mod context;
mod cpu;
mod decider;
mod devices;
mod document;
mod driver_check;
mod error;
mod external;
mod fold;
mod lab_watch;
mod log_dirs;
mod measured;
mod memory;
mod metrics;
mod next_block;
mod order;
mod reachable;
mod read_back;
mod readings;
mod resumable;
mod resume;
mod run;
mod search;
mod settings_search;
mod shortage;
mod silence_watch;
mod slot;
mod space;
mod sums;
mod target;
mod targets;
mod unmeasured;
mod utc;
mod watcher;
mod workers;
mod written;

pub use arm_changes::HookError;
pub use bmc::{bmc_certificate, bmc_login};
pub use ceiling::forget as forget_ceilings;
pub use cluster_settings::{cluster_settings, ended_lab};
pub use driver_check::{DriverRoles, check_driver};
pub use error::SessionError;
pub use plumb_link::{CertificateDigest, CertificateFiles, LinkError, SecretError};
pub use resumable::ResumeError;
pub use resume::{resume, resume_with_workers};
pub use run::{Finished, check, run, run_with_workers};
pub use shortage::{TooLittleMemory, TooLittleSpace};
pub use watcher::{Event, Watcher, WayOn};
pub use workers::{
    LinkSecrets, WorkerOptions, WorkersOptions, certificate_digest, certificate_digest_of_file, check_sent,
    needed, work,
};
