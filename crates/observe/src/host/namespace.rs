//! The network namespace of a process: whether it is another one than Plumb's, and work within it.

use crate::{HostRoot, ObserveError};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::AsFd;

/// Whether a process lives in another network namespace than Plumb; none where the kernel does not tell (another user's process).
pub(super) fn is_elsewhere(root: &HostRoot, pid: u32) -> Option<bool> {
    let of = |who: &str| root.link(&format!("/proc/{who}/ns/net"));
    Some(of("self")? != of(&pid.to_string())?)
}

/// Does something on a thread of its own within the network namespace of a process. Entering it needs CAP_SYS_ADMIN; nothing but that thread
/// is ever in it.
pub(super) fn within<T: Send>(pid: u32, work: impl FnOnce() -> T + Send) -> Result<T, ObserveError> {
    let path = format!("/proc/{pid}/ns/net");
    let fault = |errno: rustix::io::Errno| ObserveError::Read { path: path.clone(), source: errno.into() };
    let namespace =
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(fault)?;
    let entered = std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map(|()| work())
        });
        there.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    entered.map_err(fault)
}
