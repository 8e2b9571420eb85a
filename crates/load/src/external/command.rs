//! The programs that are clients: how each is started, and which side it is.

use std::ffi::OsString;

/// The programs of a step's clients, ready to be started. None: that side is in this process.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// For each producer.
    pub producer: Option<DriverCommand>,
    /// For each consumer.
    pub consumer: Option<DriverCommand>,
}

/// A program that speaks the protocol of external drivers.
#[derive(Debug, Clone)]
pub struct DriverCommand {
    /// The program and its arguments. No secret is among them.
    pub words: Vec<OsString>,
    /// True if it wants properties by the names of the client for Java.
    pub java: bool,
}

/// A side of a block, as its programs are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    Consumer,
}

impl Role {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Role::Producer => "producer",
            Role::Consumer => "consumer",
        }
    }
}
