"""Annotations in Grafana: each arrives at least once, and nothing waits behind one that Grafana does not take."""

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.exporter.compare.test_prometheus import server
from tests.planted import GRAFANA as TOKEN
from tests.programs import eventually_here

from ase_exporter.changes import grafana as grafana_module
from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.changes.grafana import Poster, payload
from ase_exporter.changes.journal import Journal
from ase_exporter.config.changes import ChangesConfig, GrafanaConfig

pytestmark = pytest.mark.anyio

# Documented in docs/changes.md: the others from 400 to 499 end a post.
TEMPORARY = {401, 403, 408, 425, 429, *range(500, 600)}


@pytest.fixture
def settings(tmp_path: Path) -> GrafanaConfig:
    (tmp_path / "token").write_text(TOKEN)
    return GrafanaConfig(url="http://grafana", token_file=tmp_path / "token")


def annotation(text: str = "ALTER") -> Change:
    return Change(new_id(), "PROD", ANNOTATION, text, "", "", time.time(), source="user")


class Grafana:
    """Answers as Grafana does, or as `odd` does if it has an answer. posted: the annotations that it has."""

    def __init__(self, odd: Callable[[httpx2.Request], httpx2.Response | None] = lambda _: None) -> None:
        self.posted: list[dict[str, Any]] = []
        self.odd = odd

    @property
    def texts(self) -> list[str]:
        return [each["text"] for each in self.posted]

    def poster(self, settings: GrafanaConfig) -> Poster:
        """One that asks this Grafana in place of the network."""
        poster = Poster(settings)
        poster._client = httpx2.Client(base_url=settings.url, transport=httpx2.MockTransport(self))
        return poster

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/api/annotations"
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        if answer := self.odd(request):
            return answer
        if request.method == "GET":
            wanted = request.url.params["tags"]
            return httpx2.Response(200, json=[each for each in self.posted if wanted in each["tags"]])
        self.posted.append(json.loads(request.content))
        return httpx2.Response(200, json={"id": 5})


async def post_while_one_gets(
    odd: Callable[[], httpx2.Response], method: str, settings: GrafanaConfig
) -> tuple[int, int, list[str]]:
    """Failures, lost annotations and the texts that arrived; the first of two gets an odd answer for a while."""
    bad, good, later = annotation("bad"), annotation("good"), annotation("later")

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        about_bad = bad.id in str(request.url) or bad.id.encode() in request.content
        return odd() if about_bad and request.method == method and "later" not in grafana.texts else None

    grafana = Grafana(answer)
    poster = grafana.poster(settings)
    await poster.post([bad, good])
    assert poster.queued == 2 * poster.failures
    for _ in range(2):
        await poster.post([bad, good, later])
    assert poster.queued == 0
    return poster.failures, poster.lost, grafana.texts


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_whatever_status_one_annotation_gets_later_ones_arrive(
    settings: GrafanaConfig, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    for status in (*range(400, 432), 451, 499, *range(500, 512), 599):
        caplog.clear()
        odd = partial(httpx2.Response, status, content=b"not this one")
        failures, lost, arrived = await post_while_one_gets(odd, method, settings)
        temporary = status in TEMPORARY
        assert (failures, lost) == (temporary, not temporary), status
        assert arrived == ["good", "later", *(["bad"] if temporary else [])], status
        rejected = re.findall(
            rf"rejected the annotation change:\w+: HTTP {status}: not this one", caplog.text
        )
        assert len(rejected) == lost, status
        assert caplog.text.count(f"wait for Grafana: HTTP {status} to {method} of an ") == failures, status


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 65536


def failing() -> httpx2.Response:
    raise KeyError("a bug")


UNUSABLE: dict[str, Callable[[], httpx2.Response]] = {
    name: partial(httpx2.Response, 200, content=content)
    for name, content in {
        "no id": b'{"message": "Annotation added"}',
        "null": b"null",
        "a number": b"7",
        "a number beyond Python's digits": b"9" * 5000,
        "nested too deeply": b"[" * 200_000,
        "no JSON": b"<html>sign in</html>",
    }.items()
}
# Of an answer that comes slowly, test_a_slow_answer_ends_at_the_deadline says the same.
UNUSABLE |= {"a bug": failing, "no end": lambda: httpx2.Response(200, content=endless())}
SAID = {"a bug": "KeyError: 'a bug'", "no end": "the answer has over 4,194,304 bytes"}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("name", [*UNUSABLE, "a list"])
async def test_an_unusable_answer_is_a_failure_that_is_tried_again(
    settings: GrafanaConfig, method: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    # A search answers a list, and a post an annotation with an id.
    swapped = b'{"id": 5}' if method == "GET" else b"[]"
    odd = UNUSABLE.get(name, partial(httpx2.Response, 200, content=swapped))
    assert await post_while_one_gets(odd, method, settings) == (1, 0, ["good", "later", "bad"])
    assert SAID.get(name, "unexpected answer; is the address that of Grafana?") in caplog.text


async def test_while_grafana_is_down_there_is_one_request_for_each_interval_and_then_all_arrive(
    settings: GrafanaConfig,
) -> None:
    asked: list[httpx2.Request] = []

    def odd(request: httpx2.Request) -> None:
        asked.append(request)
        if len(asked) <= 12:
            raise httpx2.ConnectError("refused")

    grafana = Grafana(odd)
    poster = grafana.poster(settings)
    changes = [annotation(str(number)) for number in range(50)]
    for times in range(1, 13):
        await poster.post(changes)
        assert (len(asked), poster.failures, poster.queued) == (times, times, 50)
    await poster.post(changes)
    assert sorted(grafana.texts, key=int) == [each.name for each in changes]
    # What is known to be there is not asked for again.
    await poster.post(changes)
    assert len(asked) == 12 + 2 * len(changes)
    # Nor is anything kept of what is no recent change any more.
    await poster.post([])
    assert not poster._done and not poster._tries


async def test_what_waited_when_the_exporter_ended_is_posted_when_it_starts_again_and_nothing_else(
    settings: GrafanaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grafana, region = Grafana(), annotation("region")
    monkeypatch.setattr(grafana_module, "Poster", grafana.poster)
    monkeypatch.setattr(grafana_module, "INTERVAL", 0.01)

    @asynccontextmanager
    async def started() -> AsyncIterator[tuple[Journal, Poster]]:
        journal = Journal(ChangesConfig(grafana=settings), tmp_path / "state")
        await journal.start()
        assert journal.poster
        yield journal, journal.poster
        await journal.stop()

    async with started() as (journal, poster):
        await journal.annotate(region)
        await eventually_here("a beginning", lambda: len(grafana.posted) == 1)
        await journal.annotate(annotation("posted"))
        await eventually_here("both", lambda: len(grafana.posted) == 2)
        grafana.odd = lambda _: httpx2.Response(500)
        await journal.annotate(annotation("waiting"))
        for _ in range(2):
            await journal.finish(region.id, region.at + 60, "exit code 1")
        await eventually_here("a failure", lambda: poster.failures > 0)
    grafana.odd = lambda _: None
    async with started():
        await eventually_here("the others", lambda: len(grafana.posted) == 4)
    assert grafana.texts == ["region", "posted", "region (failed: exit code 1)", "waiting"]
    beginning, _, ended, _ = grafana.posted
    assert "timeEnd" not in beginning and ended["timeEnd"] - ended["time"] == 60_000
    assert {"failed", "target:PROD", "ase-exporter"} < set(ended["tags"])


async def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(settings: GrafanaConfig) -> None:
    def odd(request: httpx2.Request) -> httpx2.Response | None:
        if request.method == "GET":
            return None
        grafana.posted.append(json.loads(request.content))
        return httpx2.Response(500)

    grafana = Grafana(odd)
    poster, change = grafana.poster(settings), annotation()
    for queued in (1, 0):
        await poster.post([change])
        assert (poster.queued, poster.failures, grafana.texts) == (queued, 1, ["ALTER"])


async def test_a_token_that_cannot_be_read_waits_and_is_never_shown(
    settings: GrafanaConfig, caplog: pytest.LogCaptureFixture
) -> None:
    grafana, change = Grafana(), annotation()
    poster = grafana.poster(settings)
    for token in ("secret\nlines", TOKEN):
        settings.token_file.write_text(token)
        await poster.post([change])
    assert "expected one line with a token" in caplog.text
    assert "secret" not in caplog.text
    assert (len(grafana.posted), poster.failures) == (1, 1)


def test_a_payload_has_milliseconds_and_tags_once_each_and_ends_with_one_of_its_own() -> None:
    change = replace(annotation(), at=1_790_000_000.1234, tags=("ddl", "annotation", "ddl"))
    body = payload(change)
    assert body["time"] == 1_790_000_000_123
    assert body["tags"] == ["ase-exporter", "annotation", "ddl", "target:PROD", f"change:{change.id}"]
    assert payload(replace(change, end=change.at))["tags"][-1] == f"finished:{change.id}"


def test_markup_of_a_server_is_plain_text_in_an_annotation_and_a_users_own_stays() -> None:
    change = Change(new_id(), "PROD", "cache", "", "1", "2", 1_790_000_000.0)
    hostile = payload(replace(change, name="\x1b[31m<img src=x> [click](http://evil.example) `x`"))["text"]
    assert not set("\x1b<>[]`") & set(hostile)
    assert "&lt;img src=x&gt;" in hostile
    assert "<b>patch</b>" in payload(annotation("<b>patch</b>"))["text"]


async def test_grafana_is_asked_over_http_with_the_token(settings: GrafanaConfig) -> None:
    with server(b'[{"id": 5}]') as (address, seen):
        await Poster(replace(settings, url=f"http://{address}")).post([annotation()])
    assert seen == [f"Bearer {TOKEN}"]
