//! Carries messages between a run (the coordinator) and its workers on other hosts, and knows how far their clocks are apart.
//!
//! Workers dial in: the coordinator listens ([`Gathering`]), a worker calls ([`join`]), and each has a [`Peer`] of the other. Messages are frames
//! of a kind and bytes (`frame.rs`) over TLS 1.3 with a certificate that is known by its digest; who is let in
//! knows the run's [`Token`]. A second connection of each worker exchanges clock readings and nothing else ([`PeerClock`]).
//!
//! Not here: what the messages say. Threads and blocking calls, no runtime: a run has tens of workers, and a thread that
//! sleeps costs nothing. Start with `gathering.rs`, then `carrier.rs`. Why it is like this: `docs/decisions/0020-workers.md`.

mod carrier;
mod certificate;
mod channel;
mod clock;
mod digest;
mod error;
mod frame;
mod gathering;
mod goodbye;
mod greeting;
mod join;
mod peer;
mod program;
mod reading;
mod secret_error;
mod secret_file;
mod token;

pub use certificate::{Certificate, CertificateFiles, digest_of_file};
pub use clock::{Identity, PeerClock};
pub use digest::CertificateDigest;
pub use error::LinkError;
pub use frame::{FIRST_KIND, FRAME_BYTES_MAX, Frame, FrameError, Unreadable};
pub use gathering::{Arrival, Gathering, ListenOptions, Seen, Workers};
pub use goodbye::Goodbye;
pub use greeting::{Hello, Introduction, PROTOCOL, Refusal};
pub use join::{JoinOptions, join};
pub use peer::Peer;
pub use plumb_stats::clock_offset::{ClockStep, OffsetBand, RateRange, TimedBand};
pub use program::program_digest;
pub use secret_error::SecretError;
pub use secret_file::read as read_secret;
pub use token::Token;
