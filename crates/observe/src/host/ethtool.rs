//! The counters that a network driver keeps by names of its own: what `ethtool -S` shows (ethtool(8), linux/ethtool.h).

#![expect(unsafe_code, reason = "no safe binding has the ethtool calls of SIOCETHTOOL")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// The set of strings that names the counters.
const ETH_SS_STATS: u32 = 1;
/// Bytes of a name (`ETH_GSTRING_LEN`).
const NAME_BYTES: usize = 32;
/// More counters than any driver has (mlx5 has some 6,000 with 128 channels).
const COUNTERS_MAX: usize = 65_536;

/// A driver's counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DriverCounter {
    pub(super) name: String,
    pub(super) value: u64,
}

/// The counters of an interface of the caller's network namespace; none where its driver keeps none.
pub(super) fn counters(interface: &str) -> io::Result<Vec<DriverCounter>> {
    let socket = socket()?;
    let mut call = Call { socket: socket.as_raw_fd(), request: request(interface)? };
    // cmd, reserved, mask of sets (64 bits), then the size of each set that there is.
    let mut info = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0, 0];
    call.run(bytes_of(&mut info))?;
    let count = if info[2] == 0 { 0 } else { info[4] as usize };
    if count > COUNTERS_MAX {
        return Err(io::Error::other(format!("{count} counters, expected at most {COUNTERS_MAX}")));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    // The kernel writes as many as the driver has at the call, and asks nobody how many fit: queues that are added
    // meanwhile must fit, too.
    let room = 4 * count + 4096;
    // cmd, set, number, then names.
    let mut names = vec![0u32; 3 + room * NAME_BYTES / 4];
    (names[0], names[1], names[2]) = (ETHTOOL_GSTRINGS, ETH_SS_STATS, count as u32);
    call.run(bytes_of(&mut names))?;
    // cmd and number in one word of 64 bits, then values.
    let mut values = vec![0u64; 1 + room];
    values[0] = pair(ETHTOOL_GSTATS, count as u32);
    call.run(bytes_of(&mut values))?;
    let told = [names[2] as usize, halves(values[0])[1] as usize];
    if told != [count, count] {
        return Err(io::Error::other("the driver changed its counters meanwhile"));
    }
    let text = &bytes_of(&mut names)[12..];
    let name = |at: usize| {
        let bytes = &text[at * NAME_BYTES..(at + 1) * NAME_BYTES];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
    };
    Ok((0..count).map(|at| DriverCounter { name: name(at), value: values[1 + at] }).collect())
}

/// Any socket will do: it names the network namespace, and nothing is sent.
fn socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just opened it, and nobody else knows of it.
        opened => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
    }
}

struct Call {
    socket: libc::c_int,
    request: libc::ifreq,
}

impl Call {
    /// One call with an argument that the kernel reads and fills.
    fn run(&mut self, argument: &mut [u8]) -> io::Result<()> {
        self.request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
        // SAFETY: the socket is open while its owner is; the request is a whole `ifreq` that points to `argument`, which outlives the
        // call and is larger than what the driver writes.
        match unsafe { libc::ioctl(self.socket, SIOCETHTOOL, &raw mut self.request) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an `ifreq` is bytes and numbers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays for the end.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

/// Numbers that have no padding and take any bytes.
trait Word: Copy {}
impl Word for u32 {}
impl Word for u64 {}

fn bytes_of<T: Word>(words: &mut [T]) -> &mut [u8] {
    let bytes = size_of_val(words);
    // SAFETY: the words are that many bytes, of a type for which every pattern of bits is a value.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) }
}

/// Two words of 32 bits as they lie in one of 64.
fn pair(first: u32, second: u32) -> u64 {
    let [a, b, c, d] = first.to_ne_bytes();
    let [e, f, g, h] = second.to_ne_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_interface_is_an_error() {
        for name in ["", "a-name-of-16-bytes", "plumb-none"] {
            assert!(counters(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn words_lie_as_the_kernel_lays_them() {
        assert_eq!(halves(pair(7, 9)), [7, 9]);
        assert_eq!(bytes_of(&mut [pair(7, 9)])[..4], 7u32.to_ne_bytes());
    }
}
