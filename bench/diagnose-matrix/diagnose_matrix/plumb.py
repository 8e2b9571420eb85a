"""The program under test, and what a document of it names."""

import json
import subprocess

from . import places

# Beyond the window: attaching, reading, and how fast the broker's Java encrypts; a broker without processors takes a minute and more.
BEYOND_S_MAX = 180


def version():
    program = places.plumb()
    if not program.exists():
        raise SystemExit(f"there is no {program}: cargo build --release -p plumb-cli, or set PLUMB")
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()


def knows_statistics():
    words = subprocess.run([places.plumb(), "diagnose", "--help"], capture_output=True, text=True).stdout
    return "--client-statistics" in words


def argv(path, document, window_s, statistics):
    words = [places.plumb(), "diagnose", "--duration", f"{window_s:g}s", "--bootstrap", path.cluster.bootstrap]
    if path.cluster.security:
        properties = path.directory / "client.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in path.cluster.security.items()))
        words += ["--config", properties]
    for broker in path.cluster.brokers:
        if broker.process.poll() is None:
            words += ["--broker-metrics", broker.metrics, "--pid", broker.pid]
    for client, process, number in path.watched():
        if process.poll() is None:
            words += ["--pid", process.pid]
        if statistics and client.role in ("produce", "consume"):
            words += ["--client-statistics", path.directory / f"statistics-{number}.jsonl"]
            properties = path.directory / f"client-{number}.properties"
            settings = json.loads((path.directory / f"client-{number}.json").read_text())
            own = {**settings["config"], "client.id": settings["name"]}
            properties.write_text("".join(f"{key}={value}\n" for key, value in own.items()))
            words += ["--client-properties", properties]
    return [str(word) for word in [*words, "--out", document, "--output", "json"]]


def diagnose(path, document, window_s, log, statistics):
    """Watches the path; the exit code."""
    words = argv(path, document, window_s, statistics)
    print(" ".join(words), file=log, flush=True)
    child = path.journal.spawn(words, stdout=open(path.directory / "plumb.json", "w"), stderr=log)
    try:
        return child.wait(window_s + BEYOND_S_MAX)
    except subprocess.TimeoutExpired:
        path.journal.stop(child)
        return None


def judge(document):
    """The document judged by the rules of the program that is there now."""
    done = subprocess.run([places.plumb(), "judge", document, "--output", "json"], capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["diagnosis"]


def diagnosis_of(directory):
    """The diagnosis of a run as it was made; None where there is none."""
    try:
        with open(directory / "plumb.json") as file:
            return json.load(file)["diagnosis"]
    except (OSError, json.JSONDecodeError, KeyError, TypeError):
        return None
