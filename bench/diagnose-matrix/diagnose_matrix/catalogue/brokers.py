"""Faults of brokers' threads, settings and memory."""

from ..case import Client, Shows, Topic, fault
from ..kafka import Cluster

ONE = Cluster()
VICTIM_OF_ONE = Client(rate=100, size=500, partition=0, config={"linger.ms": 2, "acks": "1"})
VICTIM = Client(rate=300, size=500, config={"linger.ms": 2, "acks": "1"})


def filled(path):
    """Some megabytes to read."""
    import time

    path.start(Client(rate=200, size=100_000, payload="random", config={"linger.ms": 10, "acks": "1"}, watched=False))
    time.sleep(1.5)
    _, writer, _ = path.programs.pop()
    path.journal.stop(writer, 4)


def limit_producers(path):
    for client, _, number in path.watched():
        if client.role == "produce":
            path.cluster.quota(f"produce-{number}-{path.topic}", "producer_byte_rate", 200_000.0)


CASES = [
    fault(
        "broker-recompression",
        is_="the topic wants gzip, producers send lz4",
        cluster=ONE,
        topic=Topic(config=(("compression.type", "gzip"),)),
        clients=(Client(rate=20_000, size=1_000, config={"linger.ms": 10, "acks": "1", "compression.type": "lz4"}),),
        without={"topic": Topic()},
        shows=(Shows("broker1_cpu_ms_per_mb", times_min=2),),
        not_first=("handlers-saturated", "linger-too-long", "batches-too-small"),
    ),
    fault(
        "network-threads-saturated",
        is_="one network thread carries 48 readers that take all they can get out of the page cache",
        cluster=Cluster(properties=(("num.network.threads", "1"),), shared=False),
        topic=Topic(partitions=1),
        prepare=filled,
        clients=(
            Client(rate=100, size=1_000, config={"linger.ms": 2, "acks": "1"}),
            Client(role="raw", request="fetch", rate=None, connections=48, in_flight=1, size=1_000_000, watched=False),
        ),
        without={"cluster": ONE, "clients": (Client(rate=100, size=1_000, config={"linger.ms": 2, "acks": "1"}),)},
        shows=(Shows("acknowledge_ms", times_min=2),),
        accepted={},
        not_first=("handlers-saturated", "linger-too-long"),
    ),
    fault(
        "handlers-saturated",
        is_="one request handler, and others ask for the metadata of a topic of 400 partitions as fast as they can",
        cluster=Cluster(properties=(("num.io.threads", "1"),), shared=False),
        topic=Topic(partitions=400),
        clients=(
            Client(rate=100, size=500, partition=0, config={"linger.ms": 2, "acks": "1"}),
            Client(role="raw", request="metadata", rate=None, connections=8, in_flight=2, watched=False),
        ),
        without={"clients": (Client(rate=100, size=500, partition=0, config={"linger.ms": 2, "acks": "1"}),)},
        shows=(Shows("acknowledge_ms", times_min=2),),
        not_first=("handlers-blocked", "linger-too-long", "batches-too-small"),
    ),
    fault(
        "request-queue-full",
        is_="the request queue has one place, there is one handler, and others ask for the metadata of a topic of 400 partitions",
        cluster=Cluster(properties=(("queued.max.requests", "1"), ("num.io.threads", "1")), shared=False),
        topic=Topic(partitions=400),
        clients=(VICTIM_OF_ONE, Client(role="raw", request="metadata", rate=None, connections=24, in_flight=2, watched=False)),
        without={"cluster": ONE, "clients": (VICTIM_OF_ONE,)},
        shows=(Shows("acknowledge_ms", times_min=2),),
        accepted={"handlers-saturated": "a queue is full because one handler does not keep up"},
        not_first=("network-threads-saturated", "linger-too-long"),
    ),
    fault(
        "gc-pauses",
        is_="a heap of 160 MB under requests of 1 MB",
        cluster=Cluster(heap_mib=160, collector="-XX:+UseParallelGC", shared=False),
        clients=(Client(rate=150, size=400_000, payload="random", config={"linger.ms": 2, "acks": "1"}),),
        without={"cluster": ONE},
        shows=(Shows("gc_share", at_least=0.05),),
        not_first=("handlers-saturated", "large-messages", "network-threads-saturated"),
    ),
    fault(
        "quota-throttling",
        is_="the client may send 200 KB/s and sends 400 KB/s",
        cluster=ONE,
        clients=(Client(rate=400, size=1_000, config={"linger.ms": 5, "acks": "1"}),),
        inject=limit_producers,
        shows=(Shows("acknowledge_ms", times_min=10),),
        not_first=("network-saturated", "linger-too-long", "in-flight-limit", "buffer-exhausted"),
    ),
    fault(
        "coordinator-load",
        is_="other clients commit the offsets of 100 partitions as fast as they can",
        cluster=Cluster(properties=(("num.io.threads", "1"), ("group.coordinator.threads", "1")), shared=False),
        topic=Topic(partitions=100),
        clients=(VICTIM, Client(role="raw", request="commit", size=100, rate=None, processes=1, connections=16, in_flight=4, watched=False)),
        without={"cluster": ONE, "clients": (VICTIM,)},
        shows=(Shows("acknowledge_ms", times_min=1.5),),
        accepted={"handlers-saturated": "the handler's time goes to the coordinator's requests"},
        not_first=("linger-too-long", "batches-too-small"),
    ),
]
