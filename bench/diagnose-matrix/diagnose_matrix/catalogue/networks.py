"""Faults on the way between client and broker."""

from ..case import Client, Shows, Topic, fault
from ..kafka import Cluster


def far(**words):
    return tuple(words.items())


CASES = [
    fault(
        "nagle-delayed-ack",
        is_="Nagle's algorithm is on in a client with TLS whose messages take two writes, 20 a second",
        cluster=Cluster(tls=True),
        clients=(Client(rate=20, size=20_000, payload="random", config={"linger.ms": 0, "acks": "1", "socket.nagle.disable": "false"}),),
        without={"clients": (Client(rate=20, size=20_000, payload="random", config={"linger.ms": 0, "acks": "1", "socket.nagle.disable": "true"}),)},
        shows=(Shows("acknowledge_ms", times_min=3, at_least=10),),
        not_first=("batches-too-small", "linger-too-long", "tls-cpu"),
    ),
    fault(
        "packet-loss",
        is_="5 % of all packets are lost on a path of 5 ms each way",
        cluster=Cluster(far=far(delay_ms=5.0, loss=0.05), shared=False),
        clients=(Client(rate=500, size=2_000, payload="random", config={"linger.ms": 5, "acks": "1"}),),
        without={"cluster": Cluster(far=far(delay_ms=5.0), shared=False)},
        shows=(Shows("acknowledge_ms", times_min=1.5),),
        not_first=("socket-buffers-small", "in-flight-limit", "network-threads-saturated"),
    ),
    fault(
        "socket-buffers-small",
        is_="the broker's socket buffers have 16 KB on a path of 25 ms each way",
        cluster=Cluster(far=far(delay_ms=25.0, mtu=1500), properties=(("socket.receive.buffer.bytes", "16384"), ("socket.send.buffer.bytes", "16384")), shared=False),
        clients=(Client(rate=1_500, size=1_000, payload="random", config={"linger.ms": 20, "acks": "1", "batch.size": 500_000}),),
        without={"cluster": Cluster(far=far(delay_ms=25.0, mtu=1500), properties=(("socket.receive.buffer.bytes", "-1"), ("socket.send.buffer.bytes", "-1")), shared=False)},
        shows=(Shows("acknowledge_ms", times_min=3),),
        not_first=("packet-loss", "in-flight-limit", "network-saturated", "buffer-exhausted"),
    ),
    fault(
        "connection-storm",
        is_="other clients connect with TLS as often as they can and go again",
        cluster=Cluster(tls=True),
        clients=(
            Client(rate=500, size=500, config={"linger.ms": 5, "acks": "1"}),
            Client(role="connect", rate=None, processes=3, watched=False),
        ),
        without={"clients": (Client(rate=500, size=500, config={"linger.ms": 5, "acks": "1"}),)},
        shows=(Shows("other_connected_per_s", at_least=40), Shows("acknowledge_ms", times_min=1.2)),
        not_first=("network-threads-saturated", "tls-cpu"),
    ),
    fault(
        "tls-cpu",
        is_="TLS with a CBC suite on one network thread, 84 MB/s in and twice as much out",
        cluster=Cluster(tls=True, properties=(("ssl.enabled.protocols", "TLSv1.2"), ("ssl.cipher.suites", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"), ("num.network.threads", "1")), shared=False),
        clients=(
            Client(rate=350, size=240_000, payload="random", config={"linger.ms": 0, "acks": "1"}),
            Client(role="consume", processes=2, group="fan", take=20),
        ),
        without={"cluster": Cluster(properties=(("num.network.threads", "1"),), shared=False)},
        shows=(Shows("acknowledge_ms", times_min=2),),
        not_first=("network-threads-saturated", "large-messages", "aes-not-accelerated"),
    ),
    fault(
        "aes-not-accelerated",
        is_="the broker's Java encrypts without AES instructions, 240 KB at 25 messages/s",
        cluster=Cluster(tls=True, jvm=("-XX:-UseAES",), shared=False),
        clients=(Client(rate=25, size=240_000, payload="random", config={"linger.ms": 0, "acks": "all"}),),
        without={"cluster": Cluster(tls=True)},
        shows=(Shows("acknowledge_ms", times_min=1.5),),
        not_first=("network-threads-saturated", "tls-cpu", "large-messages", "batches-too-small"),
    ),
]
