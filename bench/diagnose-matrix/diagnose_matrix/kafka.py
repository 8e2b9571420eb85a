"""Brokers of our own: one to three in KRaft combined mode, with any properties, JVM flags, log directories and namespace."""

import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from . import places, wire
from .host import Far, run

CLUSTER_ID = "KI8pi6rZSemGh0U3qIHC3Q"
START_S_MAX = 40.0

# The beans that say where a request spends its time, and how replication, flushes and groups do. All of them would cost a broker a
# quarter of a second of processor time a scrape.
EXPORTER = """startDelaySeconds: 0
includeObjectNames:
""" + "".join(
    f"  - '{name}'\n"
    for name in [
        *(
            f"kafka.network:type=RequestMetrics,name=*,request={request}"
            for request in "Produce FetchConsumer FetchFollower Metadata OffsetCommit OffsetFetch JoinGroup SyncGroup Heartbeat ConsumerGroupHeartbeat".split()
        ),
        "kafka.network:type=RequestMetrics,name=RequestsPerSec,*",
        "kafka.network:type=RequestMetrics,name=ErrorsPerSec,*",
        "kafka.network:type=RequestChannel,*",
        "kafka.network:type=SocketServer,*",
        "kafka.network:type=Acceptor,*",
        "kafka.network:type=Processor,name=IdlePercent,*",
        "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*",
        "kafka.server:type=KafkaRequestHandlerPool,*",
        "kafka.server:type=BrokerTopicMetrics,*",
        "kafka.server:type=ReplicaManager,*",
        "kafka.server:type=ReplicaFetcherManager,*",
        "kafka.server:type=FetcherLagMetrics,*",
        "kafka.server:type=DelayedOperationPurgatory,*",
        "kafka.server:type=group-coordinator-metrics,*",
        "kafka.server:type=Produce,*",
        "kafka.server:type=Fetch,*",
        "kafka.log:type=LogFlushStats,*",
        "kafka.log:type=LogCleaner,*",
        "kafka.log:type=LogCleanerManager,*",
        "java.lang:type=GarbageCollector,*",
    ]
) + """rules:
  - pattern: '<>(Count|Mean|Value|OneMinuteRate|.*-total|.*-count|.*-rate|.*-time|CollectionTime|CollectionCount): '
"""

LOG4J2 = """status=warn
appender.file.type=File
appender.file.name=file
appender.file.fileName=server.log
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d{ISO8601} %-5p [%t] %c{1}: %m%n
rootLogger.level=info
rootLogger.appenderRef.file.ref=file
"""


@dataclass(frozen=True)
class Cluster:
    """What brokers are wanted. Cases with equal ones can share them."""

    brokers: int = 1
    properties: tuple = ()
    heap_mib: int = 512
    jvm: tuple = ()
    collector: str = "-XX:+UseG1GC"
    tls: bool = False
    # Broker 1 has its logs on file systems of their own: so many, whose speed can be set or not.
    disks: int = 0
    disks_settable: bool = True
    disks_journal_data: bool = False
    # Behind a long path: arguments of `host.Far`.
    far: tuple = ()
    # The processors of broker 1, as taskset has them.
    cpus: str = ""
    shared: bool = True
    exporter: bool = True


@dataclass
class Broker:
    id: int
    directory: Path
    address: str
    secured: str
    metrics: str
    process: subprocess.Popen
    log_dirs: list = field(default_factory=list)

    @property
    def pid(self):
        return self.process.pid


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Brokers:
    """A running cluster."""

    def __init__(self, journal, cluster, disk_directories=()):
        self.journal, self.cluster = journal, cluster
        self.directory = Path(tempfile.mkdtemp(prefix="plumb-matrix-"))
        journal.undo("rm", "-rf", self.directory)
        self.far = Far(journal, **dict(cluster.far)) if cluster.far else None
        self.host = Far.far_address if self.far else "127.0.0.1"
        self.certificate = self._certificate() if cluster.tls else None
        self.brokers = []
        ports = iter(free_ports(4 * cluster.brokers))
        plans = [dict(id=i + 1, plain=next(ports), controller=next(ports), secured=next(ports), metrics=next(ports)) for i in range(cluster.brokers)]
        voters = ",".join(f"{plan['id']}@{self.host}:{plan['controller']}" for plan in plans)
        for plan in plans:
            log_dirs = list(disk_directories) if plan["id"] == 1 else []
            self.brokers.append(self._start(plan, voters, [str(place) for place in log_dirs]))
        self._wait_ready()

    @property
    def bootstrap(self):
        return ",".join((broker.secured if self.cluster.tls else broker.address) for broker in self.brokers)

    @property
    def plain_bootstrap(self):
        return ",".join(broker.address for broker in self.brokers)

    @property
    def security(self):
        """Client properties."""
        if not self.cluster.tls:
            return {}
        # The name in the certificate is not the address.
        return {
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.directory / "ca.pem"),
            "ssl.endpoint.identification.algorithm": "none",
        }

    def _certificate(self):
        key, certificate, store = (self.directory / name for name in ("key.pem", "ca.pem", "keys.p12"))
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=plumb-matrix", "-keyout", key, "-out", certificate)
        run("openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", store, "-passout", "pass:matrix", "-name", "broker")
        return store

    def _properties(self, plan, voters, log_dirs):
        plain = f"PLAINTEXT://{self.host}:{plan['plain']}"
        listeners = [plain] + ([f"SSL://{self.host}:{plan['secured']}"] if self.cluster.tls else [])
        replicas = min(self.cluster.brokers, 3)
        properties = {
            "process.roles": "broker,controller",
            "node.id": plan["id"],
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join([*listeners, f"CONTROLLER://{self.host}:{plan['controller']}"]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 3,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "log.segment.delete.delay.ms": 1000,
            "auto.leader.rebalance.enable": "false",
            "log.dirs": ",".join(log_dirs or [str(self.directory / f"data-{plan['id']}")]),
            "metadata.log.dir": self.directory / f"metadata-{plan['id']}",
        }
        if self.cluster.tls:
            properties.update({"ssl.keystore.type": "PKCS12", "ssl.keystore.location": self.certificate, "ssl.keystore.password": "matrix", "ssl.key.password": "matrix"})
        properties.update(self.cluster.properties)
        return properties

    def _start(self, plan, voters, log_dirs):
        directory = self.directory / f"broker-{plan['id']}"
        directory.mkdir()
        properties = self._properties(plan, voters, log_dirs)
        (directory / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        (directory / "log4j2.properties").write_text(LOG4J2)
        (directory / "exporter.yaml").write_text(EXPORTER)
        environment = {**os.environ, "CLASSPATH": places.class_path()}
        tool = ["java", *archive_flags(), "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=log4j2.properties"]
        formatted = subprocess.run(
            [*tool, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", "server.properties"],
            cwd=directory, env=environment, capture_output=True, text=True,
        )
        if formatted.returncode != 0:
            raise RuntimeError(f"format: {formatted.stdout[-2000:]} {formatted.stderr[-2000:]}")
        metrics_host = Far.short_address if self.far else "127.0.0.1"
        heap = self.cluster.heap_mib
        argv = [
            "java", *archive_flags(), f"-Xmx{heap}m", f"-Xms{heap}m", self.cluster.collector, "-XX:+ExplicitGCInvokesConcurrent",
            *(["-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"] if "G1" in self.cluster.collector else []),
            "-XX:+EnableDynamicAgentLoading", "-Djava.awt.headless=true", "-Dlog4j2.configurationFile=log4j2.properties",
            f"-Djava.io.tmpdir={directory}", *self.cluster.jvm,
            *([f"-javaagent:{places.exporter()}={metrics_host}:{plan['metrics']}:exporter.yaml"] if self.cluster.exporter else []),
            "kafka.Kafka", "server.properties",
        ]
        if self.cluster.cpus and plan["id"] == 1:
            argv = ["taskset", "-c", self.cluster.cpus, *argv]
        if self.far:
            argv = self.far.within(argv)
        console = open(directory / "console.log", "w")
        process = self.journal.spawn(argv, cwd=directory, env=environment, stdout=console, stderr=subprocess.STDOUT)
        address = f"{self.host}:{plan['plain']}"
        secured = f"{self.host}:{plan['secured']}"
        url = f"http://{metrics_host}:{plan['metrics']}/metrics"
        return Broker(plan["id"], directory, address, secured, url, process, log_dirs)

    def _wait_ready(self):
        deadline = time.monotonic() + START_S_MAX
        while True:
            for broker in self.brokers:
                if broker.process.poll() is not None:
                    raise RuntimeError(f"broker {broker.id} ended: {(broker.directory / 'console.log').read_text()[-2000:]}")
            try:
                admin = AdminClient({"bootstrap.servers": self.plain_bootstrap, "log_level": 0})
                if len(admin.list_topics(timeout=2).brokers) == len(self.brokers):
                    break
            except Exception:
                pass
            if time.monotonic() > deadline:
                raise RuntimeError("the brokers are not ready")
            time.sleep(0.2)
        self.admin = admin
        while self.cluster.exporter and time.monotonic() < deadline:
            try:
                for broker in self.brokers:
                    urllib.request.urlopen(broker.metrics, timeout=5).read(100)
                return
            except OSError:
                time.sleep(0.2)

    def create(self, name, partitions=6, replicas=None, config=(), assignment=None):
        """A topic; `assignment` has the replicas of each partition, the leader first."""
        replicas = replicas or min(self.cluster.brokers, 3)
        kind = dict(num_partitions=len(assignment), replica_assignment=assignment) if assignment else dict(num_partitions=partitions, replication_factor=replicas)
        topic = NewTopic(name, config={key: str(value) for key, value in dict(config).items()}, **kind)
        for _ in range(20):
            try:
                self.admin.create_topics([topic])[name].result(15)
                break
            except Exception as error:
                # A broker that has just started may not be in the controller's eyes yet.
                if "replication factor" not in str(error).lower() and "INVALID_REPLICATION" not in str(error):
                    raise
                time.sleep(0.3)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            found = self.admin.list_topics(name, timeout=5).topics[name]
            if found.error is None and found.partitions and all(p.leader > 0 and len(p.isrs) == len(p.replicas) for p in found.partitions.values()):
                return
            time.sleep(0.1)

    def delete(self, name):
        try:
            self.admin.delete_topics([name])[name].result(10)
        except Exception:
            pass  # a cluster that was harmed on purpose

    def alter(self, kind, name, **settings):
        """Dynamic settings of a topic or broker; `_` stands for a dot."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

        types = {"topic": ConfigResource.Type.TOPIC, "broker": ConfigResource.Type.BROKER}
        entries = [ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()]
        resource = ConfigResource(types[kind], str(name), incremental_configs=entries)
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(10)

    def quota(self, client_id, key, value):
        """A quota of a client id."""
        answer = wire.ask(self.plain_bootstrap, wire.client_quota(client_id, key, value))
        if answer[8:10] not in (b"\0\0", b"") and b"\xff\xff" not in answer[4:14]:
            raise RuntimeError(f"quota: {answer!r}")

    def isr(self, topic):
        """In-sync replicas of each partition."""
        found = self.admin.list_topics(topic, timeout=5).topics[topic]
        return {number: list(partition.isrs) for number, partition in found.partitions.items()}


def archive_flags():
    """The archive of Kafka's classes that halves the time to start; made once."""
    archive = places.OWN / "classes.jsa"
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def make_archive(journal):
    archive = places.OWN / "classes.jsa"
    if archive.exists():
        return
    mark = journal.mark()
    brokers = Brokers(journal, Cluster(jvm=(f"-XX:ArchiveClassesAtExit={archive}",), exporter=False))
    brokers.create("first")
    for broker in brokers.brokers:
        journal.stop(broker.process, 30)
    journal.restore(mark)


def processor_seconds(pid):
    """Processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Page:
    """A broker's page of metrics: our own reading, to check what an injection did."""

    def __init__(self, url):
        self.lines = urllib.request.urlopen(url, timeout=5).read().decode().splitlines()

    def values(self, name, **labels):
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        fitting = (line for line in self.lines if line.startswith((name + "{", name + " ")) and all(label in line for label in wanted))
        return [float(line.rsplit(" ", 1)[1]) for line in fitting]

    def sum(self, name, **labels):
        """All samples of a name together; None where there are none."""
        values = self.values(name, **labels)
        return sum(values) if values else None
