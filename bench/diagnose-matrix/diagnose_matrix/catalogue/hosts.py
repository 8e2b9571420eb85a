"""Faults of the broker's host."""

from ..case import Client, Shows, fault
from ..host import cpu_quota
from ..kafka import Cluster

STEADY = Client(rate=3_000, size=1_000, config={"linger.ms": 5, "acks": "1"})

CASES = [
    fault(
        "cpu-quota",
        is_="the broker's control group gives it a sixth of a processor",
        cluster=Cluster(shared=False),
        clients=(STEADY,),
        inject=lambda path: cpu_quota(path.journal, "broker", path.broker.pid, 0.16),
        shows=(Shows("acknowledge_ms", times_min=3),),
        without={"cluster": Cluster()},
        not_first=("handlers-saturated", "network-threads-saturated", "gc-pauses", "batches-too-small"),
    ),
    fault(
        "noisy-neighbour",
        is_="six other programs compute on the broker's only processor",
        cluster=Cluster(cpus="0", shared=False),
        clients=(
            Client(rate=3_000, size=1_000, config={"linger.ms": 5, "acks": "1"}, before=("taskset", "-c", "1")),
            Client(role="busy", processes=6, before=("taskset", "-c", "0"), watched=False),
        ),
        without={"clients": (Client(rate=3_000, size=1_000, config={"linger.ms": 5, "acks": "1"}, before=("taskset", "-c", "1")),)},
        shows=(Shows("acknowledge_ms", times_min=3),),
        not_first=("handlers-saturated", "network-threads-saturated", "batches-too-small"),
    ),
]
