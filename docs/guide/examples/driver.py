#!/usr/bin/env python3
"""Confluent's client for Python as a driver of Plumb: docs/guide/external-drivers.md has the protocol."""
import os, socket, struct, sys, threading, time
import confluent_kafka as kafka

plumb = socket.socket(fileno=0)
orders = plumb.makefile("rb")
lock = threading.Lock()

def say(kind, body):
    with lock:
        plumb.sendall(struct.pack("<Ic", len(body) + 1, kind) + body)

def exactly(count):
    data = orders.read(count)
    return data if len(data) == count else os._exit(0)  # Plumb is gone.

def frame():
    body = exactly(struct.unpack("<I", exactly(4))[0])
    return body[:1], body[1:]

def beat():
    while True:
        say(b"T", struct.pack("<Q", time.monotonic_ns()))
        time.sleep(0.01)

def ready():
    about = f"client=confluent-kafka-python\nversion={kafka.__version__}\nruntime=Python {sys.version.split()[0]}"
    say(b"R", about.encode())
    threading.Thread(target=beat, daemon=True).start()

def cut(body, at):
    length = struct.unpack_from("<i", body, at)[0]
    return (None, at + 4) if length < 0 else (body[at + 4 : at + 4 + length], at + 4 + length)

def send(client, topic, body):
    number, due, partition, time_at, in_header = struct.unpack_from("<QQiI?", body)
    key, at = cut(body, 25)
    count, at, headers = struct.unpack_from("<I", body, at)[0], at + 4, []
    for _ in range(count):
        name, at = cut(body, at)
        value, at = cut(body, at)
        headers.append((name.decode(), bytearray(value)))
    value = bytearray(body[at:])
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    called = time.monotonic_ns()
    struct.pack_into("<Q", headers[-1][1] if in_header else value, time_at, called)

    def told(error, message):
        numbers = struct.pack("<QQQ", number, called, time.monotonic_ns())
        if error:
            say(b"F", numbers + f"{error.name()}: {error.str()}".encode())
        else:
            say(b"A", numbers + struct.pack("<iq", message.partition(), message.offset()))

    headers = [(name, bytes(value)) for name, value in headers]
    while True:
        try:
            return client.produce(topic, bytes(value), key, partition, told, headers=headers)
        except BufferError:
            time.sleep(0.001)

def produce(topic, properties):
    client = kafka.Producer(properties)
    threading.Thread(target=lambda: [client.poll(1) for _ in iter(int, 1)], daemon=True).start()
    ready()
    while (order := frame())[0] == b"O":
        send(client, topic, order[1])

def consume(topic, properties):
    client, over = kafka.Consumer(properties), threading.Event()
    ready()
    threading.Thread(target=lambda: frame() and over.set(), daemon=True).start()
    holds = lambda _, partitions: say(b"J", struct.pack("<I", len(partitions)))
    client.subscribe([topic], on_assign=holds, on_revoke=lambda *_: say(b"J", struct.pack("<I", 0)))
    while not over.is_set():
        message = client.poll(0.05)
        now = time.monotonic_ns()
        if message is None:
            continue
        if message.error():
            say(b"N", str(message.error()).encode())
            continue
        kind, stamp = message.timestamp()
        appended = stamp if kind == kafka.TIMESTAMP_LOG_APPEND_TIME else -1
        value = message.value() or b""
        head = dict(message.headers() or []).get("plumb", value)[:48]
        place = struct.pack("<QiqqI", now, message.partition(), message.offset(), appended, len(value))
        say(b"G", place + head)
    client.close()

told = {b"S": {}, b"P": {}}
while (word := frame())[0] != b"B":
    name, value = word[1].decode().split("=", 1)
    told[word[0]][name] = value
role = {"producer": produce, "consumer": consume}[told[b"S"]["role"]]
role(told[b"S"]["topic"], told[b"P"])
