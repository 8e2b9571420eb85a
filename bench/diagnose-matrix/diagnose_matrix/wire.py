"""The few Kafka requests that no client library offers, or that have to cost nothing: as bytes.

Versions are the last ones before the compact encodings (https://kafka.apache.org/protocol), except where there is none.
"""

import socket
import struct


def _string(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _framed(key, version, body, flexible=False):
    header = struct.pack(">hhi", key, version, 1) + _string("raw") + (b"\0" if flexible else b"")
    return struct.pack(">i", len(header) + len(body)) + header + body


def crc32c(data):
    """CRC-32C (Castagnoli), bit by bit: for a batch that is made once."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _varint(value):
    value = (value << 1) ^ (value >> 31)
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def record_batch(value):
    """A batch (magic 2) of one record."""
    record = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    record = _varint(len(record)) + record
    rest = struct.pack(">hiqqqhii", 0, 0, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, 1) + record
    checked = struct.pack(">ibI", 0, 2, crc32c(rest)) + rest
    return struct.pack(">qi", 0, len(checked)) + checked


def produce(topic, size, partition):
    """Produce, version 7, acks=1, one record."""
    batch = record_batch(b"x" * size)
    body = struct.pack(">hhii", -1, 1, 30_000, 1) + _string(topic)
    body += struct.pack(">iii", 1, partition, len(batch)) + batch
    return _framed(0, 7, body)


def metadata(topic, _size, _partition):
    """Metadata of one topic, version 4."""
    return _framed(3, 4, struct.pack(">i", 1) + _string(topic) + b"\0")


def fetch(topic, size, partition):
    """Fetch from the beginning of a partition, version 4: up to so many bytes."""
    body = struct.pack(">iiiibi", -1, 500, 1, size, 0, 1) + _string(topic)
    return _framed(1, 4, body + struct.pack(">iiqi", 1, partition, 0, size))


def offset_commit(topic, size, _partition):
    """OffsetCommit of a group without members for so many partitions, version 2."""
    body = _string(f"raw-{topic}") + struct.pack(">i", -1) + _string("") + struct.pack(">qi", -1, 1) + _string(topic)
    body += struct.pack(">i", size) + b"".join(struct.pack(">iq", partition, 1) + _string("") for partition in range(size))
    return _framed(8, 2, body)


def client_quota(client_id, key, value):
    """AlterClientQuotas of one client id, version 0."""
    body = struct.pack(">ii", 1, 1) + _string("client-id") + _string(client_id)
    body += struct.pack(">i", 1) + _string(key) + struct.pack(">d?", value, value is None) + b"\0"
    return _framed(49, 0, body)


def reassign(topic, replicas_by_partition):
    """AlterPartitionReassignments, version 0 (compact encodings from the start)."""

    def compact(data):
        return bytes([len(data) + 1])

    partitions = b""
    for partition, replicas in replicas_by_partition.items():
        partitions += struct.pack(">i", partition) + compact(replicas)
        partitions += b"".join(struct.pack(">i", replica) for replica in replicas) + b"\0"
    name = topic.encode()
    body = struct.pack(">i", 30_000) + b"\x02" + compact(name) + name + compact(replicas_by_partition) + partitions + b"\0\0"
    return _framed(45, 0, body, flexible=True)


def ask(bootstrap, request):
    """Sends one request and returns the answer's bytes after its correlation id."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request)
        file = connection.makefile("rb")
        (length,) = struct.unpack(">i", file.read(4))
        return file.read(length)[4:]
