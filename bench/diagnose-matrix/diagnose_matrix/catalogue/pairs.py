"""Two causes at once: that with the larger share of the wait first."""

from ..case import Client, Shows, Topic, pair
from ..kafka import Cluster
from .replicas import LED_BY_1, OWN_THREE, THREE, slow_follower, stopping_follower
from .storage import DISK, slow_flush

ONE = Cluster()

CASES = [
    pair(
        "slow-follower", "linger-too-long",
        is_="linger of 60 ms, and a follower that stands still for 250 ms of each 400",
        cluster=OWN_THREE,
        topic=LED_BY_1,
        clients=(Client(rate=300, size=300, config={"linger.ms": 60, "acks": "all"}),),
        inject=stopping_follower,
        accepted={"process-stopped": "the follower's process is stopped again and again, which is why it is slow"},
        without={"cluster": THREE, "clients": (Client(rate=60, size=300, config={"linger.ms": 5, "acks": "all"}),)},
        shows=(Shows("acknowledge_ms", times_min=5),),
    ),
    pair(
        "linger-too-long", "fetch-wait",
        is_="linger of 400 ms before a consumer that waits for 1 MB or 150 ms",
        cluster=ONE,
        clients=(Client(rate=200, size=300, config={"linger.ms": 400, "acks": "1"}), Client(role="consume", config={"fetch.min.bytes": 1_000_000, "fetch.wait.max.ms": 150})),
        without={"clients": (Client(rate=200, size=300, config={"linger.ms": 5, "acks": "1"}), Client(role="consume"))},
        shows=(Shows("acknowledge_ms", times_min=5), Shows("delivery_ms", times_min=5)),
    ),
    pair(
        "fetch-wait", "linger-too-long",
        is_="a consumer that waits for 1 MB or 500 ms behind a linger of 60 ms",
        cluster=ONE,
        clients=(Client(rate=200, size=300, config={"linger.ms": 60, "acks": "1"}), Client(role="consume", config={"fetch.min.bytes": 1_000_000, "fetch.wait.max.ms": 500})),
        without={"clients": (Client(rate=200, size=300, config={"linger.ms": 5, "acks": "1"}), Client(role="consume"))},
        shows=(Shows("acknowledge_ms", times_min=3), Shows("delivery_ms", times_min=5)),
    ),
    pair(
        "consumer-slow", "linger-too-long",
        is_="the application works 5 ms on each of 300 messages/s that waited 80 ms in the producer",
        cluster=ONE,
        clients=(Client(rate=300, size=300, config={"linger.ms": 80, "acks": "1"}), Client(role="consume", handle_ms=5.0)),
        without={"clients": (Client(rate=300, size=300, config={"linger.ms": 5, "acks": "1"}), Client(role="consume"))},
        shows=(Shows("acknowledge_ms", times_min=3), Shows("received_share", at_most=0.8)),
    ),
    pair(
        "linger-too-long", "flush-forced",
        is_="linger of 150 ms, and a topic that is flushed after each batch on a device that flushes in 4 ms",
        cluster=DISK,
        topic=Topic(partitions=2, config=(("flush.messages", "1"),)),
        prepare=slow_flush,
        clients=(Client(rate=60, size=300, config={"linger.ms": 150, "acks": "1"}),),
        without={"cluster": ONE, "topic": Topic(partitions=2), "prepare": None, "clients": (Client(rate=200, size=300, config={"linger.ms": 5, "acks": "1"}),)},
        shows=(Shows("acknowledge_ms", times_min=5),),
    ),
    pair(
        "slow-follower", "consumer-slow",
        is_="a follower that stands still for 250 ms of each 400, and an application that works 30 ms on each of 50 messages/s",
        cluster=OWN_THREE,
        topic=LED_BY_1,
        clients=(Client(rate=50, size=500, config={"linger.ms": 2, "acks": "all"}), Client(role="consume", handle_ms=30.0)),
        inject=stopping_follower,
        accepted={"process-stopped": "the follower's process is stopped again and again, which is why it is slow"},
        without={"cluster": THREE, "clients": (Client(rate=50, size=500, config={"linger.ms": 2, "acks": "all"}), Client(role="consume"))},
        shows=(Shows("acknowledge_ms", times_min=3), Shows("received_share", at_most=0.8)),
    ),
    pair(
        "quota-throttling", "fetch-wait",
        is_="a producer beyond its quota, and a consumer that waits for 1 MB or 500 ms",
        cluster=ONE,
        clients=(Client(rate=400, size=1_000, config={"linger.ms": 5, "acks": "1"}), Client(role="consume", config={"fetch.min.bytes": 1_000_000, "fetch.wait.max.ms": 500})),
        inject=lambda path: _quota(path),
        without={"clients": (Client(rate=400, size=1_000, config={"linger.ms": 5, "acks": "1"}), Client(role="consume"))},
        # The answer to the producer is held back, so that a message is read before its acknowledgement comes.
        shows=(Shows("acknowledge_ms", times_min=10),),
    ),
]


def _quota(path):
    from .brokers import limit_producers

    limit_producers(path)
