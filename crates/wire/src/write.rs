//! Writes protocol fields at the end of a `Vec<u8>`, big-endian. The counterpart of [`crate::read`], for requests.

use crate::versions::ApiKey;

/// The most bytes that a STRING can have.
pub(crate) const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// STRING. What is longer than a string can be is cut: no name in Kafka is nearly that long, and the broker refuses the cut one too.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    let mut length = text.len().min(STRING_BYTES_MAX);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    out.extend_from_slice(&(length as i16).to_be_bytes());
    out.extend_from_slice(&text.as_bytes()[..length]);
}

/// NULLABLE_STRING.
pub(crate) fn nullable_string(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.extend_from_slice(&(-1_i16).to_be_bytes()),
    }
}

/// BYTES. The caller's are a few kilobytes at most.
pub fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    array_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// The count before an ARRAY's elements.
pub(crate) fn array_length(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as i32).to_be_bytes());
}

/// The fields of a request's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHeader<'a> {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client_id: &'a str,
}

/// A whole request: its size, its header (version 1: without tagged fields) and what `body` appends.
pub(crate) fn request(out: &mut Vec<u8>, header: RequestHeader<'_>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(header.api as i16).to_be_bytes());
    out.extend_from_slice(&header.version.to_be_bytes());
    out.extend_from_slice(&header.correlation_id.to_be_bytes());
    string(out, header.client_id);
    body(out);
    let size = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_that_is_too_long_is_cut_between_characters() {
        let mut out = Vec::new();
        string(&mut out, &"ä".repeat(20_000));
        assert_eq!(out[..2], 32_766_i16.to_be_bytes());
        assert_eq!(out.len(), 2 + 32_766);
    }

    #[test]
    fn a_request_says_how_many_bytes_follow() {
        let mut out = vec![9];
        let header = RequestHeader { api: ApiKey::Metadata, version: 8, correlation_id: 7, client_id: "me" };
        request(&mut out, header, |out| out.push(1));
        assert_eq!(out, [9, 0, 0, 0, 13, 0, 3, 0, 8, 0, 0, 0, 7, 0, 2, b'm', b'e', 1]);
    }
}
