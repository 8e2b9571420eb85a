//! The first frames of a connection: who a worker is and what for the connection is; that it is taken, or why not.
//!
//! Nothing of a stranger is believed: its first frame has a bound, and it is held against the token before anything else is looked at
//! but the protocol's number, without which nothing else can be read.

use crate::token::{Token, hex};
use plumb_model::probe::{ClockAccount, ClockClaim};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The number of the protocol. Both sides have to have the same.
pub const PROTOCOL: u32 = 1;
/// Most bytes of a first frame.
pub(crate) const GREETING_BYTES_MAX: usize = 64 << 10;
/// Most characters of a name: a DNS name has as many bytes.
const NAME_CHARACTERS_MAX: usize = 253;

/// What one side says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The digest of its program.
    pub build: String,
    /// The name of its host.
    pub host: String,
    /// A digest of the kernel's number of the boot: two of the same were on one boot. The number itself stays where it is.
    pub boot: Option<String>,
    /// What the time namespace adds to the clocks that begin with the boot.
    pub namespace_offset_ns: Option<i64>,
    /// How far off its wall clock is at most, as it says.
    pub claim: Option<ClockClaim>,
    /// Processors that it may use.
    pub cpus: u32,
    /// What else the users of the link want to know.
    pub facts: Value,
}

/// What a side knows of itself before it greets.
#[derive(Debug, Clone)]
pub struct Introduction {
    /// The digest of its program: both sides have to have the same.
    pub build: String,
    /// The name of its host.
    pub host: String,
    /// Whose clock it reads, and what that host claims of it.
    pub clock: ClockAccount,
    /// Processors that it may use.
    pub cpus: u32,
    /// What else the other side should know.
    pub facts: Value,
}

impl Introduction {
    pub(crate) fn hello(&self) -> Hello {
        // Under a prefix of our own, so that the digest is of no use elsewhere.
        let hashed = |id: [u8; 16]| hex(digest(&SHA256, &[b"plumb boot ", &id[..]].concat()).as_ref());
        Hello {
            build: self.build.clone(),
            host: self.host.clone(),
            boot: self.clock.boot_id.map(hashed),
            namespace_offset_ns: self.clock.namespace_offset_ns,
            claim: self.clock.claim,
            cpus: self.cpus,
            facts: self.facts.clone(),
        }
    }
}

/// The first frame.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FirstFrame {
    pub(crate) protocol: u32,
    /// In hexadecimal digits.
    pub(crate) token: String,
    pub(crate) name: String,
    pub(crate) purpose: Purpose,
}

/// The purpose of a connection.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    /// Frames of the users.
    Frames(Hello),
    /// Exchanges of clock readings, for the link that was given this ticket.
    Clock { epoch: u32, ticket: String },
}

/// As much of a first frame as every version has.
#[derive(Deserialize)]
pub(crate) struct AnyVersion {
    pub(crate) protocol: u32,
}

impl FirstFrame {
    pub(crate) fn token(&self) -> Option<Token> {
        Token::from_hex(&self.token)
    }
}

/// The answer to a worker that is taken.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Welcome {
    pub(crate) index: usize,
    pub(crate) workers: usize,
    pub(crate) epoch: u32,
    /// Of this link alone: who opens the connection of clock exchanges shows it.
    pub(crate) ticket: String,
    pub(crate) hello: Hello,
}

/// The reason why a worker is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The two speak different protocols.
    Protocol {
        /// Here.
        coordinator: u32,
        /// There.
        worker: u32,
    },
    /// The two are different programs.
    Build {
        /// Here.
        coordinator: String,
        /// There.
        worker: String,
    },
    /// It does not know the token.
    Token,
    /// Its name cannot be one.
    Name,
    /// The worker of this name is there and lives.
    NameTaken {
        /// The name.
        name: String,
    },
    /// Nobody of this name is expected.
    NotExpected {
        /// The name.
        name: String,
    },
    /// All that are wanted are there.
    Full {
        /// How many that is.
        workers: usize,
    },
    /// The connection of clock exchanges is of a link that is no more.
    OldLink {
        /// The number of the link that it named.
        epoch: u32,
    },
    /// Its first frame is none of ours.
    Unreadable,
}

impl Refusal {
    /// True if it may be taken a little later: its own former link is not yet given up.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Refusal::NameTaken { .. } | Refusal::OldLink { .. })
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Refusal::Protocol { .. } | Refusal::Build { .. } => {
                "use the same build of plumb on every host: copy the coordinator's program, or run one image"
            }
            Refusal::Token => "copy the token file of this run: each run makes a token of its own",
            Refusal::Name => "a name has 1 to 253 letters, digits and signs, and no spaces",
            Refusal::NameTaken { .. } => {
                "give every worker a name of its own (--name), or end the one that has it"
            }
            Refusal::NotExpected { .. } => "the coordinator lists the names that it expects",
            Refusal::Full { .. } => "the run began with as many workers as it wants (--workers N)",
            Refusal::OldLink { .. } => "join again",
            Refusal::Unreadable => "is it a worker of this version of plumb?",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Protocol { coordinator, worker } => {
                write!(
                    f,
                    "the coordinator speaks version {coordinator} of the link's protocol, the worker version {worker}"
                )
            }
            Refusal::Build { coordinator, worker } => {
                write!(f, "the coordinator is build {coordinator}, the worker is build {worker}")
            }
            Refusal::Token => f.write_str("the token is not this run's"),
            Refusal::Name => f.write_str("the name cannot be a worker's"),
            Refusal::NameTaken { name } => write!(f, "a worker called {name} is there and lives"),
            Refusal::NotExpected { name } => write!(f, "no worker called {name} is expected"),
            Refusal::Full { workers } => write!(f, "all {workers} workers are there"),
            Refusal::OldLink { epoch } => write!(f, "link number {epoch} of this worker is no more"),
            Refusal::Unreadable => f.write_str("its first frame is not understood"),
        }
    }
}

/// True if it may be shown and looked for: printed, without spaces.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_CHARACTERS_MAX).contains(&name.chars().count())
        && name.chars().all(|character| character.is_alphanumeric() || "-_.:@/+".contains(character))
}
