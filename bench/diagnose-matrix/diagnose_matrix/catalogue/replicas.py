"""Faults of replication and of who leads what: three brokers."""

from ..case import Client, Shows, Topic, fault
from ..host import cpu_quota
from ..kafka import Cluster

THREE = Cluster(brokers=3, heap_mib=400)
OWN_THREE = Cluster(brokers=3, heap_mib=400, shared=False)
ALL = Client(rate=60, size=1_000, config={"linger.ms": 5, "acks": "all"})
LED_BY_1 = Topic(assignment=((1, 2, 3), (1, 2, 3), (1, 3, 2)))


def slow_follower(path):
    """The last broker leads nothing of the topic; it is held to a small part of a processor."""
    cpu_quota(path.journal, "follower", path.cluster.brokers[2].pid, 0.08)


def stopping_follower(path):
    path.stop_and_go(path.cluster.brokers[2].pid, 0.25, 0.15)


def lost_follower(path):
    """A broker goes away: a write needs three replicas in sync."""
    path.journal.stop(path.cluster.brokers[2].process, 0.1)


def throttle_left(path):
    """A limit of a finished move; then a follower that was away has to catch up under it. A limit counts over 11 seconds: what is missed
    must be more than it lets through in these."""
    for broker in (1, 2, 3):
        path.cluster.alter("broker", broker, leader_replication_throttled_rate=2_000, follower_replication_throttled_rate=2_000)
    path.cluster.alter("topic", path.topic, leader_replication_throttled_replicas="*", follower_replication_throttled_replicas="*")
    path.stop_once(path.cluster.brokers[2].pid, 4.0)


CASES = [
    fault(
        "slow-follower",
        is_="a follower is held to a twelfth of a processor",
        cluster=OWN_THREE,
        topic=LED_BY_1,
        clients=(ALL,),
        inject=slow_follower,
        shows=(Shows("acknowledge_ms", times_min=3),),
        without={"cluster": THREE},
        accepted={"cpu-quota": "the quota of the follower's control group is why it is slow"},
        not_first=("linger-too-long", "batches-too-small", "serial-connection", "in-flight-limit"),
    ),
    fault(
        "slow-follower",
        id="slow-follower-full",
        is_="a follower is held to a twelfth of a processor, and more is sent than it can take",
        cluster=OWN_THREE,
        topic=LED_BY_1,
        clients=(Client(rate=3_000, size=1_000, config={"linger.ms": 5, "acks": "all"}),),
        inject=slow_follower,
        shows=(Shows("acknowledge_ms", times_min=3),),
        without={"cluster": THREE},
        accepted={"cpu-quota": "the quota of the follower's control group is why it is slow"},
        not_first=("linger-too-long", "batches-too-small", "socket-buffers-small", "in-flight-limit"),
    ),
    fault(
        "slow-follower",
        id="slow-follower-stops",
        is_="a follower stands still for 250 ms of each 400",
        cluster=OWN_THREE,
        topic=LED_BY_1,
        clients=(ALL,),
        inject=stopping_follower,
        shows=(Shows("acknowledge_ms", times_min=3),),
        without={"cluster": THREE},
        accepted={"process-stopped": "the follower's process is stopped again and again, which is why it is slow"},
        not_first=("linger-too-long", "batches-too-small", "serial-connection", "in-flight-limit"),
    ),
    fault(
        "in-sync-replicas-short",
        is_="a broker is gone, and a write needs three replicas in sync",
        cluster=Cluster(brokers=3, heap_mib=400, shared=False, properties=(("replica.lag.time.max.ms", "3000"), ("broker.session.timeout.ms", "3000"))),
        topic=Topic(assignment=((1, 2, 3), (2, 1, 3), (1, 3, 2)), config=(("min.insync.replicas", "3"),)),
        clients=(Client(rate=200, size=500, config={"linger.ms": 5, "acks": "all", "retry.backoff.ms": 200}),),
        inject=lost_follower,
        shows=(Shows("acknowledged_per_s", times_max=0.3),),
        without={"cluster": THREE, "topic": Topic(assignment=((1, 2, 3), (2, 1, 3), (1, 3, 2)))},
        not_first=("slow-follower", "retries", "buffer-exhausted", "linger-too-long"),
        warm_up_s=6.0,
    ),
    fault(
        "leader-skew",
        is_="one of three brokers leads all partitions, at all that it can do",
        cluster=OWN_THREE,
        topic=Topic(assignment=((1,),) * 6),
        clients=(Client(rate=12_000, size=300, processes=2, config={"linger.ms": 0, "batch.num.messages": 20, "acks": "1"}),),
        shows=(Shows("acknowledge_ms", times_min=1.3),),
        without={"cluster": THREE, "topic": Topic(assignment=((1,), (2,), (3,)) * 2)},
        accepted={},
        not_first=("handlers-saturated", "network-threads-saturated"),
    ),
    fault(
        "many-partitions",
        is_="a topic of 900 partitions on each of three brokers with one message for each in turn",
        cluster=OWN_THREE,
        topic=Topic(partitions=900),
        clients=(Client(rate=1_500, size=300, config={"linger.ms": 50, "acks": "all"}),),
        without={"cluster": THREE, "topic": Topic()},
        shows=(Shows("acknowledge_ms", times_min=2),),
        accepted={"batches-too-small": "messages that are spread over so many partitions make batches of one"},
        not_first=("slow-follower", "handlers-saturated"),
    ),
    fault(
        "replication-throttle-left",
        is_="limits of a move were left behind, and a follower that was away does not come back in sync",
        cluster=Cluster(brokers=3, heap_mib=400, shared=False, properties=(("replica.lag.time.max.ms", "2000"),)),
        topic=Topic(assignment=((1, 2, 3), (1, 2, 3), (1, 3, 2)), config=(("min.insync.replicas", "2"),)),
        # One fetch may bring a megabyte of each partition before the limit counts.
        clients=(Client(rate=2_000, size=1_000, payload="random", config={"linger.ms": 5, "acks": "all"}),),
        inject=throttle_left,
        shows=(Shows("out_of_sync", at_least=1),),
        without={"cluster": THREE, "topic": LED_BY_1},
        not_first=("slow-follower", "in-sync-replicas-short"),
        warm_up_s=7.0,
    ),
]
