"""A series of runs: their order, what is there already, brokers that runs share, and one run from start to end."""

import contextlib
import fcntl
import hashlib
import json
import random
import shutil
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path as File

from . import host, kafka, plumb
from .case import HEALTHY, Client
from .path import Path, Processors, injected, measured

# Runs that share brokers before these are started anew: logs grow, and a JVM is one sample only.
SHARED_MOST = 6
REFERENCE_S = 6.0
# A broker that has just started runs in its interpreter.
WARMING = Client(rate=20_000, size=500)
WARMING_S = 8.0


@dataclass(frozen=True)
class Task:
    case: object
    repeat: int

    @property
    def name(self):
        return f"{self.case.id}.{self.repeat}"


def ordered(cases, repeats, seed):
    """Each repeat has all cases in another order, those that can share brokers in small groups."""
    draw = random.Random(seed)
    order = []
    for repeat in range(1, repeats + 1):
        groups = {}
        for case in cases:
            key = case.cluster if case.cluster.shared else case.id
            groups.setdefault(key, []).append(Task(case, repeat))
        parts = []
        for tasks in groups.values():
            draw.shuffle(tasks)
            parts += [tasks[at : at + SHARED_MOST] for at in range(0, len(tasks), SHARED_MOST)]
        draw.shuffle(parts)
        order += [task for part in parts for task in part]
    return order


class Series:
    def __init__(self, journal, results, lock=None, dry=False):
        self.journal, self.results, self.lock, self.dry = journal, File(results), lock, dry
        self.runs = self.results / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        self.brokers = self.disks = self.cluster_mark = self.cluster = None
        self.statistics = not dry and plumb.knows_statistics()
        self.version = None if dry else plumb.version()

    def there(self, again):
        """Names of runs that are complete. Those that did not come out as meant are removed where they shall be run again."""
        names = set()
        for file in self.runs.glob("*/truth.json"):
            truth = json.loads(file.read_text())
            if again and (truth["broken"] or not truth["injected"]):
                shutil.rmtree(file.parent)
            else:
                names.add(truth["run"])
        return names

    def run(self, tasks, again=False):
        done = self.there(again)
        tasks = [task for task in tasks if task.name not in done]
        number = max([int(directory.name.split("-")[0]) for directory in self.runs.iterdir() if directory.name[0].isdigit()] or [0])
        took = []
        for place, task in enumerate(tasks):
            left = (sum(took) / len(took) if took else 25.0) * (len(tasks) - place)
            begun = time.monotonic()
            number += 1
            with self._alone():
                outcome = self._one(task, number)
            took.append(time.monotonic() - begun)
            print(f"{place + 1}/{len(tasks)} {task.name}: {outcome} ({took[-1]:.0f} s; about {left / 60:.0f} min left)", flush=True)
        self.close()

    @contextlib.contextmanager
    def _alone(self):
        """Holds a lock that others who measure on this machine hold as well. Brokers do not outlive it."""
        if not self.lock:
            yield
            return
        with open(self.lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _one(self, task, number):
        directory = self.runs / f"{number:04d}-{task.name}"
        case = task.case
        try:
            reference = self.reference(case) if case.kind != HEALTHY else None
            result = self.measure(case, directory, case.window_s)
        except (Exception, KeyboardInterrupt) as error:
            shutil.rmtree(directory, ignore_errors=True)
            self.close()
            if isinstance(error, KeyboardInterrupt):
                raise
            failed = self.results / "failed"
            failed.mkdir(exist_ok=True)
            (failed / f"{number:04d}-{task.name}.txt").write_text(traceback.format_exc())
            return f"failed: {str(error)[:300]}"
        signs = injected(case.shows, result["figures"], reference)
        truth = {
            "run": task.name, "case": case.id, "number": number, "repeat": task.repeat, "kind": case.kind, "is": case.is_,
            "expected": case.expected, "accepted": case.accepted, "not_first": case.not_first,
            "injected": all(sign["there"] for sign in signs), "signs": signs, "figures": result["figures"],
            "broken": result["broken"], "exit_code": result["exit_code"], "program": self.version, "program_sha256": self.digest(),
            "cluster": asdict(case.cluster), "warm_up_s": case.warm_up_s, "window_s": case.window_s, "at": time.time(),
        }
        temporary = directory / "truth.new"
        temporary.write_text(json.dumps(truth, indent=1))
        temporary.rename(directory / "truth.json")
        said = diagnosed(directory) if not self.dry else ""
        return ("" if truth["injected"] else "NOT INJECTED ") + said + (f" {signs_text(signs)}" if signs else "") + (f" BROKEN {result['broken']}" if result["broken"] else "")

    def digest(self):
        if self.dry:
            return None
        if not hasattr(self, "_digest"):
            self._digest = hashlib.sha256(plumb.places.plumb().read_bytes()).hexdigest()[:16]
        return self._digest

    def reference(self, case):
        """The figures of the path without its fault: measured once for all runs of a results directory."""
        plain = case.unfaulted()
        words = repr((plain.cluster, plain.topic, plain.clients, plain.prepare and plain.prepare.__name__, plain.warm_up_s))
        file = self.results / "without" / f"{hashlib.sha256(words.encode()).hexdigest()[:12]}.json"
        if file.exists():
            return json.loads(file.read_text())["figures"]
        directory = file.parent / file.stem
        # Of a measurement that was stopped.
        shutil.rmtree(directory, ignore_errors=True)
        result = self.measure(plain, directory, REFERENCE_S, watch=False)
        file.write_text(json.dumps({"path": words, "figures": result["figures"], "broken": result["broken"]}, indent=1))
        shutil.rmtree(directory, ignore_errors=True)
        return result["figures"]

    def measure(self, case, directory, window_s, watch=True):
        """One run of a path, watched by plumb or for so long."""
        directory.mkdir(parents=True)
        self.have(case.cluster)
        mark = self.journal.mark()
        path = Path(self.journal, case, self.brokers, self.disks, directory)
        watch = watch and not self.dry
        with open(directory / "run.log", "w") as log:
            try:
                path.create_topic()
                if case.prepare:
                    case.prepare(path)
                for client in case.clients:
                    path.start(client)
                if case.inject:
                    case.inject(path)
                time.sleep(case.warm_up_s)
                processors, before = Processors(), path.readings()
                exit_code = None
                if watch:
                    exit_code = plumb.diagnose(path, directory / "document", window_s, log, self.statistics)
                    after_s = time.time() - before["at"]
                    log.write(f"plumb took {after_s:.1f} s, exit code {exit_code}\n")
                else:
                    time.sleep(window_s)
                after, used = path.readings(), Processors().since(processors)
            finally:
                broken = path.end()
                if case.cluster.shared and self.brokers:
                    self.brokers.delete(path.topic)
                self.journal.restore(mark)
                if not case.cluster.shared:
                    self.close()
            figures = measured(path, before, after)
            figures.update(used)
            log.write(json.dumps(figures, indent=1) + "\n" + "\n".join(broken) + "\n")
        return {"figures": figures, "broken": broken, "exit_code": exit_code}

    def have(self, cluster):
        """Brokers as wanted: those that run already, where they are shared."""
        self.uses = getattr(self, "uses", 0) + 1
        if self.cluster == cluster and cluster.shared and self.uses <= 2 * SHARED_MOST and self.brokers and all(b.process.poll() is None for b in self.brokers.brokers):
            return
        self.close()
        kafka.make_archive(self.journal)
        self.cluster_mark = self.journal.mark()
        self.uses = 1
        self.disks = [host.Disk(self.journal, kafka.places.OWN / "disks" / str(number), settable=cluster.disks_settable, journal_of_data=cluster.disks_journal_data) for number in range(cluster.disks)]
        self.brokers = kafka.Brokers(self.journal, cluster, [disk.place / "logs" for disk in self.disks])
        self.cluster = cluster
        self.warm()

    def warm(self):
        from .case import Case, Topic

        case = Case("warming", "healthy", topic=Topic(replicas=1), clients=(WARMING,))
        directory = self.results / "warming"
        shutil.rmtree(directory, ignore_errors=True)
        path = Path(self.journal, case, self.brokers, [], directory)
        path.create_topic()
        path.start(WARMING)
        time.sleep(WARMING_S)
        path.end()
        self.brokers.delete(path.topic)

    def close(self):
        """Stops the brokers that still run."""
        if self.cluster_mark is not None:
            self.journal.restore(self.cluster_mark)
        self.brokers = self.cluster_mark = self.cluster = None
        self.disks = []


def signs_text(signs):
    def figure(value):
        return "absent" if value is None else f"{value:.3g}"

    return "[" + "; ".join(f"{s['measure']} {figure(s['value'])} (without {figure(s['without'])})" for s in signs) + "]"


def diagnosed(directory):
    diagnosis = plumb.diagnosis_of(directory)
    if diagnosis is None:
        return "no document"
    names = [f"{finding['id']}:{finding.get('confidence')}" for finding in diagnosis["findings"]]
    return f"{diagnosis['verdict']} {' '.join(names[:4])}"
