"""Every case. Adding one is adding an entry to the list of its family."""

from . import brokers, clients, consumers, healthy, hosts, networks, pairs, replicas, storage


def cases():
    found = [
        *clients.CASES, *networks.CASES, *brokers.CASES, *storage.CASES, *replicas.CASES, *consumers.CASES, *hosts.CASES,
        *pairs.CASES, *healthy.CASES,
    ]
    ids = [case.id for case in found]
    doubled = {id for id in ids if ids.count(id) > 1}
    assert not doubled, f"two cases have one id: {doubled}"
    return found


# Causes that this host cannot be given, and why.
LEFT_OUT = {
    "format-conversion": "Kafka 4 has no older message formats to convert to or from",
    "cpu-stolen": "takes a hypervisor that gives this machine less than it promised",
    "remote-memory": "the machine has one memory node",
    "nic-drops": "takes a network card with counters of drops",
    "receive-backlog-drops": "its limit (net.core.netdev_max_backlog) is of the whole host, and others work on it",
    "network-saturated": "a virtual interface has no speed that could be reached",
    "few-replica-fetchers": "a fetcher reaches its limit beyond what two processors can send",
    "partition-lock": "appends to one partition must be slow without the device, its flushes or the processors being slow",
}

# About five faults and three healthy paths for `make diagnose-matrix-quick`.
QUICK = [
    "linger-too-long", "batches-too-small", "quota-throttling", "fetch-wait", "consumer-slow",
    "healthy-steady", "healthy-idempotent", "healthy-consumers",
]
