"""A network path with delay, loss and a rate between this namespace and another, where the kernel has no netem: packets go through here.

`router.py NAMESPACE NEAR FAR MTU DELAY_MS LOSS BYTES_PER_S`; the delay is of one direction, the loss of both. Prints `ready`.
"""

import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
# A router's buffer: what waits for the rate beyond this is dropped.
QUEUE_S_MAX = 0.1


def interface(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def up(name, own, other, mtu):
    for words in (["addr", "add", own, "peer", other, "dev", name], ["link", "set", name, "mtu", mtu, "up", "txqueuelen", "5000"]):
        subprocess.run(["ip", *words], check=True)


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


class Direction:
    def __init__(self, source, sink, delay_s, loss, bytes_per_s):
        self.source, self.sink = source, sink
        self.delay_s, self.loss, self.bytes_per_s = delay_s, loss, bytes_per_s
        self.waiting = collections.deque()
        self.free_at = 0.0

    def take(self, now):
        """Reads what is there, and lets each packet wait for as long as it is under way."""
        for _ in range(64):
            try:
                packet = os.read(self.source, 65_536)
            except BlockingIOError:
                return
            if self.loss and random.random() < self.loss:
                continue
            sent_at = now
            if self.bytes_per_s:
                if self.free_at - now > QUEUE_S_MAX:
                    continue
                sent_at = self.free_at = max(self.free_at, now) + len(packet) / self.bytes_per_s
            self.waiting.append((sent_at + self.delay_s, packet))

    def give(self, now):
        """Hands on what has arrived; the time of the next one."""
        while self.waiting and self.waiting[0][0] <= now:
            try:
                os.write(self.sink, self.waiting[0][1])
            except BlockingIOError:
                pass  # a full queue of an interface drops
            self.waiting.popleft()
        return self.waiting[0][0] if self.waiting else None


def main():
    namespace, near, far, mtu = sys.argv[1:5]
    delay_ms, loss, bytes_per_s = (float(word) for word in sys.argv[5:8])
    random.seed(1)
    here = interface("plumbt0")
    up("plumbt0", near, far, mtu)
    enter(namespace)
    there = interface("plumbt1")
    up("plumbt1", far, near, mtu)
    directions = [Direction(a, b, delay_ms / 1e3, loss, bytes_per_s) for a, b in ((here, there), (there, here))]
    print("ready", flush=True)
    while True:
        now = time.monotonic()
        due = [at for at in (direction.give(now) for direction in directions) if at is not None]
        wait = max(min(due) - time.monotonic(), 0) if due else 1.0
        readable, _, _ = select.select([here, there], [], [], wait)
        now = time.monotonic()
        for direction in directions:
            if direction.source in readable:
                direction.take(now)


if __name__ == "__main__":
    main()
