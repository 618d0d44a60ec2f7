"""Run etcd, three PostgreSQL nodes under Patroni, HAProxy, and PgBouncer with the files of `deploy/patroni/`.

If the machine allows network namespaces, each node has its own namespace, so that a test can disconnect the node.
Otherwise, all nodes listen on loopback. If the tests run as root, PostgreSQL runs as the user `postgres`.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests import clusters
from tests.bench.faults.disk import small_disk
from tests.processes import ROOT, free_port, wait_until

DEPLOY = ROOT / "deploy" / "patroni"
DATABASES = ("creditplatform", "creditledger")
ROLE = "platform"
NODES = 3
DISK_MIB, FREE_MIB = 600, 100
PROGRAMS = ("etcd", "patroni", "haproxy", "pgbouncer")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"
# Small values, so that the disk fills soon, and three nodes fit on one machine.
_SMALL = {
    "max_connections": "150", "shared_buffers": "16MB", "max_wal_size": "32MB", "min_wal_size": "4MB",
    "wal_keep_size": "48MB", "max_slot_wal_keep_size": "96MB", "fsync": "off",
}  # fmt: skip


def missing() -> str:
    """Return the requirements that this machine lacks, or an empty string if it meets all."""
    lacking = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
    if lacking:
        return f"needs {', '.join(lacking)}"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "needs setpriv: PostgreSQL refuses to run as root"
    return clusters.missing()


def _program(name: str) -> str:
    return str(shutil.which(name, path=_PATH))


def _unprivileged(command: list[str]) -> list[str]:
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]


def _ip(*arguments: str) -> bool:
    return not subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode


class Network:
    """A bridge, and a namespace for each node. `namespaces` is empty if the machine does not allow namespaces."""

    def __init__(self) -> None:
        self._name = f"av{os.getpid() % 100_000}"
        self._prefix = f"10.213.{os.getpid() % 250}"
        self.namespaces: list[str] = []
        if os.geteuid() or shutil.which("ip", path=_PATH) is None:
            return
        if not (_ip("link", "add", self._name, "type", "bridge") and self._create_links()):
            self.close()

    def _create_links(self) -> bool:
        done = _ip("addr", "add", f"{self._prefix}.1/24", "dev", self._name) and _ip("link", "set", self._name, "up")
        for number in range(NODES):
            space, cable = f"{self._name}n{number}", f"{self._name}v{number}"
            done = done and _ip("netns", "add", space)
            self.namespaces.append(space)
            done = (
                done
                and _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
                and _ip("link", "set", cable, "master", self._name, "up")
                and _ip("-n", space, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
                and _ip("-n", space, "link", "set", "eth0", "up")
                and _ip("-n", space, "link", "set", "lo", "up")
            )
        return done

    @property
    def middle(self) -> str:
        """Return the address at which all nodes reach etcd."""
        return f"{self._prefix}.1" if self.namespaces else "127.0.0.1"

    def address(self, number: int) -> str:
        return f"{self._prefix}.{11 + number}" if self.namespaces else "127.0.0.1"

    def inside(self, number: int, command: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self.namespaces[number], *command] if self.namespaces else command

    def pull(self, number: int) -> None:
        _ip("link", "set", f"{self._name}v{number}", "down")

    def plug(self, number: int) -> None:
        _ip("link", "set", f"{self._name}v{number}", "up")

    def close(self) -> None:
        for space in self.namespaces:
            _ip("netns", "del", space)
        self.namespaces = []
        _ip("link", "del", self._name)


def _parents() -> dict[int, int]:
    result = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            result[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return result


def _with_children(*roots: int) -> list[int]:
    parents = _parents()
    known_roots = [root for root in roots if root in parents]
    for pid in known_roots:
        known_roots += [child for child, parent in parents.items() if parent == pid and child not in known_roots]
    return known_roots


@dataclass
class Node:
    """One machine: Patroni, and the PostgreSQL that it runs."""

    number: int
    name: str
    host: str
    port: int
    rest_port: int
    disk: Path
    log: Path
    command: list[str] = field(default_factory=list)
    watching: list[str] = field(default_factory=list)
    patroni: "subprocess.Popen[bytes] | None" = None
    watcher: "subprocess.Popen[bytes] | None" = None

    @property
    def data(self) -> Path:
        return self.disk / "data"

    def start(self) -> None:
        """Start Patroni and the disk watcher, as systemd does at boot."""
        log = self.log.open("ab")
        environment = {"PATH": _PATH, "LC_ALL": "C.UTF-8", "HOME": str(self.disk)}
        self.patroni, self.watcher = (
            subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd="/", start_new_session=True)
            for command in (self.command, self.watching)
        )

    def postgres_processes(self) -> list[int]:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return _with_children(int((self.data / "postmaster.pid").read_text().split()[0]))
        return []

    def processes(self) -> list[int]:
        started = (self.patroni, self.watcher)
        own = _with_children(*(process.pid for process in started if process is not None))
        return list(dict.fromkeys([*own, *self.postgres_processes()]))

    @staticmethod
    def signal(number: signal.Signals, processes: list[int]) -> None:
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop_processes(self) -> list[int]:
        """Send SIGSTOP to all processes of the machine, including new processes; return their IDs."""
        stopped: list[int] = []
        while started := [pid for pid in self.processes() if pid not in stopped]:
            self.signal(signal.SIGSTOP, started)
            stopped += started
        return stopped

    def kill(self) -> None:
        """Kill all processes of the machine, like a power cut."""
        self.signal(signal.SIGKILL, self.stop_processes())
        for process in (self.patroni, self.watcher):
            if process is not None:
                process.wait()
        self.patroni = self.watcher = None


class Nodes:
    """The cluster. `address` connects to its primary through HAProxy, `pooled` through PgBouncer and HAProxy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = Network()
        self._port, self._pool_port, self._etcd_port = free_port(), free_port(), free_port()
        self.nodes: list[Node] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.has_disks = False  # whether each node has a separate disk that a test can fill

    def address(self, database: str = DATABASES[0], role: str = ROLE) -> str:
        return f"postgres://{role}@127.0.0.1:{self._port}/{database}"

    def pooled(self, database: str = DATABASES[0]) -> str:
        return f"postgres://{ROLE}@127.0.0.1:{self._pool_port}/{database}?prepare_threshold=1000000000"

    def connect(self, database: str = DATABASES[0]) -> psycopg.Connection:
        return psycopg.connect(self.address(database, "postgres"), autocommit=True, connect_timeout=5)

    def start(self, disks: list[Path]) -> None:
        """Start all processes, wait until all three nodes are healthy, and create the databases."""
        middle, etcd_peers = self.network.middle, free_port()
        client, peer = f"http://{middle}:{self._etcd_port}", f"http://{middle}:{etcd_peers}"
        urls = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        urls += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        self._start_process(
            "etcd", ["etcd", "--data-dir", str(self.folder / "etcd"), "--enable-v2", "--unsafe-no-fsync", *urls]
        )
        for number, disk in enumerate(disks):
            node = Node(
                number,
                f"node{number + 1}",
                self.network.address(number),
                free_port(),
                free_port(),
                disk / "own",
                self.folder / f"node{number + 1}.log",
            )
            node.disk.mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(node.disk, "postgres", "postgres")
            file = self.folder / f"{node.name}.yml"
            file.write_text(self._patroni(node))
            node.command = self.network.inside(number, _unprivileged([_program("patroni"), str(file)]))
            watching = [str(DEPLOY / "hand-over-when-full"), str(file), str(FREE_MIB)]
            node.watching = self.network.inside(number, _unprivileged(watching))
            self.nodes.append(node)
            node.start()
        (self.folder / "haproxy.cfg").write_text(self._haproxy())
        self._start_process("haproxy", ["haproxy", "-db", "-f", str(self.folder / "haproxy.cfg")])
        self.wait_until_healthy(240)
        wait_until(self._accepts_connections)
        with self.connect("postgres") as session:
            session.execute(f"CREATE ROLE {ROLE} LOGIN")
            for database in DATABASES:
                session.execute(f"CREATE DATABASE {database} OWNER {ROLE}")
        (self.folder / "users").write_text(f'"{ROLE}" ""\n')
        (self.folder / "pgbouncer.ini").write_text(self._pgbouncer())
        self._start_process("pgbouncer", _unprivileged(["pgbouncer", str(self.folder / "pgbouncer.ini")]))

    def _accepts_connections(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError), self.connect("postgres"):
            return True
        return False

    def _start_process(self, name: str, command: list[str]) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        environment = {"PATH": _PATH, "ETCD_UNSUPPORTED_ARCH": ""}
        self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd="/"))

    def _patroni(self, node: Node) -> str:
        """Return `deploy/patroni/patroni.yml` with the node's addresses, no passwords, and small limits."""
        text = (DEPLOY / "patroni.yml").read_text().replace("name: node1", f"name: {node.name}")
        text = re.sub(r"hosts: .*", f"hosts: {self.network.middle}:{self._etcd_port}", text)
        text = text.replace("10.0.0.11:8008", f"{node.host}:{node.rest_port}")
        text = text.replace("10.0.0.11:5432", f"{node.host}:{node.port}")
        text = text.replace("10.0.0.0/24", "0.0.0.0/0").replace("scram-sha-256", "trust").replace("peer", "trust")
        text = re.sub(r"data_dir: .*", f"data_dir: {node.data}", text)
        text = re.sub(r"bin_dir: .*", f"bin_dir: {clusters.folder_of('initdb')}", text)
        text = re.sub(r"pgpass: .*", f"pgpass: {node.disk}/pgpass", text)
        text = text.replace("/var/run/postgresql", str(node.disk))
        text = text.replace("    - data-checksums\n", "    - data-checksums\n    - wal-segsize: '1'\n")
        for name, value in _SMALL.items():
            text, count = re.subn(rf"(?m)^(\s+){name}: .*$", rf"\g<1>{name}: {value}", text)
            if not count:
                text = text.replace("      parameters:\n", f"      parameters:\n        {name}: {value}\n")
        return text

    def _haproxy(self) -> str:
        text = (DEPLOY / "haproxy.cfg").read_text().replace("127.0.0.1:5000", f"127.0.0.1:{self._port}")
        for node in self.nodes:
            old = f"server {node.name} 10.0.0.{11 + node.number}:5432 check port 8008"
            text = text.replace(old, f"server {node.name} {node.host}:{node.port} check port {node.rest_port}")
        return text

    def _pgbouncer(self) -> str:
        text = (DEPLOY / "pgbouncer.ini").read_text().replace("port=5000", f"port={self._port}")
        text = text.replace("listen_port = 6432", f"listen_port = {self._pool_port}")
        trusting = f"auth_type = trust\nauth_file = {self.folder}/users\nunix_socket_dir =\n"
        return re.sub(r"auth_type.*\nauth_file.*\n", trusting, text)

    def members(self, without: Node | None = None) -> dict[str, dict[str, object]]:
        """Return Patroni's state of each node by name, or an empty dictionary if no node responds."""
        for node in self.nodes:
            if node is without:
                continue
            with contextlib.suppress(OSError, ValueError):
                url = f"http://{node.host}:{node.rest_port}/cluster"
                with urllib.request.urlopen(url, timeout=2) as answer:
                    return {member["name"]: member for member in json.load(answer)["members"]}
        return {}

    def leads(self, node: Node) -> bool:
        """Return whether the other nodes regard this node as the leader."""
        return self.members(without=node).get(node.name, {}).get("role") == "leader"

    def primary(self) -> Node:
        """Return the leader according to Patroni. Raises RuntimeError if there is no leader for too long."""
        return self._in_role("leader")

    def standby(self) -> Node:
        """Return the synchronous standby, which must acknowledge every COMMIT."""
        return self._in_role("sync_standby")

    def _in_role(self, role: str) -> Node:
        def node_in_role() -> Node | None:
            members = self.members()
            return next((node for node in self.nodes if members.get(node.name, {}).get("role") == role), None)

        node: Node = wait_until(node_in_role)
        return node

    def is_healthy(self) -> bool:
        """Return whether the nodes are a leader, a synchronous standby, and a replica, running on one timeline."""
        members = self.members()
        states = sorted((str(member.get("role")), str(member.get("state"))) for member in members.values())
        return len({member.get("timeline") for member in members.values()}) == 1 and states == [
            ("leader", "running"), ("replica", "running"), ("sync_standby", "running"),
        ]  # fmt: skip

    def wait_until_healthy(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.is_healthy():
            started = [(node.name, process) for node in self.nodes for process in (node.patroni, node.watcher)]
            ended = [name for name, process in started if process is not None and process.poll() is not None]
            if ended or time.monotonic() > until:
                raise RuntimeError(f"the nodes are not healthy: {self.members()}\n{self.log_ends()}")
            time.sleep(0.2)

    def switch_over(self, to: Node) -> None:
        """Move the primary role to another node, as for maintenance."""
        leader = self.primary()
        body = json.dumps({"leader": leader.name, "candidate": to.name}).encode()
        token = "cGF0cm9uaTpDSEFOR0UtTUU="
        head = {"Content-Type": "application/json", "Authorization": f"Basic {token}"}
        url = f"http://{leader.host}:{leader.rest_port}/switchover"
        with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=60) as answer:
            answer.read()

    def log_ends(self) -> str:
        logs = sorted(self.folder.glob("**/*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-9000:]}" for log in logs)

    def stop(self) -> None:
        for node in self.nodes:
            self.network.plug(node.number)
            node.kill()
        for process in self.processes:
            process.kill()
            process.wait()
        self.network.close()


@contextlib.contextmanager
def nodes() -> Iterator[Nodes]:
    """Run the cluster until the block ends."""
    with tempfile.TemporaryDirectory(prefix="nodes-") as temporary, contextlib.ExitStack() as disks:
        folder = Path(temporary)
        folder.chmod(0o755)
        created = Nodes(folder)
        try:
            places = []
            for number in range(NODES):
                disk = disks.enter_context(small_disk(DISK_MIB))
                places.append(disk or folder / f"disk{number}")
                places[-1].mkdir(exist_ok=True)
                places[-1].chmod(0o755)
            created.has_disks = all(place.parent != folder for place in places)
            created.start(places)
            yield created
        finally:
            created.stop()
