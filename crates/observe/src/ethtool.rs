//! The calls of ethtool(8) to network drivers: their settings, and the counters and features that they keep by names (linux/ethtool.h).
//!
//! Here is the one call to the kernel, with what a driver is asked and told as words of 32 bits. What the words mean is the business of
//! whoever calls. Asking needs no privilege for most commands, telling needs CAP_NET_ADMIN.

#![expect(unsafe_code, reason = "no safe binding has the ethtool calls of SIOCETHTOOL")]

mod netlink;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// Bytes of a name (`ETH_GSTRING_LEN`).
const NAME_BYTES: usize = 32;
/// More names than any driver has (mlx5 has some 6,000 counters with 128 channels).
const NAMES_MAX: usize = 65_536;
/// More words than any table of a driver has that is asked or told by its size: indirection tables end at some thousands.
const TABLE_WORDS_MAX: usize = 1 << 20;
/// Words beyond what a command is known to touch, for what a later kernel adds to a structure. Ours.
const SLACK_WORDS: usize = 1024;
/// `ETH_RXFH_INDIR_NO_CHANGE`: a size that stands for no table.
const NO_TABLE: u32 = u32::MAX;

/// What a driver is asked or told; only commands of which it is known how much memory the kernel reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of linux/ethtool.h")]
#[repr(u32)]
pub enum Command {
    /// `struct ethtool_coalesce`.
    GetCoalesce = 0x0e,
    SetCoalesce = 0x0f,
    /// `struct ethtool_ringparam`.
    GetRings = 0x10,
    SetRings = 0x11,
    /// `struct ethtool_pauseparam`.
    GetPause = 0x12,
    SetPause = 0x13,
    /// `struct ethtool_rxnfc`, of which the first 16 bytes matter.
    GetFlowHash = 0x29,
    SetFlowHash = 0x2a,
    GetReceiveQueues = 0x2d,
    /// `struct ethtool_gfeatures` and `ethtool_sfeatures`.
    GetFeatures = 0x3a,
    SetFeatures = 0x3b,
    /// `struct ethtool_channels`.
    GetChannels = 0x3c,
    SetChannels = 0x3d,
    /// `struct ethtool_rxfh`.
    GetSpread = 0x46,
    SetSpread = 0x47,
}

impl Command {
    /// The words that the kernel reads or writes at most, which for tables are as many as the caller says that there are.
    fn words_touched(self, words: &[u32]) -> usize {
        let said = |at: usize| words.get(at).map_or(0, |said| *said as usize);
        match self {
            Command::GetCoalesce | Command::SetCoalesce => 23,
            Command::GetRings | Command::SetRings | Command::GetChannels | Command::SetChannels => 9,
            Command::GetPause | Command::SetPause => 4,
            Command::GetFlowHash | Command::SetFlowHash | Command::GetReceiveQueues => 48,
            Command::GetFeatures => 2usize.saturating_add(said(1).saturating_mul(4)),
            Command::SetFeatures => 2usize.saturating_add(said(1).saturating_mul(2)),
            Command::GetSpread | Command::SetSpread => {
                let table = if said(2) == NO_TABLE as usize { 0 } else { said(2) };
                6usize.saturating_add(table).saturating_add(said(3).div_ceil(4))
            }
        }
    }
}

/// What a driver has names for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Names {
    /// Its counters (`ETH_SS_STATS`).
    Counters = 1,
    /// Its features, in the order of their bits (`ETH_SS_FEATURES`).
    Features = 4,
}

/// A driver's counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverCounter {
    /// As the driver calls it.
    pub name: String,
    /// Since the driver was loaded, mostly.
    pub value: u64,
}

/// One call to the driver of an interface of the caller's network namespace. The first word is the command's place; the words come back as
/// the kernel left them. Gives the number that the call returns: 0, or of [`Command::SetFeatures`] what became of it.
///
/// # Errors
/// The kernel's: `EOPNOTSUPP` where the driver has no such settings, `ENODEV` where there is no such interface. `InvalidInput` where the
/// name is too long for one, or a table is larger than any.
pub fn call(interface: &str, command: Command, words: &mut [u32]) -> io::Result<u32> {
    let touched = command.words_touched(words);
    if touched > TABLE_WORDS_MAX || words.len() > TABLE_WORDS_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a table larger than any driver has"));
    }
    // The caller's words may be fewer than the kernel touches.
    let mut buffer = vec![0u32; touched.max(words.len()) + SLACK_WORDS];
    buffer[..words.len()].copy_from_slice(words);
    buffer[0] = command as u32;
    let returned = run(interface, &mut buffer)?;
    words.copy_from_slice(&buffer[..words.len()]);
    Ok(returned)
}

/// The names that a driver has for things of a kind; none where it has none.
///
/// # Errors
/// As [`call`].
pub fn names(interface: &str, of: Names) -> io::Result<Vec<String>> {
    let count = count(interface, of)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    // cmd, set, number, then names.
    let mut words = vec![0u32; 3 + room(count) * NAME_BYTES / 4];
    (words[0], words[1], words[2]) = (ETHTOOL_GSTRINGS, of as u32, count as u32);
    run(interface, &mut words)?;
    if words[2] as usize != count {
        return Err(io::Error::other("the driver changed its names meanwhile"));
    }
    let text: Vec<u8> = words[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
    };
    Ok(text.chunks_exact(NAME_BYTES).take(count).map(name).collect())
}

/// The counters of an interface of the caller's network namespace; none where its driver keeps none.
///
/// # Errors
/// As [`call`].
pub fn counters(interface: &str) -> io::Result<Vec<DriverCounter>> {
    let names = names(interface, Names::Counters)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // cmd, number, then values of 64 bits.
    let mut words = vec![0u32; 2 + 2 * room(names.len())];
    (words[0], words[1]) = (ETHTOOL_GSTATS, names.len() as u32);
    run(interface, &mut words)?;
    if words[1] as usize != names.len() {
        return Err(io::Error::other("the driver changed its counters meanwhile"));
    }
    let values = words[2..].chunks_exact(2).map(|pair| joined([pair[0], pair[1]]));
    Ok(names.into_iter().zip(values).map(|(name, value)| DriverCounter { name, value }).collect())
}

/// The words of `struct ethtool_coalesce` that the driver of an interface has: [`Command::GetCoalesce`] shows others as 0.
///
/// # Errors
/// The kernel's; one before 5.7 does not tell.
pub fn coalesce_words(interface: &str) -> io::Result<Vec<usize>> {
    netlink::coalesce_words(netlink_socket(libc::NETLINK_GENERIC)?, interface)
}

/// Two words as the kernel lays one of 64 bits.
#[must_use]
pub fn joined([first, second]: [u32; 2]) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The two words of one of 64 bits.
#[must_use]
pub fn parted(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

fn count(interface: &str, of: Names) -> io::Result<usize> {
    // cmd, reserved, mask of sets (64 bits), then the size of each set that there is.
    let [low, high] = parted(1 << of as u32);
    let mut words = vec![0u32; 4 + 64];
    (words[0], words[2], words[3]) = (ETHTOOL_GSSET_INFO, low, high);
    run(interface, &mut words)?;
    let is_there = joined([words[2], words[3]]) != 0;
    let count = if is_there { words[4] as usize } else { 0 };
    match count > NAMES_MAX {
        true => Err(io::Error::other(format!("{count} names, expected at most {NAMES_MAX}"))),
        false => Ok(count),
    }
}

/// The kernel writes as many as the driver has at the call, and asks nobody how many fit: queues that are added meanwhile must fit, too.
fn room(count: usize) -> usize {
    4 * count + 4096
}

/// The call. The first word is a command of which the caller knows that the kernel touches no more than the words.
fn run(interface: &str, words: &mut [u32]) -> io::Result<u32> {
    let mut request = request(interface)?;
    // Any socket will do: it names the network namespace, and nothing is sent.
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the socket is open; the request is a whole `ifreq` that points to `words`, which outlive the call and are more than the kernel
    // touches: `call` gives room for all of a command's structure, `count`, `names` and `counters` for all that the driver said to have.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        returned => Ok(returned.unsigned_abs()),
    }
}

/// A socket to a part of the kernel that answers while it is asked.
pub(crate) fn netlink_socket(protocol: libc::c_int) -> io::Result<OwnedFd> {
    socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_NONBLOCK, protocol)
}

fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just opened it, and nobody else knows of it.
        opened => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
    }
}

fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an `ifreq` is bytes and numbers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays for the end.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "no name of an interface: expected 1 to 15 bytes",
        ));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_interface_is_an_error() {
        for name in ["", "a-name-of-16-bytes", "plumb-none"] {
            assert!(counters(name).is_err(), "{name:?}");
            assert!(call(name, Command::GetChannels, &mut [0; 9]).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_interface_without_coalescing_or_that_is_not_there_is_told_by_its_error() {
        let error = |name: &str| coalesce_words(name).unwrap_err().raw_os_error();
        assert_eq!(error("lo"), Some(libc::EOPNOTSUPP));
        assert_eq!(error("plumb-none"), Some(libc::ENODEV));
    }

    #[test]
    fn words_lie_as_the_kernel_lays_them() {
        assert_eq!(parted(joined([7, 9])), [7, 9]);
        assert_eq!(joined([7, 9]).to_ne_bytes()[..4], 7u32.to_ne_bytes());
    }

    #[test]
    fn a_table_that_the_caller_says_is_huge_is_refused_before_the_call() {
        for command in [Command::GetSpread, Command::SetSpread, Command::GetFeatures, Command::SetFeatures] {
            let mut words = [u32::MAX - 1; 4];
            assert_eq!(call("lo", command, &mut words).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn loopback_has_features_with_names_whoever_asks_and_fewer_words_than_the_kernel_writes_do() {
        let names = names("lo", Names::Features).unwrap();
        assert!(names.iter().any(|name| name == "rx-gro"), "{names:?}");
        // The command, and that there is room for two blocks: the answer is cut to the caller's words.
        let mut words = [0, 2];
        call("lo", Command::GetFeatures, &mut words).unwrap();
        assert_eq!(words[0], Command::GetFeatures as u32);
        assert!(words[1] >= 2, "{words:?}");
        assert!(call("lo", Command::GetFeatures, &mut []).is_ok());
    }
}
