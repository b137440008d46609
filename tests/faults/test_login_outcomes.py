"""Refusals that do not look like one, or arrive too late: none may get a login locked, and outages still end."""

import errno
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.exporter.clocks import ShiftedClock
from tests.exporter.running_exporter import PATIENT, configuration, exporter
from tests.exporter.simulated import scraper_of
from tests.faults.login_server import (
    ACCEPTED,
    DONE,
    FAILED,
    REFUSED,
    LoginServer,
    Talk,
    acknowledgement,
    answer,
    closing,
    login_server,
    message,
    session,
)
from tests.faults.scraping import dropping, scrape
from tests.planted import UNUSED
from tests.programs import SOON, START

from ase_exporter.ase import login
from ase_exporter.ase.login_ledger import HOURLY, LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG
from ase_exporter.config import Auth, Scrape
from ase_exporter.scraping.target_scraper import TargetScraper

SCRAPES = 8

UNRECOGNISED: dict[str, tuple[bytes, Talk | None]] = {
    "another error beside it": (answer(acknowledgement(6), FAILED, message(9999, 16, "Also wrong.\n")), None),
    "another error alone": (answer(acknowledgement(6), message(10330, 14, "Permission denied.\n")), None),
    "of a low severity": (answer(acknowledgement(6), message(4002, 10, "Login failed.\n")), None),
    "no message": (answer(acknowledgement(6)), None),
    "cut off": (REFUSED[:20], None),
    "no TDS": (b"HTTP/1.1 400 Bad Request\r\n\r\n", None),
    "nothing": (b"", None),
    "acknowledged, then closed": (ACCEPTED, None),
    "acknowledged, then closed at the first statement": (ACCEPTED, closing),
    "acknowledged, and no statement answered": (ACCEPTED, lambda _: DONE),
    "acknowledged twice": (answer(acknowledgement(6), acknowledgement(5)), None),
    "acknowledged twice, and no statement answered": (
        answer(acknowledgement(6), acknowledgement(5), failed=False),
        lambda _: DONE,
    ),
    "acknowledged, then refused": (answer(acknowledgement(5), acknowledgement(6)), None),
    "acknowledged, then refused in the next packet": (ACCEPTED + answer(acknowledgement(6)), None),
}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TIMING, "login_pause", 0.0)
    # What listens here keeps a silent connection for ever, or closes it at once.
    monkeypatch.setattr(login, "_MIN_SILENCE", 0.02)
    monkeypatch.setattr(login, "_SILENCE_MARGIN", 0.02)


def scraper(
    port: int, clock: ShiftedClock | None = None, *, host: str = "127.0.0.1", connect_timeout: float = 60.0
) -> TargetScraper:
    limits = Scrape(connect_timeout=connect_timeout, budget=None)
    return scraper_of(
        (host, port), Auth(user="monitor", password="planted-wrong"), clock=clock, limits=limits
    )


def waiting_scraper(server: LoginServer, clock: ShiftedClock) -> TargetScraper:
    """A scraper of a server. While that keeps a login waiting, the time of a login passes at once."""

    def leap() -> None:
        clock.ahead += 61.0

    server.on_wait = leap
    return scraper(server.port, clock)


def kind(one: TargetScraper, clock: ShiftedClock | None = None) -> str:
    """The error of one scrape, '' if it reached the server."""
    result = scrape(one, clock=clock)
    return "" if result.summary.up else result.error_kind


@pytest.mark.parametrize(("reply", "talk"), UNRECOGNISED.values(), ids=UNRECOGNISED)
def test_a_login_refused_in_any_form_is_an_attempt(reply: bytes, talk: Talk | None) -> None:
    clock = ShiftedClock()
    with login_server(reply, talk) as server:
        one = scraper(server.port, clock)
        kinds = [kind(one, clock) for _ in range(SCRAPES)]
        assert server.logins == LOGIN_ATTEMPTS
        assert kinds[LOGIN_ATTEMPTS:] == ["login_suspended"] * (SCRAPES - LOGIN_ATTEMPTS)
        # It may have been something else, so it is not given up.
        clock.ahead += HOURLY + 1
        kind(one, clock)
        assert server.logins == LOGIN_ATTEMPTS + 1
        one.close()


def test_a_login_that_is_refused_at_the_first_statement_is_refused() -> None:
    clock = ShiftedClock()
    with login_server(ACCEPTED, lambda _: answer(FAILED)) as server:
        one = scraper(server.port, clock)
        kinds = [kind(one, clock) for _ in range(SCRAPES)]
        assert kinds == ["login_failed"] * 2 + ["login_suspended"] * (SCRAPES - 2)
        clock.ahead += HOURLY + 1
        kind(one, clock)
        assert server.logins == LOGIN_ATTEMPTS
        one.close()


@pytest.mark.parametrize(("reply", "talk"), [(ACCEPTED, None), (ACCEPTED, closing)], ids=["at once", "later"])
def test_a_password_that_was_accepted_is_an_attempt_once_it_is_acknowledged_and_dropped(
    reply: bytes, talk: Talk | None
) -> None:
    with login_server(ACCEPTED, session) as server:
        one = scraper(server.port)
        # Let in: it answers statements, though with nothing that can be read, so that each scrape logs in.
        assert [kind(one) for _ in range(3)] == [""] * 3
        assert server.logins == 3
        server.reply, server.talk = reply, talk
        kinds = [kind(one) for _ in range(SCRAPES)]
        assert server.logins == 3 + LOGIN_ATTEMPTS
        assert kinds[LOGIN_ATTEMPTS:] == ["login_suspended"] * (SCRAPES - LOGIN_ATTEMPTS)
        one.close()


def test_a_password_is_sent_to_no_more_addresses_than_it_has_attempts_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with login_server(ACCEPTED, closing) as server:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))] * 5
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        one = scraper(server.port, host="several.example")
        for _ in range(SCRAPES):
            kind(one)
        assert server.logins == LOGIN_ATTEMPTS
        one.close()


def test_a_login_refused_after_the_timeout_is_an_attempt() -> None:
    clock = ShiftedClock()
    with login_server() as server:
        one = waiting_scraper(server, clock)
        for attempt in range(1, LOGIN_ATTEMPTS + 1):
            server.may_answer.clear()
            # While the answer is awaited, nothing else is sent.
            assert [kind(one, clock), kind(one, clock)] == ["deadline"] * 2
            assert server.logins == attempt
            server.may_answer.set()
            server.until(ended=attempt)
        assert [kind(one, clock) for _ in range(3)] == ["login_suspended"] * 3
        assert server.logins == LOGIN_ATTEMPTS
        one.close()


def test_a_server_that_hangs_gets_one_login_and_is_asked_again_as_soon_as_it_answers() -> None:
    clock = ShiftedClock()
    with login_server(ACCEPTED, session) as server:
        one = waiting_scraper(server, clock)
        server.may_answer.clear()
        assert [kind(one, clock) for _ in range(4)] == ["deadline"] * 4
        assert server.logins == 1
        server.may_answer.set()
        while (seen := kind(one, clock)) == "deadline":
            pass
        for number in range(2, 5):
            assert seen != "login_suspended"
            assert server.logins == number
            seen = kind(one, clock)
        one.close()


def test_a_login_that_hangs_holds_up_no_other_at_its_address() -> None:
    with login_server(ACCEPTED, session) as server, ThreadPoolExecutor() as pool:
        hanging, released = threading.Event(), threading.Event()

        def hang_first() -> None:
            if hanging.is_set():
                server.may_answer.set()
            hanging.set()
            assert server.may_answer.is_set() or released.wait(SOON)

        server.may_answer.clear()
        server.on_wait = hang_first
        one, other = (
            scraper(server.port),
            scraper_of(("127.0.0.1", server.port), Auth(user="other", password=UNUSED)),
        )
        late = pool.submit(kind, one)
        assert hanging.wait(SOON)
        try:
            assert (kind(other), late.done()) == ("", False)
        finally:
            released.set()
        assert (late.result(), kind(one), kind(other)) == ("", "", "")
        one.close()
        other.close()
        server.until(ended=server.logins)


def test_logins_that_end_only_after_our_own_deadline_suspend_nobody() -> None:
    """A fleet that is overloaded for a minute recovers by itself."""
    clock = ShiftedClock()

    def late(statement: bytes) -> bytes:
        # Beyond the deadline.
        clock.ahead += 5.0 * (b"@@spid" in statement)
        return session(statement)

    with login_server(ACCEPTED, late) as server:

        def nearly_too_late() -> None:
            clock.ahead += 57.0
            server.may_answer.set()

        server.on_wait = nearly_too_late
        one = scraper(server.port, clock)
        for _ in range(LOGIN_ATTEMPTS + 1):
            server.may_answer.clear()
            assert kind(one, clock) != "login_suspended"
            one.close()
        assert server.logins == LOGIN_ATTEMPTS + 1


def test_a_server_that_lets_us_in_and_answers_nothing_is_asked_again_when_it_does() -> None:
    clock, released = ShiftedClock(), threading.Event()

    def silent(_: bytes) -> bytes:
        clock.ahead += 61.0
        released.wait(SOON)
        return b""

    with login_server(ACCEPTED, session) as server:
        one = scraper(server.port, clock)
        assert kind(one, clock) == ""
        server.talk = silent
        try:
            assert [kind(one, clock) for _ in range(LOGIN_ATTEMPTS + 1)] == ["deadline"] * (
                LOGIN_ATTEMPTS + 1
            )
        finally:
            released.set()
        server.talk = session
        assert kind(one, clock) == ""
        one.close()


@pytest.mark.parametrize(
    ("host", "lacking"), [("127.0.0.1", "thread"), ("localhost", "thread"), ("127.0.0.1", "file")]
)
def test_a_login_that_was_never_sent_suspends_nobody_and_says_what_is_lacking(
    host: str, lacking: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_left(_: object) -> int:
        raise RuntimeError("can't start new thread") if lacking == "thread" else OSError(errno.EMFILE, "many")

    with login_server(ACCEPTED, session) as server:
        one = scraper(server.port, host=host)
        with monkeypatch.context() as patch:
            if lacking == "thread":
                patch.setattr(threading.Thread, "start", none_left)
                patch.setattr(SYSTEM_WATCHDOG, "_thread", None)
            else:
                patch.setattr(os, "dup", none_left)
            assert [kind(one) for _ in range(LOGIN_ATTEMPTS + 1)] == ["internal"] * (LOGIN_ATTEMPTS + 1)
        assert f"no {lacking} can be" in caplog.text and "Traceback" not in caplog.text
        assert kind(one) == ""
        assert server.logins == 1
        one.close()


@pytest.mark.parametrize("how", ["refused", "dropped", "closing"])
def test_a_server_that_is_down_is_asked_at_each_scrape(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long a tunnel takes to close a connection, it is waited for.
    monkeypatch.setattr(login, "_SILENCE_MARGIN", 60.0)
    with ExitStack() as stack:
        if how == "dropped":
            port = stack.enter_context(dropping())
        else:
            server = stack.enter_context(login_server(ACCEPTED))
            server.closing = how == "closing"
            port = server.port
            if how == "refused":
                with socket.create_server(("127.0.0.1", 0)) as gone:
                    port = gone.getsockname()[1]
        one = scraper(port, connect_timeout=1.5 if how == "dropped" else 60.0)
        kinds = [kind(one) for _ in range(LOGIN_ATTEMPTS + 2)]
        assert "login_suspended" not in kinds and "" not in kinds
        if how == "closing":
            server.closing = False
            kind(one)
            assert server.logins == 1
        one.close()


def test_an_unanswered_login_counts_when_the_exporter_or_its_child_is_killed(tmp_path: Path) -> None:
    with login_server() as server:
        server.may_answer.clear()
        options = [f"--state-dir={tmp_path / 'state'}"]
        addresses, scrape = {"T0": ("127.0.0.1", server.port)}, PATIENT | {"connect_timeout": "2s"}
        settings = configuration(addresses, "planted-wrong", scrape=scrape, changes={})
        with exporter(tmp_path, settings, options) as running:
            assert 'reason="deadline"' in running.get("/probe?target=T0")
            assert server.logins == 1
            (child,) = running.processes()[1:]
            child.send_signal(signal.SIGKILL)
            running.wait_for("ended by signal 9", START)
            while 'reason="deadline"' not in running.get("/probe?target=T0"):
                pass
            assert server.logins == LOGIN_ATTEMPTS
            running.process.kill()
        for _ in range(2):
            with exporter(tmp_path, settings, options) as running:
                assert 'reason="login_suspended"' in running.get("/probe?target=T0")
        assert server.logins == LOGIN_ATTEMPTS
