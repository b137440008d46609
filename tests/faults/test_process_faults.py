"""What may happen to the exporter's own processes and its callers, seen from outside."""

import contextlib
import json
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.exporter.running_exporter import RunningExporter, exporter
from tests.exporter.running_exporter import configuration as configured
from tests.exporter.simulated import Simulated, run
from tests.exporter.web.authority import Authority
from tests.programs import eventually

from ase_exporter.ase.timing import TIMING
from ase_exporter.changes.store import LOCK_WAIT
from ase_exporter.web.server import SHUTDOWN_SECONDS
from ase_simulator.faults import Faults


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


def configuration(server: Simulated, count: int = 1) -> str:
    return configured({f"S{number}": server.address for number in range(count)})


def probe(running: RunningExporter, target: str = "S0", seconds: float = 60) -> str:
    return running.get(f"/probe?target={target}", seconds)


@pytest.fixture(scope="module")
def running(server: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningExporter]:
    with exporter(tmp_path_factory.mktemp("running"), configuration(server, 2)) as running:
        yield running


def test_a_caller_that_leaves_within_a_scrape_holds_nothing(
    server: Simulated, running: RunningExporter
) -> None:
    probe(running)
    front = running.processes()[1]
    open_before, connections_before = front.num_fds(), server.listener.connections
    host, port = running.url.removeprefix("http://").split(":")
    server.faults.hang = True
    for _ in range(20):
        with socket.create_connection((host, int(port))) as leaving:
            leaving.sendall(
                b"GET /probe?target=S0 HTTP/1.1\r\nHost: x\r\nX-Prometheus-Scrape-Timeout-Seconds: 2\r\n\r\n"
            )
    assert "\nase_up 0.0\n" in probe(running, seconds=3)
    server.faults.hang = False
    assert "\nase_up 1.0\n" in probe(running)
    eventually(
        "everything is closed",
        lambda: front.num_fds() <= open_before + 1 and server.listener.connections <= connections_before,
    )


def test_when_descriptors_run_out_those_who_are_served_stay_and_it_recovers(
    server: Simulated, tmp_path: Path
) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with exporter(tmp_path, configuration(server), before=few) as running, ExitStack() as crowd:
        probe(running)
        host, port = running.url.removeprefix("http://").split(":")
        with httpx2.Client(base_url=running.url, trust_env=False, timeout=90) as client:
            assert client.get("/-/healthy").status_code == 200
            for _ in range(80):
                crowd.enter_context(socket.create_connection((host, int(port))))
            assert "\nase_up 1.0\n" in client.get("/probe?target=S0").text
        running.wait_for("connections are in use: closing one without a request")
        crowd.close()
        assert "\nase_up 1.0\n" in probe(running)
        assert running.process.poll() is None


@pytest.mark.slow
def test_tls_handshakes_that_never_begin_do_not_stop_service(server: Simulated, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    web = tmp_path / "web.yml"
    web.write_text(json.dumps({"tls_server_config": {"cert_file": certificate, "key_file": key}}))
    options = [f"--web.config.file={web}"]
    with exporter(tmp_path, configuration(server), options) as running, ExitStack() as crowd:
        host, port = running.url.removeprefix("https://").split(":")
        for _ in range(300):
            crowd.enter_context(socket.create_connection((host, int(port))))
        context = ssl.create_default_context(cafile=str(authority.file))
        answer = httpx2.get(f"{running.url}/-/healthy", verify=context, trust_env=False, timeout=90)
        assert answer.status_code == 200
        assert len(running.log.splitlines()) == 1


@pytest.mark.slow
def test_descriptors_that_others_use_up_cost_little_cpu_and_few_lines(running: RunningExporter) -> None:
    with ExitStack() as crowd:
        probe(running)
        front = running.processes()[1]
        host, port = running.url.removeprefix("http://").split(":")
        # As if all were in use: even the descriptors that are kept in reserve.
        used = front.num_fds()
        resource.prlimit(front.pid, resource.RLIMIT_NOFILE, (used, 4096))
        before = sum(front.cpu_times()[:2])
        for _ in range(50):
            crowd.enter_context(socket.create_connection((host, int(port))))
        running.wait_for("Too many open files")
        # A loop that never rests would take most of this time.
        time.sleep(3)
        spent = sum(front.cpu_times()[:2]) - before
        resource.prlimit(front.pid, resource.RLIMIT_NOFILE, (4096, 4096))
        assert "\nase_up 1.0\n" in probe(running)
        assert len(running.log) < 50_000
        assert spent < 0.3


def test_sigterm_ends_everything_while_servers_hang(
    server: Simulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    struck = threading.Event()
    strikes = Faults.strikes

    def noting(faults: Faults, request: str) -> bool:
        struck.set()
        return strikes(faults, request)

    def ask(running: RunningExporter, target: str) -> None:
        # Whoever waits is cut off, or told that there is no answer.
        with contextlib.suppress(httpx2.TransportError, AssertionError):
            probe(running, target, 60)

    with socket.create_server(("127.0.0.1", 0)) as mute, ExitStack() as stack:
        mute.settimeout(60)
        settings = json.loads(configuration(server, 3))
        settings["targets"][1]["port"] = mute.getsockname()[1]
        running = stack.enter_context(exporter(tmp_path, json.dumps(settings)))
        assert "\nase_up 1.0\n" in probe(running, "S0") + probe(running, "S2")
        stack.callback(setattr, server.faults, "hang", False)
        stack.callback(setattr, server.faults, "ignore_attention", False)
        server.faults.hang = server.faults.ignore_attention = True
        monkeypatch.setattr(Faults, "strikes", noting)
        asking = [threading.Thread(target=ask, args=(running, name)) for name in ("S0", "S1")]
        for thread in asking:
            thread.start()
        login, _ = mute.accept()
        stack.enter_context(login)
        assert struck.wait(60)
        processes = running.processes()
        assert len(processes) == 2
        running.process.terminate()
        assert running.process.wait(60) == 0
        assert "Traceback" not in running.log
        _, alive = psutil.wait_procs(processes, 60)
        assert not alive
        for thread in asking:
            thread.join(60)
            assert not thread.is_alive()


def test_the_parts_of_an_end_take_less_than_five_seconds_together() -> None:
    # A history that another program has locked is waited for twice: in what is being saved, and in the last save.
    assert SHUTDOWN_SECONDS + TIMING.stop_timeout + 2 * LOCK_WAIT < 5
