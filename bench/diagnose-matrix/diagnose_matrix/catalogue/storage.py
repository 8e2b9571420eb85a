"""Faults of log and device. Disks are ext4 file systems of their own on loop devices."""

from ..case import Client, Shows, Topic, fault
from ..host import forget_pages
from ..kafka import Cluster
from ..path import Path

DISK = Cluster(disks=1, shared=False)
TWO_DISKS = Cluster(disks=2, shared=False)
WRITER = Client(rate=15_000, size=1_000, payload="random", config={"linger.ms": 10, "acks": "1"})
LIGHT = Client(rate=300, size=500, config={"linger.ms": 2, "acks": "1"})
SMALL_DIRTY = 16 << 20


def throttled(path: Path):
    """The control group may write 8 MB/s to the device."""
    path.disks[0].limit(write_bps=8_000_000)
    path.disks[0].dirty_bytes_max(SMALL_DIRTY)


def slow_devices(path: Path):
    """The device itself takes 8 MB/s."""
    for disk in path.disks:
        disk.speed(write_bytes_per_s=8_000_000)
        disk.dirty_bytes_max(SMALL_DIRTY)


def few_dirty_pages(path: Path):
    """Pages may be dirty for 2 MB only, on a device of 25 MB/s."""
    path.disks[0].speed(write_bytes_per_s=25_000_000)
    path.disks[0].dirty_bytes_max(2 << 20)


def slow_flush(path: Path):
    """A flush takes 4 ms, as that of a good solid-state disk without a protected cache."""
    path.disks[0].speed(request_ms=0.2, flush_ms=4)


def slow_requests(path: Path):
    """A disk that turns: 12 ms a request."""
    path.disks[0].speed(request_ms=12, flush_ms=12)


def unread_log(path: Path):
    """A log of some hundred MB that is in no page cache, on a device that reads 30 MB/s."""
    import time

    path.start(Client(rate=None, size=20_000, payload="random", config={"linger.ms": 10, "acks": "1"}, watched=False))
    time.sleep(3)
    _, writer, _ = path.programs.pop()
    path.journal.stop(writer, 4)
    forget_pages(path.disks[0].place)
    path.disks[0].speed(read_bytes_per_s=30_000_000)


def hot_partitions_on_one_disk(path: Path):
    """Topics of one partition go to the emptier directory in turn: every other one is the busy one."""
    path.topic = path.topic + "-hot"
    path.cluster.create(path.topic, 1, 1)


CASES = [
    fault(
        "flush-forced",
        id="flush-forced-full",
        is_="the topic is flushed after each message, and more is sent than the device can flush",
        cluster=DISK,
        topic=Topic(partitions=2, config=(("flush.messages", "1"),)),
        prepare=slow_flush,
        clients=(Client(rate=300, size=500, config={"linger.ms": 2, "acks": "1"}),),
        without={"topic": Topic(partitions=2), "prepare": None, "cluster": Cluster()},
        shows=(Shows("acknowledge_ms", times_min=2),),
        not_first=("device-saturated", "handlers-blocked", "journal-commits", "socket-buffers-small"),
    ),
    fault(
        "flush-forced",
        is_="the topic is flushed after each message, on a device that flushes in 4 ms",
        cluster=DISK,
        topic=Topic(partitions=2, config=(("flush.messages", "1"),)),
        prepare=slow_flush,
        clients=(Client(rate=15, size=500, config={"linger.ms": 2, "acks": "1"}),),
        without={"topic": Topic(partitions=2), "prepare": None, "cluster": Cluster()},
        shows=(Shows("acknowledge_ms", times_min=2),),
        not_first=("device-saturated", "handlers-blocked", "journal-commits"),
    ),
    fault(
        "device-throttled",
        is_="the control group may write 8 MB/s and is sent 15 MB/s",
        cluster=Cluster(disks=1, disks_settable=False, shared=False),
        clients=(WRITER,),
        inject=throttled,
        shows=(Shows("acknowledge_ms", times_min=5), Shows("disk0_written_mb_per_s", at_most=9)),
        without={"cluster": Cluster()},
        not_first=("handlers-blocked", "handlers-saturated", "buffer-exhausted", "device-saturated"),
        warm_up_s=6.0,
    ),
    fault(
        "device-saturated",
        is_="the device writes 8 MB/s and is sent 15 MB/s",
        cluster=DISK,
        clients=(WRITER,),
        inject=slow_devices,
        shows=(Shows("acknowledge_ms", times_min=5), Shows("disk0_busy", at_least=0.8)),
        without={"cluster": Cluster()},
        accepted={"dirty-page-throttling": "who writes to a device that is full is held back where pages become dirty"},
        not_first=("handlers-blocked", "handlers-saturated", "buffer-exhausted"),
        warm_up_s=6.0,
    ),
    fault(
        "dirty-page-throttling",
        is_="2 MB of pages of the device may be dirty; bursts of 8 MB come, on average half of what the device takes",
        cluster=DISK,
        clients=(Client(rate=12_000, burst=12_000, size=1_000, payload="random", config={"linger.ms": 10, "acks": "1", "queue.buffering.max.messages": 1_000_000}),),
        inject=few_dirty_pages,
        shows=(Shows("acknowledge_ms", times_min=2),),
        without={"cluster": Cluster()},
        not_first=("handlers-blocked", "buffer-exhausted"),
        warm_up_s=6.0,
    ),
    fault(
        "journal-commits",
        is_="the file system has all data go through its journal, and another program appends and syncs there, on a disk of 12 ms a request",
        cluster=Cluster(disks=1, disks_journal_data=True, shared=False),
        clients=(
            Client(rate=1_000, size=1_000, payload="random", config={"linger.ms": 5, "acks": "1"}),
            Client(role="sync", rate=None, size=500_000, processes=2, watched=False, directory="DISK"),
        ),
        inject=slow_requests,
        shows=(Shows("acknowledge_ms", times_min=2), Shows("other_fsync_ms", at_least=5)),
        without={"cluster": Cluster(), "clients": (Client(rate=1_000, size=1_000, payload="random", config={"linger.ms": 5, "acks": "1"}),)},
        accepted={"device-saturated": "the device does as many writes as it can"},
        not_first=("flush-forced", "handlers-blocked"),
    ),
    fault(
        "cold-reads",
        is_="consumers read a log from its beginning that is in no page cache, at 30 MB/s, while a producer sends",
        cluster=DISK,
        prepare=unread_log,
        clients=(LIGHT, Client(role="consume", from_="earliest", processes=2, group="replay", take=50)),
        shows=(Shows("disk0_read_mb_per_s", at_least=10),),
        not_first=("network-threads-saturated", "consumer-slow", "device-saturated"),
    ),
    fault(
        "log-directories-uneven",
        is_="two disks of 8 MB/s, and all that is sent goes to one of them",
        cluster=TWO_DISKS,
        prepare=hot_partitions_on_one_disk,
        clients=(WRITER,),
        inject=slow_devices,
        shows=(Shows("acknowledge_ms", times_min=5),),
        without={"cluster": Cluster(), "prepare": None},
        accepted={"device-saturated": "the one disk is full"},
        not_first=("handlers-blocked", "handlers-saturated", "buffer-exhausted"),
        warm_up_s=6.0,
    ),
]
