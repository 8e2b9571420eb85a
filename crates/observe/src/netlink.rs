//! Dumps over netlink(7): one question that the kernel answers with everything that there is, and the attributes of an answer.

use crate::ethtool::netlink_socket;
use std::fs::File;
use std::io::{self, Read, Write};

/// Bytes of a message's head: its length, its kind, flags, a number and a port.
pub(crate) const HEAD_BYTES: usize = 16;
/// A request that is answered with everything that there is.
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The kernel fills at most this much at once.
const ANSWER_BYTES: usize = 64 << 10;
/// The bits of an attribute's kind that are none of its number.
const FLAGS: u16 = 0xc000;

/// What is asked for: the kinds of the question and of its answers, and the question's own bytes.
pub(crate) struct Question<'q> {
    pub(crate) protocol: i32,
    pub(crate) kind: u16,
    pub(crate) answer: u16,
    pub(crate) body: &'q [u8],
    /// No more answers are taken.
    pub(crate) most: usize,
}

/// What is made of each answer's bytes after its head.
pub(crate) fn dump<T>(question: &Question<'_>, of: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let mut socket = File::from(netlink_socket(question.protocol)?);
    socket.write_all(&request(question))?;
    let (mut found, mut answer) = (Vec::new(), vec![0; ANSWER_BYTES]);
    loop {
        let length = socket.read(&mut answer)?;
        if !read(&answer[..length], question.answer, &of, &mut found)? || found.len() >= question.most {
            return Ok(found);
        }
    }
}

fn request(question: &Question<'_>) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(((HEAD_BYTES + question.body.len()) as u32).to_ne_bytes());
    message.extend(question.kind.to_ne_bytes());
    message.extend(REQUEST_DUMP.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(question.body);
    message
}

/// Reads the messages of an answer; false after the last.
fn read<T>(
    answer: &[u8],
    kind: u16,
    of: &impl Fn(&[u8]) -> Option<T>,
    found: &mut Vec<T>,
) -> io::Result<bool> {
    let mut rest = answer;
    while let Some(head) = rest.get(..HEAD_BYTES) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(message) = rest.get(HEAD_BYTES..length) else { break };
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(false),
            ERROR => {
                let code = number(message, 0).map_or(0, u32::cast_signed);
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            one if one == kind => found.extend(of(message)),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(!answer.is_empty())
}

/// Attributes by kind, up to the first that is none.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & !FLAGS;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The attribute of a kind.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(own, _)| *own == kind).map(|(_, value)| value)
}

/// A number of 32 bits in the machine's byte order.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A text up to its end of one byte 0.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let head = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes();
        [&head[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
    }

    #[test]
    fn an_error_of_the_kernels_is_told_and_the_end_is_the_end() {
        let (mut found, of) = (Vec::new(), |body: &[u8]| number(body, 0));
        let answer = [message(20, &[7, 0, 0, 0]), message(21, &[8, 0, 0, 0])].concat();
        assert!(read(&answer, 20, &of, &mut found).unwrap());
        assert!(!read(&message(DONE, &[0; 4]), 20, &of, &mut found).unwrap());
        assert_eq!(found, [u32::from_ne_bytes([7, 0, 0, 0])]);
        let error = read(&message(ERROR, &(-13i32).to_ne_bytes()), 20, &of, &mut found).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(13));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answers_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut found: Vec<u32> = Vec::new();
            let _ = read(&bytes, 20, &|body| number(body, 0), &mut found);
            prop_assert!(attributes(&bytes).count() <= bytes.len());
            let _ = text(&bytes);
        }
    }
}
