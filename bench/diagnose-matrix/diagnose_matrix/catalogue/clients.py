"""Faults of producers."""

from ..case import Client, Shows, Topic, fault
from ..kafka import Cluster

ONE = Cluster()
THREE = Cluster(brokers=3, heap_mib=400)


CASES = [
    fault(
        "batches-too-small",
        is_="a producer sends each message in a request of its own, as fast as it can",
        cluster=ONE,
        clients=(Client(rate=25_000, size=200, config={"linger.ms": 0, "batch.num.messages": 1, "acks": "1"}),),
        without={"clients": (Client(rate=25_000, size=200, config={"linger.ms": 5, "acks": "1"}),)},
        shows=(Shows("acknowledged_per_s", times_max=0.8), Shows("acknowledge_ms", times_min=5)),
        not_first=("handlers-saturated", "in-flight-limit", "buffer-exhausted", "serial-connection"),
    ),
    fault(
        "linger-too-long",
        is_="a producer at 500 messages/s waits 200 ms for a batch to fill",
        cluster=ONE,
        clients=(Client(rate=500, size=200, config={"linger.ms": 200, "acks": "1"}),),
        without={"clients": (Client(rate=500, size=200, config={"linger.ms": 5, "acks": "1"}),)},
        shows=(Shows("acknowledge_ms", times_min=5),),
        not_first=("buffer-exhausted", "client-cpu-bound"),
    ),
    fault(
        "in-flight-limit",
        is_="one request in flight on a path of 20 ms each way, small batches",
        cluster=Cluster(far=(("delay_ms", 20.0),), shared=False),
        topic=Topic(partitions=1),
        clients=(Client(rate=1_000, size=1_000, config={"linger.ms": 5, "acks": "1", "max.in.flight": 1, "batch.size": 16_384}),),
        without={"clients": (Client(rate=1_000, size=1_000, config={"linger.ms": 5, "acks": "1", "max.in.flight": 5, "batch.size": 16_384}),)},
        shows=(Shows("acknowledged_per_s", times_max=0.7), Shows("acknowledge_ms", times_min=3)),
        not_first=("linger-too-long", "serial-connection", "buffer-exhausted"),
    ),
    fault(
        "serial-connection",
        is_="one connection with acks=all to one partition, whose requests are small for the time that replication takes",
        cluster=THREE,
        topic=Topic(partitions=1),
        clients=(Client(rate=20_000, size=1_000, config={"linger.ms": 5, "acks": "all", "batch.size": 8_192, "max.in.flight": 5}),),
        without={"clients": (Client(rate=20_000, size=1_000, config={"linger.ms": 5, "acks": "all", "batch.size": 1_000_000, "max.in.flight": 5}),)},
        shows=(Shows("acknowledged_per_s", times_max=0.7),),
        accepted={"batches-too-small": "the same limit told by its other side: bytes of a request"},
        not_first=("network-threads-saturated", "handlers-saturated", "buffer-exhausted"),
    ),
    fault(
        "buffer-exhausted",
        is_="bursts of 5,000 messages every half second into a buffer of 1 MB",
        cluster=ONE,
        clients=(Client(rate=10_000, burst=5_000, size=1_000, config={"linger.ms": 5, "acks": "all", "queue.buffering.max.kbytes": 1_024}),),
        without={"clients": (Client(rate=10_000, burst=5_000, size=1_000, config={"linger.ms": 5, "acks": "all"}),)},
        shows=(Shows("queue_full_per_s", at_least=2), Shows("blocked_most_ms", at_least=3)),
        not_first=("linger-too-long", "in-flight-limit"),
    ),
    fault(
        "callbacks-slow",
        is_="the delivery callback takes 2 ms at 800 messages/s",
        cluster=ONE,
        clients=(Client(rate=800, size=500, config={"linger.ms": 5, "acks": "1"}, callback_sleep_ms=2.0),),
        without={"clients": (Client(rate=800, size=500, config={"linger.ms": 5, "acks": "1"}),)},
        shows=(Shows("acknowledge_ms", times_min=10),),
        not_first=("linger-too-long", "buffer-exhausted"),
    ),
    fault(
        "retries",
        is_="a producer waits 4 ms for its acknowledgement by three brokers, and sends again",
        cluster=THREE,
        clients=(Client(rate=500, size=500, config={"linger.ms": 5, "acks": "all", "request.timeout.ms": 4, "retry.backoff.ms": 400, "retry.backoff.max.ms": 400}),),
        without={"clients": (Client(rate=500, size=500, config={"linger.ms": 5, "acks": "all"}),)},
        shows=(Shows("acknowledge_ms", times_min=3),),
        not_first=("slow-follower", "linger-too-long"),
    ),
    fault(
        "client-compression-cpu",
        is_="zstd at level 12 on 30 MB/s of text",
        cluster=ONE,
        clients=(Client(rate=30_000, size=1_000, config={"linger.ms": 20, "acks": "1", "compression.type": "zstd", "compression.level": 12}),),
        without={"clients": (Client(rate=30_000, size=1_000, config={"linger.ms": 20, "acks": "1", "compression.type": "lz4"}),)},
        shows=(Shows("acknowledge_ms", times_min=5),),
        accepted={"client-cpu-bound": "its sending thread compresses"},
        not_first=("linger-too-long", "buffer-exhausted", "in-flight-limit"),
    ),
    fault(
        "client-cpu-bound",
        is_="a producer held to a tenth of a processor",
        cluster=ONE,
        clients=(Client(rate=8_000, size=300, config={"linger.ms": 5, "acks": "1"}),),
        inject=lambda path: _hold(path, 0.10),
        shows=(Shows("acknowledge_ms", times_min=3),),
        accepted={"cpu-quota": "the quota of the client's control group is what leaves it no time"},
        not_first=("linger-too-long", "batches-too-small", "buffer-exhausted"),
    ),
    fault(
        "large-messages",
        is_="messages of 6 MB beside small ones on one connection, replicated to three brokers",
        cluster=Cluster(brokers=3, heap_mib=400, properties=(("message.max.bytes", "16000000"), ("replica.fetch.max.bytes", "16000000"), ("socket.request.max.bytes", "104857600")), shared=False),
        topic=Topic(partitions=3, config=(("max.message.bytes", "16000000"),)),
        clients=(Client(rate=4, size=6_000_000, payload="random", config={"linger.ms": 0, "acks": "all", "message.max.bytes": 16_000_000}),),
        without={"clients": (Client(rate=24, size=100_000, payload="random", config={"linger.ms": 0, "acks": "all"}),)},
        shows=(Shows("acknowledge_ms", times_min=4),),
        not_first=("batches-too-small", "slow-follower"),
    ),
]


def _hold(path, processors):
    from ..host import cpu_quota

    for _, process, number in path.watched():
        cpu_quota(path.journal, f"client-{number}", process.pid, processors)
