"""What a case of the matrix is: a path, what is wrong with it, and how to see that it is wrong without plumb."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from .kafka import Cluster

FAULT, PAIR, HEALTHY = "fault", "pair", "healthy"


@dataclass(frozen=True)
class Topic:
    partitions: int = 6
    replicas: int | None = None
    config: tuple = ()
    # Replicas of each partition, the leader first.
    assignment: tuple = ()


@dataclass(frozen=True)
class Client:
    """A client application, or another program of the host; `clients/application.py` does it."""

    role: str = "produce"
    processes: int = 1
    config: dict = field(default_factory=dict)
    # Messages (or requests, connections) a second of each process; None is as many as possible.
    rate: float | None = 1000.0
    # Messages that come at once.
    burst: int = 0
    size: int = 1000
    payload: str = "text"
    key: str | None = None
    partition: int | None = None
    callback_sleep_ms: float | None = None
    transaction_messages: int = 0
    # Consumers.
    group: str = "readers"
    commit: str = "auto"
    take: int = 500
    handle_ms: float = 0.0
    leave_after_s: float = 0.0
    rewind: int = 0
    # Requests as bytes.
    request: str = "produce"
    connections: int = 4
    in_flight: int = 8
    # Where another program writes.
    directory: str = ""
    # How the program is run: an environment, a command before it.
    environment: tuple = ()
    before: tuple = ()
    # Part of the path: its statistics are given to plumb. Other programs of the host are not.
    watched: bool = True
    from_: str = "latest"

    def spec(self):
        words = asdict(self)
        words["from"] = words.pop("from_")
        return words


@dataclass(frozen=True)
class Shows:
    """One independent sign that a fault binds: a measure of ours beside that of the path without the fault, or beside a figure."""

    measure: str
    times_min: float | None = None
    times_max: float | None = None
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Case:
    id: str
    kind: str
    # Causes of plumb's registry: one; of a pair both, larger share first; none of a healthy path.
    expected: tuple = ()
    # What the path is, in a sentence.
    is_: str = ""
    cluster: Cluster = Cluster()
    topic: Topic = Topic()
    clients: tuple = ()
    # Done before the clients start, and once they run.
    prepare: Callable | None = None
    inject: Callable | None = None
    shows: tuple = ()
    # The path without the fault; the same without `inject` where it is None.
    without: dict | None = None
    # Ids that are as right, each with the reason.
    accepted: dict = field(default_factory=dict)
    # Names that would be wrong in particular: symptoms of the fault, or its usual mistake.
    not_first: tuple = ()
    warm_up_s: float = 4.0
    window_s: float = 12.0

    def unfaulted(self):
        """The path without the fault, for the comparison."""
        changes = dict(self.without or {})
        return replace(self, id=f"{self.id}-without", inject=changes.pop("inject", None), **changes)


def fault(cause, **words):
    """A fault that is called as its cause."""
    return Case(words.pop("id", cause), FAULT, (cause,), **words)


def pair(first, second, **words):
    """Two causes at once, that with the larger share first."""
    return Case(words.pop("id", f"{first}+{second}"), PAIR, (first, second), **words)


def healthy(id, **words):
    """A path that nothing holds back; one that is slow by our own measure all the same is not scored."""
    return Case(f"healthy-{id}", HEALTHY, **{"shows": (Shows("acknowledge_ms", at_most=100.0),), **words})
