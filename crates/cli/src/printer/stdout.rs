//! Standard output itself, without the standard library's, which takes a refusal to write to it for a success. One that the program
//! was started without (`>&-`) is no refusal: whoever closes it wants to see nothing, and the library has opened it on /dev/null.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, write};
use std::os::fd::{AsFd, BorrowedFd};

/// Writes all of it.
pub(super) fn write_all(bytes: &[u8]) -> Result<(), Errno> {
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
