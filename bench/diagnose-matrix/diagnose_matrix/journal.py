"""What was started or changed on this host, written down before it is done, and put back in reverse order.

A run that is killed leaves its journal behind; the next call of any kind puts things back first. Processes are stopped by pid and only while
the start time fits: the number may have been given to another process meanwhile.
"""

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import time

from . import places

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def start_time(pid):
    """The process's start in clock ticks; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


class Journal:
    """One harness at a time has it."""

    def __init__(self):
        places.STATE.mkdir(parents=True, exist_ok=True)
        self.lock = open(places.STATE / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("another run of the matrix is under way") from None
        self.path = places.STATE / "journal.jsonl"
        self.children = {}
        self.restore(0)
        self.file = open(self.path, "a")

    def _lines(self):
        try:
            with open(self.path) as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except json.JSONDecodeError:
                pass  # the last line of a run that was killed while it wrote
        return entries

    def _add(self, entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()

    def mark(self):
        """A place to which `restore` can go back."""
        return len(self._lines())

    def spawn(self, argv, **options):
        """Starts a process that ends with this one at the latest."""
        child = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent, **options)
        self.children[child.pid] = child
        self._add({"kind": "process", "pid": child.pid, "start": start_time(child.pid), "argv": str(argv[0])})
        return child

    def undo(self, *argv):
        """A command that puts back what is about to be done."""
        self._add({"kind": "command", "argv": [str(word) for word in argv]})

    def write(self, path, value, back):
        """Writes a setting of the kernel's, and says what puts it back."""
        self._add({"kind": "setting", "path": str(path), "value": str(back)})
        with open(path, "w") as file:
            file.write(str(value))

    def stop(self, child, seconds=8.0):
        """Ends a process of ours, gently at first."""
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
            child.terminate()
            try:
                child.wait(seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.children.pop(child.pid, None)

    def restore(self, mark):
        """Puts back everything that was done since the mark."""
        entries = self._lines()
        for entry in reversed(entries[mark:]):
            self._put_back(entry)
        kept = entries[:mark]
        temporary = self.path.with_suffix(".new")
        with open(temporary, "w") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in kept)
        os.replace(temporary, self.path)
        self.file = open(self.path, "a")

    def _put_back(self, entry):
        if entry["kind"] == "process":
            child = self.children.get(entry["pid"])
            if child is not None:
                self.stop(child)
            elif entry["start"] is not None and start_time(entry["pid"]) == entry["start"]:
                os.kill(entry["pid"], signal.SIGKILL)
                _wait_gone(entry["pid"], entry["start"])
        elif entry["kind"] == "command":
            _retried(entry["argv"])
        elif entry["kind"] == "setting":
            try:
                with open(entry["path"], "w") as file:
                    file.write(entry["value"])
            except FileNotFoundError:
                pass  # went with what it was a setting of
            except OSError as error:
                print(f"could not put back: {entry['value']} in {entry['path']}: {error}")


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_gone(pid, start):
    deadline = time.monotonic() + 5
    while start_time(pid) == start and time.monotonic() < deadline:
        time.sleep(0.02)


def _retried(argv):
    """A file system or a control group is in use for a moment after its last process ended."""
    for attempt in range(20):
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0 or "No such" in done.stderr or "not mounted" in done.stderr or "not found" in done.stderr:
            return
        time.sleep(0.1 if attempt < 10 else 0.5)
    print(f"could not put back: {' '.join(argv)}: {done.stderr.strip()}")
