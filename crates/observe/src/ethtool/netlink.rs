//! What only netlink tells of a driver: which numbers of coalescing it has (kernel documentation, networking/ethtool-netlink.rst). The old
//! call shows those that it has not as 0.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

/// The family that knows the numbers of all others.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `ETHTOOL_MSG_COALESCE_GET`, the attribute that is its header, and the device's name in there.
const GET_COALESCE: u8 = 19;
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;
const NESTED: u16 = 1 << 15;
const REQUEST: u16 = 1;
/// The type of a message that tells an error.
const ERROR: u16 = 2;
/// Bytes before the attributes: netlink's header and that of its families.
const HEAD_BYTES: usize = 20;
/// More than an answer has.
const ANSWER_BYTES: usize = 32 << 10;

/// The words of `struct ethtool_coalesce` that a driver has, by their places in it.
pub(super) fn coalesce_words(socket: OwnedFd, interface: &str) -> io::Result<Vec<usize>> {
    let mut socket = File::from(socket);
    let family = ask(&mut socket, CONTROL, GET_FAMILY, &attribute(FAMILY_NAME, b"ethtool\0"))?;
    let id = attributes(&family).find(|(kind, _)| *kind == FAMILY_ID);
    let id = id.and_then(|(_, value)| Some(u16::from_ne_bytes(value.get(..2)?.try_into().ok()?)));
    let id = id.ok_or_else(|| io::Error::other("netlink does not tell the number of ethtool"))?;
    let device = attribute(DEVICE_NAME, &[interface.as_bytes(), b"\0"].concat());
    let answer = ask(&mut socket, id, GET_COALESCE, &attribute(HEADER | NESTED, &device))?;
    // The attributes are numbered as the words of the structure lie, after the header that is the first of them.
    Ok(attributes(&answer)
        .map(|(kind, _)| kind)
        .filter(|kind| *kind > HEADER)
        .map(|kind| usize::from(kind) - 1)
        .collect())
}

/// One question with one answer, which the kernel gives while it is asked.
fn ask(socket: &mut File, family: u16, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    message.extend(((HEAD_BYTES + attributes.len()) as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // Sequence and port.
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    socket.write_all(&message)?;
    let mut answer = vec![0; ANSWER_BYTES];
    let length = socket.read(&mut answer)?;
    answer.truncate(length);
    match error(&answer) {
        Some(error) => Err(error),
        None => Ok(answer),
    }
}

/// The error that an answer tells; none of one that tells what was asked.
fn error(answer: &[u8]) -> Option<io::Error> {
    let short = || io::Error::other("an answer of netlink that ends before it begins");
    let Some(kind) = answer.get(4..6) else { return Some(short()) };
    if u16::from_ne_bytes([kind[0], kind[1]]) != ERROR {
        return None;
    }
    let code = answer.get(16..20).and_then(|code| Some(i32::from_ne_bytes(code.try_into().ok()?)));
    Some(code.map_or_else(short, |code| io::Error::from_raw_os_error(code.saturating_neg())))
}

/// An attribute: its length, its kind, its value, and bytes up to a multiple of four.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes of an answer, by kind, up to the first that is none.
fn attributes(answer: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = answer.get(HEAD_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & !NESTED;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let answer =
            [vec![0; HEAD_BYTES], attribute(7, b"abc"), attribute(8 | NESTED, b""), vec![9]].concat();
        assert_eq!(attributes(&answer).collect::<Vec<_>>(), [(7, &b"abc"[..]), (8, &b""[..])]);
        assert!(error(&answer).is_none());
    }

    #[test]
    fn an_error_of_the_kernels_is_told() {
        let mut answer = [0; 36];
        answer[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        answer[16..20].copy_from_slice(&(-95i32).to_ne_bytes());
        assert_eq!(error(&answer).unwrap().raw_os_error(), Some(95));
        assert!(error(&answer[..5]).is_some());
        assert!(error(&answer[..17]).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_attributes_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = error(&bytes);
            prop_assert!(attributes(&bytes).count() <= bytes.len());
        }
    }
}
