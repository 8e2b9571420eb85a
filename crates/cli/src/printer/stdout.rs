//! Standard output itself, without the standard library's: that takes a closed one for an open one, and a refusal to write to it
//! for a success.

#![expect(
    unsafe_code,
    reason = "whether it was closed can be seen only before the standard library opens it on /dev/null"
)]

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_getfd, write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the program was started without a standard output (`>&-`).
static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the loader calls what stands in this section before main, without arguments that matter, and once.
#[unsafe(link_section = ".init_array")]
#[used]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: the number is asked for, and nothing else is done with it; there are no other threads yet.
        let stdout = unsafe { BorrowedFd::borrow_raw(1) };
        CLOSED.store(fcntl_getfd(stdout) == Err(Errno::BADF), Relaxed);
    }
    look
};

/// Writes all of it.
pub(super) fn write_all(bytes: &[u8]) -> Result<(), Errno> {
    if CLOSED.load(Relaxed) {
        return Err(Errno::BADF);
    }
    write_all_to(std::io::stdout().as_fd(), bytes)
}

fn write_all_to(file: BorrowedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            // Somebody has made the pipe or terminal so that it does not wait by itself.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&file, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_refuses_is_an_error_and_a_slow_reader_gets_all() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!(write_all_to(full.as_fd(), b"words"), Err(Errno::NOSPC));
        let read_only = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(write_all_to(read_only.as_fd(), b"words"), Err(Errno::BADF));
        let (mut reader, writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let words = vec![7; 300_000];
        let read = std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let mut read = Vec::new();
                std::io::Read::read_to_end(&mut reader, &mut read).unwrap();
                read
            });
            write_all_to(writer.as_fd(), &words).unwrap();
            drop(writer);
            reading.join().unwrap()
        });
        assert_eq!(read, words);
    }

    #[test]
    fn a_reader_that_went_away_is_told_apart() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(write_all_to(writer.as_fd(), b"words"), Err(Errno::PIPE));
    }
}
