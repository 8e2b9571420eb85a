//! Waiting for a socket until a deadline, for what is asked and waited for. The hot path polls its sockets itself.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until the socket is ready for `events` or has failed. False: the deadline came first.
pub(super) fn ready(socket: impl AsFd, events: PollFlags, deadline: Instant) -> io::Result<bool> {
    let mut sockets = [PollFd::new(&socket, events)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut sockets, Some(&timeout)) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}
