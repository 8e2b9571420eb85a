//! The firmware's tables of memory: SMBIOS (DMTF DSP0134) types 16, the array, and 17, a module. Readable by root.

use plumb_model::facts::MemoryModules;

use crate::{HostRoot, ObserveError};

pub(super) const TABLE: &str = "/sys/firmware/dmi/tables/DMI";

const MEMORY_ARRAY: u8 = 16;
const MEMORY_DEVICE: u8 = 17;
const END: u8 = 127;

/// The memory of the machine as the tables state it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MemoryTable {
    /// Ways of correction of the system's memory, each once.
    pub(super) corrections: Vec<String>,
    /// Modules, those of one kind together.
    pub(super) modules: Vec<MemoryModules>,
}

pub(super) fn read(root: &HostRoot) -> Result<MemoryTable, ObserveError> {
    Ok(parse(&root.read_bytes(TABLE)?))
}

/// Reads the structures: each has type, length, handle, fields, then strings with a zero byte after each and one more at the end.
fn parse(bytes: &[u8]) -> MemoryTable {
    let mut table = MemoryTable::default();
    let mut rest = bytes;
    while let [kind, length, ..] = *rest {
        let length = usize::from(length);
        let (Some(fields), true) = (rest.get(..length), length >= 4 && kind != END) else { break };
        match kind {
            MEMORY_ARRAY => {
                if let Some(correction) = correction(fields)
                    && !table.corrections.contains(&correction)
                {
                    table.corrections.push(correction);
                }
            }
            MEMORY_DEVICE => {
                if let Some(module) = module(fields) {
                    let same = |known: &&mut MemoryModules| {
                        MemoryModules { count: 1, ..(**known).clone() } == module
                    };
                    match table.modules.iter_mut().find(same) {
                        Some(known) => known.count += 1,
                        None => table.modules.push(module),
                    }
                }
            }
            _ => {}
        }
        let strings = &rest[length..];
        let Some(end) = strings.windows(2).position(|pair| pair == [0, 0]) else { break };
        rest = &strings[end + 2..];
    }
    table
}

/// The correction of an array of system memory: there are arrays for video and flash too.
fn correction(fields: &[u8]) -> Option<String> {
    const SYSTEM_MEMORY: u8 = 3;
    let name = match (fields.get(5)?, fields.get(6)?) {
        (&SYSTEM_MEMORY, 3) => "none",
        (&SYSTEM_MEMORY, 4) => "parity",
        (&SYSTEM_MEMORY, 5) => "Single-bit ECC",
        (&SYSTEM_MEMORY, 6) => "Multi-bit ECC",
        (&SYSTEM_MEMORY, 7) => "CRC",
        _ => return None,
    };
    Some(name.to_owned())
}

fn module(fields: &[u8]) -> Option<MemoryModules> {
    let word = |at: usize| Some(u16::from_le_bytes(fields.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(fields.get(at..at + 4)?.try_into().ok()?));
    let size_bytes = match word(0x0c)? {
        // No module in the slot; not known.
        0 | 0xffff => return None,
        0x7fff => u64::from(long(0x1c)? & 0x7fff_ffff) << 20,
        size if size & 0x8000 != 0 => u64::from(size & 0x7fff) << 10,
        size => u64::from(size) << 20,
    };
    let speed = |at: usize| word(at).filter(|speed| !matches!(speed, 0 | 0xffff)).map(u32::from);
    let technology = match (fields.get(0x28), fields.get(0x12)?) {
        (Some(7), _) => "Optane persistent memory".to_owned(),
        (Some(4), _) => "NVDIMM-N".to_owned(),
        (_, 0x18) => "DDR3".to_owned(),
        (_, 0x1a) => "DDR4".to_owned(),
        (_, 0x1e) => "LPDDR4".to_owned(),
        (_, 0x20) => "HBM".to_owned(),
        (_, 0x21) => "HBM2".to_owned(),
        (_, 0x22) => "DDR5".to_owned(),
        (_, 0x23) => "LPDDR5".to_owned(),
        (_, other) => format!("SMBIOS type {other}"),
    };
    let (rated, configured) = (speed(0x15), speed(0x20));
    Some(MemoryModules {
        count: 1,
        size_bytes,
        technology,
        rated_mt_per_s: rated,
        configured_mt_per_s: configured,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn structure(kind: u8, fields: &[(usize, &[u8])], length: u8, strings: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; usize::from(length)];
        bytes[0] = kind;
        bytes[1] = length;
        for (at, value) in fields {
            bytes[*at..*at + value.len()].copy_from_slice(value);
        }
        bytes.extend_from_slice(strings);
        bytes
    }

    #[test]
    fn equal_modules_are_counted_and_an_empty_slot_is_none() {
        let of = |size: u16| {
            structure(
                17,
                &[
                    (0x0c, &size.to_le_bytes()),
                    (0x12, &[0x1a]),
                    (0x15, &3200_u16.to_le_bytes()),
                    (0x20, &2933_u16.to_le_bytes()),
                ],
                0x28,
                b"DIMM_A1\0SERIAL-SECRET\0\0",
            )
        };
        let mut table = structure(16, &[(5, &[3]), (6, &[6])], 0x17, &[0, 0]);
        for size in [16_384, 16_384, 0] {
            table.extend(of(size));
        }
        // A module larger than the old field can say has its size in the new one.
        let large = structure(
            17,
            &[(0x0c, &0x7fff_u16.to_le_bytes()), (0x1c, &131_072_u32.to_le_bytes()), (0x28, &[7])],
            0x54,
            &[0, 0],
        );
        table.extend(large);
        table.extend([127, 4, 0, 0, 0, 0]);
        let found = parse(&table);
        assert_eq!(found.corrections, ["Multi-bit ECC"]);
        let expected = MemoryModules {
            count: 2,
            size_bytes: 16 << 30,
            technology: "DDR4".to_owned(),
            rated_mt_per_s: Some(3200),
            configured_mt_per_s: Some(2933),
        };
        assert_eq!(found.modules[0], expected);
        assert_eq!(
            (found.modules[1].size_bytes, found.modules[1].technology.as_str()),
            (128 << 30, "Optane persistent memory")
        );
        assert_eq!(found.modules.len(), 2);
        assert!(!format!("{found:?}").contains("SECRET"));
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0_usize..60) {
            let _ = parse(&bytes);
            let mut module = structure(17, &[(0x0c, &[0xff, 0x7f])], 0x54, &[0, 0]);
            module.truncate(cut);
            let _ = parse(&module);
        }
    }
}
