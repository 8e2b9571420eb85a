//! The files that whoever started this program left open in it: they are the caller's, and no child gets them.
//!
//! A broker of `plumb lab up` lives longer than the caller. With the caller's open files it would keep the caller's locks, and
//! pipes whose readers wait for their end. Files that this program opens itself are closed in every child by the standard library;
//! one that a child is to have is opened without that flag, on purpose, later than this.

use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{BorrowedFd, RawFd};

/// Standard input, output and error; above them is what no program expects.
const STANDARD: RawFd = 2;

/// Keeps every file that is open now, but the standard three, from every process that this one will start.
pub(crate) fn keep_from_children() {
    // Without /proc nothing can be listed; then nothing of the host can be measured either, and others say so.
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    for entry in open.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number| *number > STANDARD) {
            close_in_children(number);
        }
    }
}

#[expect(unsafe_code, reason = "the files were opened by the caller, so nothing here owns them")]
fn close_in_children(number: RawFd) {
    // SAFETY: the number was just listed as open, and this is the only thread, so nobody closes it meanwhile.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    // Refused only for a number that is not open.
    let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
}
