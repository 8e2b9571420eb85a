//! Links over real sockets: who is let in, what each side is told, and what happens when one of them is lost.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

mod door;
mod joining;
mod losses;
mod proxy;
mod stranger;
