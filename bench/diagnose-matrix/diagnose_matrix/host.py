"""Changes of this host, each with its undo in the journal first: control groups (version 1), disks on loop devices, a long network path."""

import ctypes
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

from . import places

CGROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


def run(*argv):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip()}")
    return done.stdout.strip()


def missing():
    """What this host lacks for the faults that need root; empty when all is there."""
    lacks = []
    if os.geteuid() != 0:
        lacks.append("root")
    for what, path in [
        ("control groups version 1 with cpu quotas", CGROUPS / "cpu" / "cpu.cfs_quota_us"),
        ("control groups version 1 with blkio throttles", CGROUPS / "blkio" / "blkio.throttle.write_bps_device"),
        ("/dev/net/tun", Path("/dev/net/tun")),
        ("loop devices", Path("/dev/loop-control")),
    ]:
        if not path.exists():
            lacks.append(what)
    return lacks


# All that a run starts, brokers and clients and plumb, so that the processor time of others is known.
OWN_PROCESSES = CGROUPS / "cpuacct" / "plumb-matrix-own"
# The kernel's largest number of shares (cpu.shares, customary 1,024): builds that go on beside a run get what it leaves.
SHARES = 262_144


# The time for which a thread of a run may keep a processor to itself (0.1 to 100 ms, customary 3 ms): who wants less is let in sooner
# (kernel: sched_setattr(2), sched_runtime of SCHED_OTHER since 6.12), so that a broker's threads need not wait for those builds.
SLICE_NS = 100_000
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}


def short_slice(slice_ns):
    """Of this process and the children that it will have; nothing where the kernel does not know it."""
    number = _SCHED_SETATTR.get(os.uname().machine)
    # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period.
    words = struct.pack("<IIQiIQQQ", 48, 0, 0, 0, 0, slice_ns, 0, 0)
    if number is not None:
        ctypes.CDLL(None, use_errno=True).syscall(number, 0, words, 0)


def set_apart(journal):
    """From here on this process and its children are counted together and come before others of this machine."""
    short_slice(SLICE_NS)
    for controller in ("cpuacct", "cpu"):
        group = Group(journal, controller, Group.OWN)
        group.take(os.getpid())
    group.set("cpu.shares", SHARES)


class Group:
    """A control group of one controller with processes in it."""

    OWN = "plumb-matrix-own"

    def __init__(self, journal, controller, name):
        self.path = CGROUPS / controller / name
        # A group with a process in it cannot be removed, and the process may be one that stays.
        journal.undo("sh", "-c", f"while read p; do echo $p > {self.path.parent}/cgroup.procs; done < {self.path}/cgroup.procs; rmdir {self.path}")
        self.path.mkdir(exist_ok=True)

    def set(self, key, value):
        (self.path / key).write_text(str(value))

    def take(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))


def cpu_quota(journal, name, pid, cpus):
    """Holds a process and all its threads to so many processors."""
    group = Group(journal, "cpu", f"{Group.OWN}/{name}")
    group.set("cpu.cfs_period_us", PERIOD_US)
    group.set("cpu.cfs_quota_us", int(cpus * PERIOD_US))
    group.take(pid)
    return group


class Disk:
    """An ext4 of its own on a loop device. Its speed can be set: then it lies on a file that is as slow as is wanted (`slow_disk.py`). With
    `journal_of_data`, what is written goes through its journal, a small one."""

    def __init__(self, journal, directory, mib=3000, settable=False, journal_of_data=False):
        self.journal = journal
        self.place = Path(directory)
        image = self.place.with_suffix(".img")
        journal.undo("rm", "-rf", image, self.place)
        self.place.mkdir(parents=True)
        run("truncate", "-s", f"{mib}M", image)
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", *(["-J", "size=8"] if journal_of_data else []), image)
        if settable:
            image = self._slow_file(image)
        # Asked when it is put back: another run may have the device by then.
        journal.undo("sh", "-c", f"d=$(losetup -n -O NAME -j {image}); [ -z \"$d\" ] || losetup -d $d")
        self.device = run("losetup", "--find", "--show", "--direct-io=on", image)
        self.number = Path(f"/sys/block/{self.device.rsplit('/', 1)[1]}/dev").read_text().strip()
        journal.undo("umount", "--lazy", self.place)
        run("mount", *(["-o", "data=journal"] if journal_of_data else []), self.device, self.place)

    def _slow_file(self, image):
        directory = self.place.with_suffix(".fuse")
        self.speed_file = self.place.with_suffix(".speed")
        self.journal.undo("rm", "-rf", directory, self.speed_file)
        directory.mkdir()
        # What still waits for it is told that it is gone.
        self.journal.undo("umount", "--lazy", directory)
        words = [sys.executable, "-m", "diagnose_matrix.slow_disk", directory, image, self.speed_file]
        served = self.journal.spawn(words, cwd=places.PACKAGE, stdout=subprocess.PIPE, text=True)
        if served.stdout.readline() != "ready\n":
            raise RuntimeError("the slow file did not come up")
        return directory / "disk"

    def speed(self, **limits):
        """`request_ms`, `flush_ms`, `write_bytes_per_s`, `read_bytes_per_s` from here on; of a disk whose speed can be set."""
        temporary = self.speed_file.with_suffix(".new")
        temporary.write_text(json.dumps(limits))
        temporary.rename(self.speed_file)

    def limit(self, **limits):
        """`write_bps`, `write_iops`, `read_bps`: of all processes, as the topmost control group has them. Version 1 holds no other group's
        buffered writes back: the kernel's own threads write them."""
        for what, value in limits.items():
            path = CGROUPS / "blkio" / f"blkio.throttle.{what}_device"
            self.journal.write(path, f"{self.number} {value}", f"{self.number} 0")

    def dirty_bytes_max(self, value):
        """A limit of dirty pages of this device alone: who writes more is held back in balance_dirty_pages."""
        bdi = Path(f"/sys/class/bdi/{self.number}")
        # What max_bytes says cannot be written to it again.
        self.journal.undo("sh", "-c", f"echo 0 > {bdi}/strict_limit; echo 100 > {bdi}/max_ratio")
        (bdi / "max_bytes").write_text(str(value))
        (bdi / "strict_limit").write_text("1")


def forget_pages(directory):
    """Writes out the files of a directory and drops them from the page cache; of no other file."""
    for path in Path(directory).rglob("*"):
        if path.is_file() and path.suffix in (".log", ".index", ".timeindex"):
            with open(path, "rb") as file:
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Far:
    """A network namespace behind a path with delay, loss and a rate: `far_address` from here, `near_address` from there. A second, short way
    leads to `short_address` for what is no part of the path (metrics)."""

    near_address, far_address = "10.207.1.1", "10.207.1.2"
    short_near, short_address = "10.207.2.1", "10.207.2.2"

    def __init__(self, journal, delay_ms=0.0, loss=0.0, bytes_per_s=0, mtu=1500):
        self.name = "plumb-matrix"
        journal.undo("ip", "netns", "delete", self.name)
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")
        journal.undo("ip", "link", "delete", "plumbm0")
        run("ip", "link", "add", "plumbm0", "type", "veth", "peer", "name", "plumbm1", "netns", self.name)
        run("ip", "addr", "add", f"{self.short_near}/30", "dev", "plumbm0")
        run("ip", "link", "set", "plumbm0", "up")
        run("ip", "-n", self.name, "addr", "add", f"{self.short_address}/30", "dev", "plumbm1")
        run("ip", "-n", self.name, "link", "set", "plumbm1", "up")
        words = [self.name, self.near_address, self.far_address, mtu, delay_ms, loss, bytes_per_s]
        self.router = journal.spawn(
            [sys.executable, "-m", "diagnose_matrix.router", *words], cwd=places.PACKAGE, stdout=subprocess.PIPE, text=True
        )
        if self.router.stdout.readline() != "ready\n":
            raise RuntimeError("the long path did not come up")

    def within(self, argv):
        """The command in the namespace."""
        return ["ip", "netns", "exec", self.name, *argv]
