"""Faults of consumers and their groups."""

from ..case import Client, Shows, Topic, fault
from ..kafka import Cluster

ONE = Cluster()
THREE = Cluster(brokers=3, heap_mib=400)
SENDER = Client(rate=200, size=500, config={"linger.ms": 2, "acks": "1"})
READER = Client(role="consume")

CASES = [
    fault(
        "fetch-wait",
        is_="the consumer wants 1 MB or 500 ms, at 100 KB/s",
        cluster=ONE,
        clients=(SENDER, Client(role="consume", config={"fetch.min.bytes": 1_000_000, "fetch.wait.max.ms": 500})),
        without={"clients": (SENDER, READER)},
        shows=(Shows("end_to_end_ms", times_min=5),),
        not_first=("consumer-slow", "linger-too-long", "clock-offset"),
    ),
    fault(
        "consumer-slow",
        is_="the application works 5 ms on each of 400 messages/s",
        cluster=ONE,
        clients=(Client(rate=400, size=500, config={"linger.ms": 2, "acks": "1"}), Client(role="consume", handle_ms=5.0)),
        without={"clients": (Client(rate=400, size=500, config={"linger.ms": 2, "acks": "1"}), READER)},
        shows=(Shows("received_share", at_most=0.8), Shows("end_to_end_ms", times_min=10)),
        not_first=("fetch-wait", "hot-partition", "few-partitions"),
    ),
    fault(
        "few-partitions",
        is_="a topic of one partition for four consumers that each manage a third of the rate",
        cluster=ONE,
        topic=Topic(partitions=1),
        clients=(Client(rate=400, size=500, config={"linger.ms": 2, "acks": "1"}), Client(role="consume", handle_ms=6.0, processes=4)),
        without={"topic": Topic(partitions=8)},
        shows=(Shows("end_to_end_ms", times_min=5),),
        not_first=("consumer-slow", "hot-partition", "leader-skew"),
    ),
    fault(
        "hot-partition",
        is_="all messages have one key, and one of three consumers gets all of them",
        cluster=ONE,
        clients=(Client(rate=600, size=500, key="same", config={"linger.ms": 2, "acks": "1"}), Client(role="consume", handle_ms=2.0, processes=3)),
        without={"clients": (Client(rate=600, size=500, key="spread", config={"linger.ms": 2, "acks": "1"}), Client(role="consume", handle_ms=2.0, processes=3))},
        shows=(Shows("received_share", at_most=0.9), Shows("end_to_end_ms", times_min=10)),
        not_first=("consumer-slow", "few-partitions", "handlers-saturated"),
    ),
    fault(
        "group-rebalances",
        is_="a member leaves its group and comes back every 2 s",
        cluster=ONE,
        clients=(SENDER, Client(role="consume", processes=2), Client(role="consume", leave_after_s=2.0)),
        without={"clients": (SENDER, Client(role="consume", processes=2))},
        shows=(Shows("assigned_per_s", at_least=0.4), Shows("end_to_end_ms", times_min=1.5)),
        not_first=("consumer-slow", "fetch-wait"),
    ),
    fault(
        "commits-frequent",
        is_="the consumer commits after each message and waits for it, at 1,500 messages/s",
        cluster=THREE,
        clients=(Client(rate=1_500, size=500, config={"linger.ms": 2, "acks": "1"}), Client(role="consume", commit="each")),
        without={"clients": (Client(rate=1_500, size=500, config={"linger.ms": 2, "acks": "1"}), READER)},
        shows=(Shows("received_share", at_most=0.8), Shows("end_to_end_ms", at_least=500)),
        not_first=("consumer-slow", "coordinator-load", "handlers-saturated"),
    ),
    fault(
        "open-transactions",
        is_="a transaction is left open while a consumer reads committed messages only",
        cluster=ONE,
        clients=(SENDER, Client(role="consume", config={"isolation.level": "read_committed"}), Client(role="open-transaction", watched=False)),
        without={"clients": (SENDER, Client(role="consume", config={"isolation.level": "read_committed"}))},
        shows=(Shows("received_share", times_max=0.2),),
        not_first=("consumer-slow", "fetch-wait"),
    ),
    fault(
        "clock-offset",
        is_="the producer's clock is 2 s ahead",
        cluster=ONE,
        clients=(Client(rate=200, size=500, config={"linger.ms": 2, "acks": "1"}, before=("faketime", "-f", "+2s")), READER),
        without={"clients": (SENDER, READER)},
        shows=(Shows("negative_share", at_least=0.05),),
        not_first=("fetch-wait",),
    ),
]
