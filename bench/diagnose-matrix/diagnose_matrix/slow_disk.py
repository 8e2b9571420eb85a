"""A file whose reads and writes take as long as is set: what a loop device on it is, is a disk of that speed.

`slow_disk.py DIRECTORY BACKING SPEED`; serves one file, `disk`, in DIRECTORY by the FUSE protocol (kernel: include/uapi/linux/fuse.h, version
7.31), one request after another. SPEED is a file of JSON, read again for each request: `request_ms`, `write_bytes_per_s`, `read_bytes_per_s`,
`flush_ms`; what is absent takes no time. Throttles of control groups would do the same, but a watched host shows them. Prints `ready`.
"""

import ctypes
import errno
import json
import os
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20
FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET, FALLOCATE = 25, 26, 27, 29, 34, 36, 38, 42, 43
ASYNC_READ, BIG_WRITES, MAX_PAGES = 1, 1 << 5, 1 << 22
WRITE_BYTES_MAX = 1 << 20
ROOT, FILE = 1, 2


class Disk:
    def __init__(self, device, backing, speed):
        self.device, self.speed = device, speed
        self.backing = os.open(backing, os.O_RDWR)
        self.size = os.fstat(self.backing).st_size
        self.free_at = 0.0

    def takes(self, what, size=0):
        """Waits for as long as the disk needs; requests follow on each other without a gap."""
        try:
            with open(self.speed) as file:
                speed = json.load(file)
        except (OSError, json.JSONDecodeError):
            speed = {}
        seconds = speed.get("flush_ms" if what == "flush" else "request_ms", 0.0) / 1e3
        rate = speed.get(f"{what}_bytes_per_s")
        seconds += size / rate if rate else 0.0
        self.free_at = max(self.free_at, time.monotonic()) + seconds
        time.sleep(max(self.free_at - time.monotonic(), 0.0))

    def attributes(self, node):
        is_root = node == ROOT
        mode = stat.S_IFDIR | 0o755 if is_root else stat.S_IFREG | 0o600
        size = 0 if is_root else self.size
        return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """The answer's bytes; an error number; or None for no answer."""
        if opcode == INIT:
            _, minor, readahead, _ = struct.unpack_from("<4I", body)
            flags = ASYNC_READ | BIG_WRITES | MAX_PAGES
            return struct.pack("<4I2H2I2H8I", 7, min(minor, 31), readahead, flags, 64, 48, WRITE_BYTES_MAX, 1, WRITE_BYTES_MAX // 4096, 0, *[0] * 8)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"disk":
                return errno.ENOENT
            return struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + self.attributes(FILE)
        if opcode in (GETATTR, SETATTR):
            return struct.pack("<Q2I", 3600, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<Q2I", 1, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<2QI", body)
            self.takes("read", size)
            return os.pread(self.backing, size, offset)
        if opcode == WRITE:
            _, offset, size = struct.unpack_from("<2QI", body)
            self.takes("write", size)
            os.pwrite(self.backing, body[40 : 40 + size], offset)
            return struct.pack("<2I", size, 0)
        if opcode == FSYNC:
            self.takes("flush")
            return b""
        if opcode == STATFS:
            return struct.pack("<5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1000, 1000, 4096, 255, 4096, 0)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS, DESTROY, FALLOCATE):
            return b""
        return errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.device, WRITE_BYTES_MAX + 4096)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return  # unmounted
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                raise
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            answer = self.answer(opcode, node, request[40:])
            if answer is None:
                continue
            data, code = (b"", -answer) if isinstance(answer, int) else (answer, 0)
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), code, unique) + data)


def main():
    directory, backing, speed = sys.argv[1:4]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={WRITE_BYTES_MAX}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"plumb-matrix", directory.encode(), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount of {directory}")
    print("ready", flush=True)
    Disk(device, backing, speed).serve()


if __name__ == "__main__":
    main()
