use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

use super::*;

/// A base-128 number, as the definition has it: seven bits a byte, the lowest first.
fn unsigned(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn zigzag(number: i64) -> Vec<u8> {
    unsigned((number << 1 ^ number >> 63) as u64)
}

/// Calls everything that reads, one after the other, as the choices say.
fn read_anything(reader: &mut Reader<'_>, choice: u8) -> Result<()> {
    match choice % 19 {
        0 => reader.u8("u8").map(drop),
        1 => reader.i16("i16").map(drop),
        2 => reader.i32("i32").map(drop),
        3 => reader.i64("i64").map(drop),
        4 => reader.u8("u8").map(drop),
        5 => reader.u32("u32").map(drop),
        6 => reader.bool("bool").map(drop),
        7 => reader.string("string").map(drop),
        8 => reader.nullable_string("string").map(drop),
        9 => reader.bytes("bytes").map(drop),
        10 => reader.nullable_bytes("bytes").map(drop),
        11 => reader.array_length(3, "array").map(drop),
        12 => reader.nullable_array_length(0, "array").map(drop),
        13 => reader.varint("varint").map(drop),
        14 => reader.varlong("varlong").map(drop),
        15 => reader.unsigned_varint("varint").map(drop),
        16 => reader.unsigned_varlong("varlong").map(drop),
        17 => reader.skip(usize::from(choice), "skip"),
        _ => reader.end("end"),
    }
}

proptest! {
    #[test]
    fn whatever_is_read_of_whatever_bytes_the_place_stays_within_them(
        bytes in prop::collection::vec(any::<u8>(), 0..100), choices in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut reader = Reader::new(&bytes);
        for choice in choices {
            let before = reader.position();
            let result = read_anything(&mut reader, choice);
            prop_assert!(reader.position() >= before && reader.position() + reader.left() == bytes.len());
            if let Err(error) = result {
                prop_assert!((before..=bytes.len()).contains(&error.at), "{error}");
            }
        }
    }

    #[test]
    fn variable_length_numbers_are_read_as_they_are_defined(number: i64, small: i32) {
        let bytes = zigzag(number);
        prop_assert_eq!(Reader::new(&bytes).varlong("n"), Ok(number));
        let bytes = zigzag(small.into());
        prop_assert_eq!(Reader::new(&bytes).varint("n"), Ok(small));
        let bytes = unsigned((small as u32).into());
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.unsigned_varint("n"), Ok(small as u32));
        prop_assert!(reader.is_empty());
        prop_assert!((0..bytes.len()).all(|length| Reader::new(&bytes[..length]).unsigned_varint("n").is_err()));
    }
}

#[test]
fn variable_length_numbers_are_those_of_the_protocol_buffers_guide() {
    assert_eq!(Reader::new(&[0xac, 0x02]).unsigned_varint("n"), Ok(300));
    for (byte, number) in [(0, 0), (1, -1), (2, 1), (3, -2)] {
        assert_eq!(Reader::new(&[byte]).varint("n"), Ok(number));
    }
}

#[test]
fn variable_length_numbers_at_their_limits_are_read_and_beyond_them_are_errors() {
    for number in [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN] {
        assert_eq!(Reader::new(&zigzag(number)).varlong("n"), Ok(number));
    }
    for number in [0, -1, i32::MAX, i32::MIN] {
        assert_eq!(Reader::new(&zigzag(number.into())).varint("n"), Ok(number));
    }
    // 33 bits in five bytes, six bytes, 65 bits in ten bytes, eleven bytes.
    let too_large = [0xff, 0xff, 0xff, 0xff, 0x1f];
    let got = Problem::OutOfRange { got: 0x1_ffff_ffff, least: 0, most: u32::MAX.into() };
    assert_eq!(Reader::new(&too_large).varint("n").unwrap_err().problem, got);
    assert_eq!(Reader::new(&[0x80; 6]).varint("n").unwrap_err().problem, Problem::EndlessVarint);
    assert_eq!(
        Reader::new(&[&[0xff; 9][..], &[2]].concat()).varlong("n").unwrap_err().problem,
        Problem::EndlessVarint
    );
    assert_eq!(Reader::new(&[0x80; 11]).varlong("n").unwrap_err().problem, Problem::EndlessVarint);
}

#[test]
fn an_array_that_cannot_fit_is_an_error_before_anyone_loops_over_it() {
    for (count, least_bytes, fits) in [
        (2, 4, true),
        (3, 4, false),
        (i32::MAX, 1, false),
        (i32::MAX, 0, false),
        (8, 0, true),
        (-2, 1, false),
    ] {
        let mut bytes = BytesMut::new();
        bytes.put_i32(count);
        bytes.put_bytes(0, 8);
        assert_eq!(
            Reader::new(&bytes).array_length(least_bytes, "array").is_ok(),
            fits,
            "{count} of {least_bytes}"
        );
    }
    assert_eq!(Reader::new(&[255; 4]).nullable_array_length(1, "array"), Ok(None));
    assert!(Reader::new(&[255; 4]).array_length(1, "array").is_err());
}

#[test]
fn an_error_says_what_it_was_about_and_where_it_began() {
    let mut reader = Reader::new(&[0, 9, 0, 5, b'a']);
    reader.i16("first").unwrap();
    let error = reader.string("name").unwrap_err();
    assert_eq!(error.to_string(), "name at byte 4: 5 bytes are needed, 1 are left");
    assert_eq!(
        Reader::new(&[0, 1, 0xff]).string("name").unwrap_err().to_string(),
        "name at byte 0: the string is not UTF-8"
    );
    assert_eq!(
        Reader::new(&[255, 254]).nullable_string("name").unwrap_err().to_string(),
        "name at byte 0: length -2 is negative"
    );
}
