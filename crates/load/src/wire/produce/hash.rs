//! The partition of a record with a key: the hashes of the two families of clients.

use super::super::settings::Partitioner;

/// The partition of a key.
pub(super) fn partition(partitioner: Partitioner, key: &[u8], partitions: usize) -> usize {
    match partitioner {
        Partitioner::Crc32 => crc32(key) as usize % partitions,
        Partitioner::Murmur2 => (murmur2(key) & 0x7FFF_FFFF) as usize % partitions,
    }
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC-32 (ISO-HDLC) of a key, as librdkafka's `consistent` partitioner takes it.
fn crc32(key: &[u8]) -> u32 {
    !key.iter().fold(u32::MAX, |crc, byte| (crc >> 8) ^ CRC_TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize])
}

/// MurmurHash2 with the seed of the Java client's partitioner.
fn murmur2(key: &[u8]) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let mut hash = 0x9747_B28C ^ key.len() as u32;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (place, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_clients() {
        // Kafka's own test vectors (Utils.murmur2) and the CRC catalogue's check value.
        assert_eq!(murmur2(b"21") as i32, -973_932_308);
        assert_eq!(murmur2(b"foobar") as i32, -790_332_482);
        assert_eq!(murmur2(b"a-little-bit-long-string") as i32, -985_981_536);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
