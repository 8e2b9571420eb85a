//! The reasons why a library could not be measured. All are of this machine.

use plumb_model::fault::{Fault, HasFault};
use plumb_model::probe::crypto::EngineName;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a library could not be measured.
#[derive(Debug, Error)]
pub enum CryptoError {
    /// None of the shared libraries is there.
    #[error("no OpenSSL library here: {tried}")]
    NoLibrary {
        /// The names that were tried, and the loader's message.
        tried: String,
    },
    /// A library lacks a function.
    #[error("{file} has no function {function}")]
    NoFunction {
        /// The library.
        file: String,
        /// The function.
        function: &'static str,
    },
    /// There is no Java.
    #[error("no java here: looked {searched}")]
    NoJava {
        /// The places searched.
        searched: String,
    },
    /// A Java that could not be asked.
    #[error("{} does not answer as a Java launcher does: {reason}", program.display())]
    StrangeJava {
        /// The launcher.
        program: PathBuf,
        /// Its message.
        reason: String,
    },
    /// The Java process broke off.
    #[error("the Java process that measures broke off: {reason}")]
    JavaEnded {
        /// Its last words.
        reason: String,
    },
    /// A library that is here and cannot be measured.
    #[error("{engine} has no figure: {reason}")]
    NoFigure {
        /// The library.
        engine: EngineName,
        /// The reason.
        reason: String,
    },
    /// A library refused an operation.
    #[error("{engine} refused {what}")]
    Refused {
        /// The library.
        engine: EngineName,
        /// The operation.
        what: String,
    },
    /// A thread or a process could not be had.
    #[error("cannot measure {engine}")]
    System {
        /// The library.
        engine: EngineName,
        /// The system's error.
        source: io::Error,
    },
}

impl CryptoError {
    /// An operation that should have worked.
    pub(super) fn refused(engine: EngineName, what: impl Into<String>) -> Self {
        CryptoError::Refused { engine, what: what.into() }
    }
}

impl HasFault for CryptoError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            CryptoError::NoLibrary { .. } => {
                "install OpenSSL's shared library (libssl3), or leave --engine openssl out"
            }
            CryptoError::NoJava { .. } => "set JAVA_HOME to the broker's Java, or leave --engine jvm out",
            _ => "leave that --engine out: the others do not need it",
        };
        Some(hint.into())
    }
}
