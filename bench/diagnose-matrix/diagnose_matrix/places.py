"""Where things are: the jars of Kafka, the environment of the clients, what a run leaves behind."""

import os
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plumb"
OWN = CACHE / "diagnose-matrix"
PACKAGE = Path(__file__).resolve().parent.parent
REPOSITORY = PACKAGE.parent.parent
APPLICATION = PACKAGE / "clients" / "application.py"
STATE = OWN / "state"
AGENTS = ("async-profiler-", "jmx_prometheus_javaagent-")


def jars():
    """The jars of a lab's Kafka."""
    for stamp in CACHE.glob("kafka-*/verified"):
        found = sorted((stamp.parent / "libs").glob("*.jar"))
        if any(jar.name.startswith("kafka-clients-") for jar in found):
            return found
    raise SystemExit("there is no Kafka: run scripts/bootstrap-diagnose-matrix")


def class_path():
    return ":".join(str(jar) for jar in jars() if not jar.name.startswith(AGENTS))


def exporter():
    return next(jar for jar in jars() if jar.name.startswith("jmx_prometheus_javaagent-"))


def plumb():
    """The program under test: $PLUMB, or the release build of this repository."""
    given = os.environ.get("PLUMB")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    return Path(given) if given else target / "release" / "plumb"
