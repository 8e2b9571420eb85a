"""One client application of a path under test: `application.py SPEC.json`.

It stands for a user's program: it sends or receives with librdkafka, writes the library's statistics as they come, one JSON document a line,
and beside them what it saw itself once a second, which is how a run finds out whether its fault bound at all. It ends on SIGTERM.

The specification is `diagnose_matrix.case.Client` as JSON, with the bootstrap servers, the topic and the two files to write.
"""

import json
import os
import random
import signal
import sys
import time
import uuid

import confluent_kafka as kafka

STAMP_BYTES = 8
# One of so many messages is timed: a callback for each would make the application the limit.
TIMED_PER_S = 500


class Own:
    """What the application saw itself, one line a second."""

    def __init__(self, path):
        self.file = open(path, "w", buffering=1)
        self.begin()

    def begin(self):
        self.since = time.monotonic()
        self.counts = {}
        self.sums = {}
        self.highest = {}

    def count(self, name, by=1):
        self.counts[name] = self.counts.get(name, 0) + by

    def time(self, name, milliseconds):
        total, number = self.sums.get(name, (0.0, 0))
        self.sums[name] = (total + milliseconds, number + 1)
        self.highest[name] = max(self.highest.get(name, milliseconds), milliseconds)

    def turn(self, **gauges):
        """Writes the second that has passed, if one has."""
        elapsed = time.monotonic() - self.since
        if elapsed < 1.0:
            return
        line = {"at": time.time(), "seconds": elapsed, "counts": self.counts, "gauges": gauges}
        line["sums"] = {name: {"total": total, "number": number, "most": self.highest[name]} for name, (total, number) in self.sums.items()}
        self.file.write(json.dumps(line) + "\n")
        self.begin()


class Application:
    def __init__(self, spec):
        self.spec = spec
        self.own = Own(spec["own_file"])
        self.statistics = open(spec["statistics_file"], "a", buffering=1)
        self.stopped = False
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def stop(self, *_):
        self.stopped = True

    def config(self, **more):
        config = {
            "bootstrap.servers": self.spec["bootstrap"],
            "statistics.interval.ms": 1000,
            "stats_cb": lambda text: self.statistics.write(text.strip() + "\n"),
            "error_cb": lambda error: self.own.count("errors"),
            "client.id": self.spec["name"],
            "log_level": 2,
        }
        config.update(more)
        config.update(self.spec["config"])
        return config


def payloads(spec):
    """A few values to take turns with: random bytes, or text that compresses about as logs do."""
    random.seed(7)
    size = max(spec["size"] - STAMP_BYTES, 0)
    values = []
    for _ in range(16 if size < 100_000 else 2):
        if spec["payload"] == "random":
            values.append(random.randbytes(size))
        else:
            text = ""
            while len(text) < size:
                user, status, took = random.randrange(10**6), random.choice([200, 200, 404, 503]), random.random()
                text += f'{{"user":{user},"path":"/api/v1/items/{random.randrange(500)}","status":{status},"took_ms":{took:.6f}}}\n'
            values.append(text.encode()[:size])
    return values


def stamp():
    return time.time_ns().to_bytes(STAMP_BYTES, "big")


class Pace:
    """When the next messages are due: evenly, in bursts, or at once."""

    def __init__(self, spec):
        self.rate, self.burst = spec["rate"], spec["burst"]
        self.start, self.sent = time.monotonic(), 0

    def due(self):
        if self.rate is None:
            return 1000
        behind = (time.monotonic() - self.start) * self.rate - self.sent
        due = int(behind // self.burst) * self.burst if self.burst else int(behind)
        # An application that could not send for a while does not send all of it at once afterwards.
        limit = max(int(self.rate), self.burst)
        if due > limit:
            self.sent += due - limit
            due = limit
        return due

    def wait(self):
        """Until one more is due, at most so long that statistics and reports come through."""
        if self.rate is None:
            return 0.0
        due_at = self.start + (self.sent + (self.burst or 1)) / self.rate
        return min(max(due_at - time.monotonic(), 0.0), 0.05)


class Produce(Application):
    def run(self):
        spec = self.spec
        producer = kafka.Producer(self.config(**({"transactional.id": uuid.uuid4().hex} if spec["transaction_messages"] else {})))
        if spec["transaction_messages"]:
            producer.init_transactions(30)
        values, pace = payloads(spec), Pace(spec)
        sent, refused_until = 0, 0.0
        timed_each = 1 if spec["callback_sleep_ms"] is not None or not spec["rate"] else max(int(spec["rate"] / TIMED_PER_S), 1)
        if spec["rate"] is None:
            timed_each = 200
        in_transaction = 0
        while not self.stopped:
            for _ in range(pace.due()):
                if self.stopped:
                    break
                if spec["transaction_messages"] and in_transaction == 0:
                    producer.begin_transaction()
                arguments = {"value": stamp() + values[sent % len(values)]}
                if spec["key"] == "same":
                    arguments["key"] = b"hot"
                elif spec["key"] == "spread":
                    arguments["key"] = str(sent).encode()
                if spec["partition"] is not None:
                    arguments["partition"] = spec["partition"]
                if sent % timed_each == 0:
                    arguments["on_delivery"] = self.delivered(time.monotonic())
                blocked = None
                while not self.stopped:
                    try:
                        producer.produce(self.spec["topic"], **arguments)
                        break
                    except BufferError:
                        # As most applications do: serve reports until there is room.
                        blocked = blocked or time.monotonic()
                        self.own.count("queue_full")
                        producer.poll(0.005)
                        self.turn(producer, sent)
                if blocked:
                    self.own.time("blocked_ms", (time.monotonic() - blocked) * 1e3)
                sent += 1
                pace.sent += 1
                self.own.count("sent")
                self.own.count("sent_bytes", len(arguments["value"]))
                if spec["transaction_messages"]:
                    in_transaction += 1
                    if in_transaction == spec["transaction_messages"]:
                        begun = time.monotonic()
                        producer.commit_transaction(30)
                        self.own.time("commit_ms", (time.monotonic() - begun) * 1e3)
                        in_transaction = 0
                if sent % 200 == 0:
                    producer.poll(0)
            producer.poll(pace.wait())
            self.turn(producer, sent)
        producer.purge()

    def turn(self, producer, sent):
        waiting = len(producer)
        self.own.turn(waiting=waiting, acknowledged=sent - waiting)

    def delivered(self, begun):
        def report(error, _message):
            if error is not None:
                self.own.count("failed")
                return
            self.own.time("acknowledge_ms", (time.monotonic() - begun) * 1e3)
            if self.spec["callback_sleep_ms"]:
                time.sleep(self.spec["callback_sleep_ms"] / 1e3)

        return report


class OpenTransaction(Application):
    """Opens a transaction, sends one message, and leaves it open, again and again with a new producer."""

    def run(self):
        producer = kafka.Producer(self.config(**{"transactional.id": uuid.uuid4().hex, "transaction.timeout.ms": 600_000}))
        producer.init_transactions(30)
        producer.begin_transaction()
        partitions = producer.list_topics(self.spec["topic"], 10).topics[self.spec["topic"]].partitions
        for partition in partitions:
            producer.produce(self.spec["topic"], value=stamp(), partition=partition)
        producer.flush(10)
        while not self.stopped:
            producer.poll(0.1)
            self.own.turn()


class Consume(Application):
    def run(self):
        spec = self.spec
        consumer = kafka.Consumer(
            self.config(
                **{
                    "group.id": spec["group"],
                    "auto.offset.reset": spec["from"],
                    "enable.auto.commit": spec["commit"] == "auto",
                    # Nothing is waited for at the brokers' first start but the topic itself.
                    "topic.metadata.refresh.interval.ms": 5000,
                }
            )
        )
        consumer.subscribe([spec["topic"]], on_assign=lambda *_: self.own.count("assigned"))
        begun = time.monotonic()
        while not self.stopped:
            if spec["leave_after_s"] and time.monotonic() - begun > spec["leave_after_s"]:
                consumer.unsubscribe()
                consumer.poll(0.2)
                consumer.subscribe([spec["topic"]], on_assign=lambda *_: self.own.count("assigned"))
                begun = time.monotonic()
            # consume() waits until it has as many as are asked for: one is waited for, and what has come with it taken.
            messages = consumer.consume(1, 0.1)
            if messages and spec["take"] > 1:
                messages += consumer.consume(spec["take"] - 1, 0)
            now = time.time_ns()
            for place, message in enumerate(messages):
                if message.error():
                    self.own.count("errors")
                    continue
                self.own.count("received")
                self.own.count("received_bytes", len(message.value()))
                if place == 0 or spec["take"] == 1:
                    milliseconds = (now - int.from_bytes(message.value()[:STAMP_BYTES], "big")) / 1e6
                    if abs(milliseconds) < 1e9:
                        self.own.time("end_to_end_ms", milliseconds)
                        if milliseconds < 0:
                            self.own.count("negative")
                if spec["handle_ms"]:
                    time.sleep(spec["handle_ms"] / 1e3)
                if spec["commit"] == "each":
                    started = time.monotonic()
                    consumer.commit(message, asynchronous=False)
                    self.own.time("commit_ms", (time.monotonic() - started) * 1e3)
                if self.stopped:
                    break
            if spec["rewind"] and messages:
                self.rewind(consumer, messages)
            self.own.turn()
        consumer.close()

    def rewind(self, consumer, messages):
        """Reads the same part of the log again and again, so that it comes from the page cache."""
        last = messages[-1]
        if not last.error() and last.offset() >= self.spec["rewind"]:
            consumer.seek(kafka.TopicPartition(last.topic(), last.partition(), 0))


class Connect(Application):
    """A client that connects anew for each of its requests."""

    def run(self):
        import socket
        import ssl

        host, port = self.spec["bootstrap"].split(",")[0].rsplit(":", 1)
        context = None
        if "ssl.ca.location" in self.spec["config"]:
            context = ssl.create_default_context(cafile=self.spec["config"]["ssl.ca.location"])
            context.check_hostname = False
        pace = Pace(self.spec)
        while not self.stopped:
            for _ in range(pace.due()):
                begun = time.monotonic()
                try:
                    with socket.create_connection((host, int(port)), 5) as plain:
                        if context:
                            with context.wrap_socket(plain) as secured:
                                secured.unwrap
                    self.own.count("connected")
                    self.own.time("connect_ms", (time.monotonic() - begun) * 1e3)
                except OSError:
                    self.own.count("refused")
                pace.sent += 1
                if self.stopped:
                    break
                self.own.turn()
            time.sleep(pace.wait())
            self.own.turn()


class Raw(Application):
    """Requests as bytes made ahead, several under way on each of a few connections: load that costs the client next to nothing."""

    def run(self):
        import selectors
        import socket

        from diagnose_matrix import wire

        spec = self.spec
        host, port = spec["bootstrap"].split(",")[0].rsplit(":", 1)
        make = {"produce": wire.produce, "metadata": wire.metadata, "commit": wire.offset_commit, "fetch": wire.fetch}[spec["request"]]
        request = make(spec["topic"], spec["size"], spec["partition"] or 0)
        chosen = selectors.DefaultSelector()
        for _ in range(spec["connections"]):
            connection = socket.create_connection((host, int(port)), 5)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request * spec["in_flight"])
            chosen.register(connection, selectors.EVENT_READ, {"rest": b"", "left": 0})
        pace = Pace(spec)
        waiting = []
        while not self.stopped:
            for key, _ in chosen.select(0.05 if not waiting else pace.wait()):
                answered = self.answered(key.fileobj, key.data)
                if answered:
                    self.own.count("answered", answered)
                    waiting.append((key.fileobj, answered))
            due = pace.due()
            still = []
            for connection, answered in waiting:
                now = min(answered, due) if spec["rate"] else answered
                if now:
                    connection.sendall(request * now)
                    pace.sent += now
                    due -= now
                if answered > now:
                    still.append((connection, answered - now))
            waiting = still
            self.own.turn()

    def answered(self, connection, state):
        """Reads what has come; the number of answers that are complete. Large ones are thrown away in the kernel."""
        import socket
        import struct

        if state["left"]:
            taken = len(connection.recv(min(state["left"], 1 << 20), socket.MSG_TRUNC))
            self.own.count("answered_bytes", taken)
            state["left"] -= taken
            return int(taken > 0 and not state["left"])
        data = connection.recv(4 if self.spec["request"] == "fetch" else 1 << 20)
        if not data:
            raise SystemExit("the broker closed the connection: it does not know the request")
        data = state["rest"] + data
        answered, at = 0, 0
        while len(data) - at >= 4:
            (length,) = struct.unpack_from(">i", data, at)
            if len(data) - at < 4 + length:
                if self.spec["request"] == "fetch":
                    state["left"], at = length - (len(data) - at - 4), len(data)
                break
            at += 4 + length
            answered += 1
        state["rest"] = data[at:]
        return answered


class Sync(Application):
    """Appends and fsyncs a file again and again, as a database on the same file system does."""

    def run(self):
        pace = Pace(self.spec)
        block = b"x" * self.spec["size"]
        with open(os.path.join(self.spec["directory"], f"other-{os.getpid()}"), "wb") as file:
            while not self.stopped:
                for _ in range(min(pace.due(), 10)):
                    begun = time.monotonic()
                    file.write(block)
                    file.flush()
                    os.fsync(file.fileno())
                    self.own.time("fsync_ms", (time.monotonic() - begun) * 1e3)
                    pace.sent += 1
                    self.own.turn()
                    if file.tell() > 256 << 20:
                        file.seek(0)
                    if self.stopped:
                        break
                time.sleep(pace.wait())


class Busy(Application):
    """Another program that computes."""

    def run(self):
        from diagnose_matrix.host import short_slice

        # As any program that nobody has given a short one.
        short_slice(3_000_000)
        while not self.stopped:
            for _ in range(100_000):
                pass
            self.own.turn()


ROLES = {
    "produce": Produce,
    "consume": Consume,
    "open-transaction": OpenTransaction,
    "connect": Connect,
    "raw": Raw,
    "sync": Sync,
    "busy": Busy,
}


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    sys.path.insert(0, spec["package"])
    ROLES[spec["role"]](spec).run()


main()
