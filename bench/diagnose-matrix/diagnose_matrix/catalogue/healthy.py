"""Paths with nothing wrong: no cause may be named with confidence."""

from ..case import Client, Shows, Topic, healthy
from ..kafka import Cluster

ONE = Cluster()
THREE = Cluster(brokers=3, heap_mib=400)
TLS = Cluster(tls=True)
READER = Client(role="consume")


def sender(**words):
    config = {"linger.ms": 5, "acks": "all", **words.pop("config", {})}
    return Client(config=config, **words)


CASES = [
    healthy("steady", is_="1,000 messages/s of 1 KB", cluster=ONE, clients=(sender(rate=1_000), READER)),
    healthy("idempotent", is_="an idempotent producer at 2,000 messages/s", cluster=ONE, clients=(sender(rate=2_000, config={"enable.idempotence": True}), READER)),
    healthy("consumers", is_="three groups read 1,000 messages/s", cluster=ONE, clients=(sender(rate=1_000), READER, Client(role="consume", group="b"), Client(role="consume", group="c"))),
    healthy("one-acknowledgement", is_="acks=1 at 2,000 messages/s", cluster=ONE, clients=(sender(rate=2_000, config={"acks": "1"}), READER)),
    healthy("no-acknowledgement", is_="acks=0 at 2,000 messages/s", cluster=ONE, clients=(sender(rate=2_000, config={"acks": "0"}), READER), shows=(Shows("end_to_end_ms", at_most=100.0),)),
    healthy("low-rate", is_="5 messages/s without linger", cluster=ONE, clients=(sender(rate=5, config={"linger.ms": 0}), READER)),
    healthy("no-linger", is_="200 messages/s without linger", cluster=ONE, clients=(sender(rate=200, config={"linger.ms": 0}), READER)),
    healthy("high-rate", is_="30,000 messages/s of 300 bytes in full batches", cluster=ONE, clients=(sender(rate=30_000, size=300, config={"linger.ms": 10}),)),
    healthy("lz4", is_="lz4 at 8,000 messages/s of 1 KB", cluster=ONE, clients=(sender(rate=8_000, config={"compression.type": "lz4", "linger.ms": 10}), READER)),
    healthy("zstd", is_="zstd at 3,000 messages/s of 1 KB", cluster=ONE, clients=(sender(rate=3_000, config={"compression.type": "zstd", "linger.ms": 10}), READER)),
    healthy("larger-messages", is_="20 messages/s of 100 KB", cluster=ONE, clients=(sender(rate=20, size=100_000, payload="random", config={"linger.ms": 0}), READER)),
    healthy("many-topics-partitions", is_="a topic of 60 partitions at 2,000 messages/s", cluster=ONE, topic=Topic(partitions=60), clients=(sender(rate=2_000), READER)),
    healthy("one-partition", is_="one partition at 1,000 messages/s, one consumer", cluster=ONE, topic=Topic(partitions=1), clients=(sender(rate=1_000), READER)),
    healthy("bursts", is_="bursts of 500 messages each second", cluster=ONE, clients=(sender(rate=500, burst=500), READER)),
    healthy("keys", is_="messages with many keys", cluster=ONE, clients=(sender(rate=1_000, key="spread"), READER)),
    healthy("producers", is_="four producers of 300 messages/s", cluster=ONE, clients=(sender(rate=300, processes=4), READER)),
    healthy("group-of-three", is_="three consumers of one group", cluster=ONE, clients=(sender(rate=1_000), Client(role="consume", processes=3))),
    healthy("transactions", is_="transactions of 200 messages at 500 messages/s", cluster=ONE, clients=(sender(rate=500, transaction_messages=200), Client(role="consume", config={"isolation.level": "read_committed"}))),
    healthy("tls", is_="TLS at 1,000 messages/s", cluster=TLS, clients=(sender(rate=1_000), READER)),
    healthy("tls-larger", is_="TLS at 15 messages/s of 100 KB", cluster=TLS, clients=(sender(rate=15, size=100_000, payload="random", config={"linger.ms": 0}), READER)),
    healthy("replicated", is_="three replicas, acks=all, 300 messages/s", cluster=THREE, clients=(sender(rate=300), READER)),
    healthy("replicated-one-acknowledgement", is_="three replicas, acks=1, 500 messages/s", cluster=THREE, clients=(sender(rate=500, config={"acks": "1"}), READER)),
    healthy("replicated-idempotent", is_="three replicas, idempotent, 300 messages/s", cluster=THREE, clients=(sender(rate=300, config={"enable.idempotence": True}), READER)),
    healthy("long-path", is_="a path of 5 ms each way at 500 messages/s", cluster=Cluster(far=(("delay_ms", 5.0),), shared=False), clients=(sender(rate=500), READER)),
    healthy("fetch-of-some", is_="a consumer that waits for 1 KB or 20 ms", cluster=ONE, clients=(sender(rate=1_000), Client(role="consume", config={"fetch.min.bytes": 1_000, "fetch.wait.max.ms": 20}))),
    healthy("idle", is_="a producer and a consumer with next to nothing to do", cluster=ONE, clients=(sender(rate=1), READER)),
]
