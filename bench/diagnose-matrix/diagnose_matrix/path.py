"""A running path of one case: brokers, topic and clients, with what they measured themselves."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path as File

from . import host, kafka, places


class Path:
    def __init__(self, journal, case, brokers, disks, directory):
        self.journal, self.case, self.cluster, self.disks = journal, case, brokers, disks
        self.directory = File(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.topic = f"t-{uuid.uuid4().hex[:8]}"
        self.programs = []
        self.undo = []
        self.ended = threading.Event()
        self.threads = []

    @property
    def broker(self):
        """The first one: the one that is harmed."""
        return self.cluster.brokers[0]

    def create_topic(self):
        topic = self.case.topic
        self.cluster.create(self.topic, topic.partitions, topic.replicas, topic.config, [list(r) for r in topic.assignment] or None)

    def start(self, client):
        """Starts the client's processes."""
        for _ in range(client.processes):
            number = len(self.programs)
            name = f"{client.role}-{number}-{self.topic}"
            spec = client.spec()
            spec.update(
                name=name, topic=self.topic, bootstrap=self.cluster.bootstrap, package=str(places.PACKAGE),
                own_file=str(self.directory / f"own-{number}.jsonl"), statistics_file=str(self.directory / f"statistics-{number}.jsonl"),
            )
            spec["config"] = {**self.cluster.security, **client.config}
            if spec["directory"] == "DISK":
                spec["directory"] = str(self.disks[0].place)
            file = self.directory / f"client-{number}.json"
            file.write_text(json.dumps(spec, indent=1))
            log = open(self.directory / f"client-{number}.log", "w")
            argv = [*client.before, sys.executable, places.APPLICATION, file]
            process = self.journal.spawn(argv, stdout=log, stderr=log, env={**os.environ, **dict(client.environment)})
            self.programs.append((client, process, number))

    def repeat(self, work, every_s):
        """Does something again and again until the run ends, in a thread of its own."""

        def loop():
            while not self.ended.wait(every_s):
                try:
                    work()
                except Exception as error:
                    print(f"injection: {error}", flush=True)

        self.threads.append(threading.Thread(target=loop, daemon=True))
        self.threads[-1].start()

    def stop_and_go(self, pid, stopped_s, running_s):
        """Holds a process for a while, again and again: a duty cycle."""

        def cycle():
            os.kill(pid, signal.SIGSTOP)
            self.ended.wait(stopped_s)
            os.kill(pid, signal.SIGCONT)

        self.repeat(cycle, running_s)

    def stop_once(self, pid, seconds):
        """Holds a process for a while."""
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(seconds, os.kill, (pid, signal.SIGCONT)).start()

    def watched(self):
        return [(client, process, number) for client, process, number in self.programs if client.watched]

    def end(self):
        """Stops the clients; returns what each said that should have run on."""
        self.ended.set()
        for thread in self.threads:
            thread.join(5)
        broken = []
        for client, process, number in self.programs:
            if process.poll() is not None:
                log = (self.directory / f"client-{number}.log").read_text()
                broken.append(f"{client.role}-{number} ended: {log[-500:]}")
        for _, process, _ in self.programs:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for _, process, _ in self.programs:
            self.journal.stop(process, 4)
        for work in reversed(self.undo):
            work()
        return broken

    def readings(self):
        """Counters of ours at one time."""
        now = {"at": time.time(), "brokers": {}, "disks": []}
        for broker in self.cluster.brokers:
            try:
                now["brokers"][broker.id] = {"cpu_s": kafka.processor_seconds(broker.pid)}
            except OSError:
                continue  # stopped on purpose
        for disk in self.disks:
            fields = File(f"/sys/block/{disk.device.rsplit('/', 1)[1]}/stat").read_text().split()
            now["disks"].append({"read": int(fields[2]) * 512, "written": int(fields[6]) * 512, "busy_ms": int(fields[9])})
        try:
            # Replicas that should be in sync and are not.
            found = self.cluster.admin.list_topics(self.topic, timeout=3).topics[self.topic].partitions.values()
            now["out_of_sync"] = sum(len(partition.replicas) - len(partition.isrs) for partition in found)
        except Exception:
            pass  # a cluster that was harmed on purpose
        try:
            page = kafka.Page(self.broker.metrics)
            now["page"] = {"gc_ms": page.sum("java_lang_GarbageCollector_CollectionTime"), "connections": page.sum("kafka_server_socket_server_metrics_connection_creation_total")}
        except OSError:
            now["page"] = {}
        return now


class Processors:
    """What the processors do meanwhile: for us, and for others on this machine, whose work is no part of the case."""

    def __init__(self):
        self.at, self.busy_s, self.own_s = time.monotonic(), _busy_s(), float((host.OWN_PROCESSES / "cpuacct.usage").read_text()) / 1e9

    def since(self, before):
        seconds = self.at - before.at
        busy, own = (self.busy_s - before.busy_s) / seconds, (self.own_s - before.own_s) / seconds
        return {"processors_busy": busy, "processors_of_others": max(busy - own, 0.0)}


def _busy_s():
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def measured(path, before, after):
    """Means and rates of the window, of all clients of one kind together."""
    seconds = after["at"] - before["at"]
    counts, sums, gauges = {}, {}, {}
    for client, _, number in path.programs:
        try:
            lines = [json.loads(line) for line in (path.directory / f"own-{number}.jsonl").read_text().splitlines()]
        except (OSError, json.JSONDecodeError):
            continue
        inside = [line for line in lines if before["at"] <= line["at"] - line["seconds"] / 2 <= after["at"]]
        prefix = "" if client.watched else "other_"
        for name in {"produce": ["sent"], "consume": ["received"]}.get(client.role, []):
            counts.setdefault(prefix + name, 0)
        for line in inside:
            for name, number_ in line["counts"].items():
                counts[prefix + name] = counts.get(prefix + name, 0) + number_
            for name, one in line["sums"].items():
                total = sums.setdefault(prefix + name, [0.0, 0, 0.0])
                total[0] += one["total"]
                total[1] += one["number"]
                total[2] = max(total[2], one["most"])
        acknowledged = [line["gauges"]["acknowledged"] for line in inside if "acknowledged" in line["gauges"]]
        if len(acknowledged) > 1:
            span = inside[-1]["at"] - inside[0]["at"]
            gauges["acknowledged_per_s"] = gauges.get("acknowledged_per_s", 0.0) + (acknowledged[-1] - acknowledged[0]) / span
    figures = {f"{name}_per_s": number / seconds for name, number in counts.items()}
    figures.update({name: total / number for name, (total, number, _) in sums.items() if number})
    figures.update({f"{name.removesuffix('_ms')}_most_ms": most for name, (_, _, most) in sums.items()})
    figures.update(gauges)
    for one in before["brokers"]:
        if one in after["brokers"]:
            figures[f"broker{one}_processors"] = (after["brokers"][one]["cpu_s"] - before["brokers"][one]["cpu_s"]) / seconds
    moved = counts.get("sent_bytes", 0) + counts.get("received_bytes", 0)
    if moved and "broker1_processors" in figures:
        figures["broker1_cpu_ms_per_mb"] = figures["broker1_processors"] * 1e3 / (moved / seconds / 1e6)
    for number, (a, b) in enumerate(zip(before["disks"], after["disks"])):
        figures[f"disk{number}_read_mb_per_s"] = (b["read"] - a["read"]) / seconds / 1e6
        figures[f"disk{number}_written_mb_per_s"] = (b["written"] - a["written"]) / seconds / 1e6
        figures[f"disk{number}_busy"] = (b["busy_ms"] - a["busy_ms"]) / seconds / 1e3
    grown = {name: after["page"][name] - before["page"][name] for name in after["page"] if before["page"].get(name) is not None and after["page"][name] is not None}
    if "out_of_sync" in after:
        figures["out_of_sync"] = after["out_of_sync"]
    if "gc_ms" in grown:
        figures["gc_share"] = grown["gc_ms"] / seconds / 1e3
    if "connections" in grown:
        figures["connections_per_s"] = grown["connections"] / seconds
    if figures.get("acknowledge_ms") is not None and figures.get("end_to_end_ms") is not None:
        figures["delivery_ms"] = figures["end_to_end_ms"] - figures["acknowledge_ms"]
    if sums.get("end_to_end_ms"):
        figures["negative_share"] = counts.get("negative", 0) / sums["end_to_end_ms"][1]
    if figures.get("received_per_s") is not None and figures.get("sent_per_s"):
        figures["received_share"] = figures["received_per_s"] / figures["sent_per_s"]
    return figures


def injected(shows, figures, reference):
    """Each sign with what was measured, and whether it is there."""
    signs = []
    for sign in shows:
        value, usual = figures.get(sign.measure), (reference or {}).get(sign.measure)
        there = value is not None
        if there and sign.at_least is not None:
            there = value >= sign.at_least
        if there and sign.at_most is not None:
            there = value <= sign.at_most
        for limit, holds in ((sign.times_min, lambda a, b: a >= b), (sign.times_max, lambda a, b: a <= b)):
            if there and limit is not None:
                there = usual is not None and usual > 0 and holds(value / usual, limit)
        wanted = {key: limit for key, limit in vars(sign).items() if limit is not None and key != "measure"}
        signs.append({"measure": sign.measure, "value": value, "without": usual, "wanted": wanted, "there": there})
    return signs
