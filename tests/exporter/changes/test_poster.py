"""The queue into Grafana: regions, rejected and late posts, unusable answers."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn
from tests.programs import eventually_here

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.changes.grafana import Grafana, GrafanaError, Poster, payload
from ase_exporter.changes.store import Store, open_store
from ase_exporter.config.changes import GrafanaConfig
from ase_exporter.errors import UserError

pytestmark = pytest.mark.anyio
Result = TypeVar("Result")


@pytest.fixture
def settings(grafana: GrafanaStandIn, tmp_path: Path) -> GrafanaConfig:
    (tmp_path / "token").write_text(TOKEN)
    return GrafanaConfig(url=grafana.url, token_file=tmp_path / "token", timeout=60, tags=("production",))


def annotation(text: str = "ALTER") -> Change:
    return Change(new_id(), "PROD", ANNOTATION, text, "", "", time.time(), source="user")


async def here(work: Callable[[], Result]) -> Result:
    return work()


@pytest.fixture
def store() -> Store:
    return open_store(None)


@asynccontextmanager
async def posting(store: Store, settings: GrafanaConfig) -> AsyncIterator[Poster]:
    client = Grafana(settings)
    yield Poster(store, client, here)
    await client.close()


@pytest.fixture
async def poster(store: Store, settings: GrafanaConfig) -> AsyncIterator[Poster]:
    async with posting(store, settings) as poster:
        yield poster


async def drain(poster: Poster) -> None:
    while await poster.step():
        pass


async def run_until(poster: Poster, done: Callable[[], object]) -> None:
    """Let it post until then."""
    running = asyncio.create_task(poster.run())
    await eventually_here("done, or failed", lambda: bool(done()) or running.done())
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])


async def test_a_region_that_ended_before_grafana_came_back_is_one_annotation(
    grafana: GrafanaStandIn, store: Store, poster: Poster
) -> None:
    begun = annotation()
    store.add(begun, post=True)
    store.finish(begun.id, begun.at + 60, "exit code 1", post=True)
    await drain(poster)
    (region,) = grafana.annotations
    assert region["timeEnd"] - region["time"] == 60_000
    assert {"failed", "production", "target:PROD", "ase-exporter"} < set(region["tags"])


async def test_what_grafana_will_never_take_does_not_hold_up_the_rest(
    grafana: GrafanaStandIn, caplog: pytest.LogCaptureFixture, store: Store, poster: Poster
) -> None:
    store.add(replace(annotation("too old"), at=1.0), post=True)
    store.add(annotation("good"), post=True)
    await drain(poster)
    assert poster.rejected == 1 and store.queued() == 0
    assert grafana.texts() == ["good"]
    assert "Grafana rejected" in caplog.text


async def test_a_post_that_was_carried_out_after_we_gave_up_is_found_and_deleted(
    settings: GrafanaConfig,
    grafana: GrafanaStandIn,
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
    poster: Poster,
) -> None:
    store.add(annotation(), post=True)
    hurried = Grafana(replace(settings, timeout=2.0))
    grafana.mood, grafana.hang = "hang_then_store", 60.0
    with pytest.raises(GrafanaError, match="no answer within"):
        await Poster(store, hurried, here).step()
    await hurried.close()
    grafana.mood = "ok"
    await poster.step()
    grafana.let_go.set()
    await eventually_here("the second annotation", lambda: len(grafana.annotations) == 2)
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    await drain(poster)
    assert [annotation["id"] for annotation in grafana.annotations] == [1]


@pytest.mark.parametrize("mood", ["store_then_500", "store_then_drop"])
async def test_a_post_whose_answer_was_lost_is_not_repeated(
    grafana: GrafanaStandIn, mood: str, store: Store, poster: Poster
) -> None:
    store.add(annotation(), post=True)
    grafana.mood = mood  # type: ignore[assignment]
    with pytest.raises(GrafanaError):
        await poster.step()
    grafana.mood = "ok"
    await drain(poster)
    assert store.queued() == 0
    assert len(grafana.annotations) == 1


UNUSABLE = {
    "no id": b'{"message": "Annotation added"}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"7",
    "an id that is null": b'{"id": null}',
    "an id that is text": b'{"id": "abc"}',
    "an id that is true": b'{"id": true}',
    "an id below 1": b'{"id": 0}',
    "an id beyond 64 bits": b'{"id": ' + b"9" * 30 + b"}",
    "an id beyond Python's digits": b'{"id": ' + b"9" * 5000 + b"}",
    "nested too deeply": b"[" * 200_000,
    "no JSON": b"<html>sign in</html>",
}


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        pytest.param(method, answer, id=f"{method} {name}")
        for method in ("POST", "GET")
        for name, answer in UNUSABLE.items()
        # A search answers a list, so an empty one is right.
        if (method, name) != ("GET", "a list")
    ],
)
async def test_an_answer_without_a_usable_id_is_a_failure_that_is_tried_again(
    settings: GrafanaConfig, method: str, answer: bytes
) -> None:
    asked: list[str] = []
    good = {"POST": b'{"id": 5}', "GET": b"[]"}

    def respond(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.method)
        bad = request.method == method and asked.count(method) == 1
        return httpx2.Response(200, content=answer if bad else good[request.method])

    store = open_store(None)
    store.add(annotation(), post=True)
    if method == "GET":
        # Only a repeated post searches first.
        post = store.next_post(time.time())
        assert post
        store.begin_post(post)
    grafana = Grafana(replace(settings, max_backoff=0.01), httpx2.MockTransport(respond))
    poster = Poster(store, grafana, here)
    await run_until(poster, lambda: not store.queued())
    assert poster.failures == 1
    await grafana.close()


async def test_an_error_of_the_poster_itself_is_counted_and_does_not_end_it(
    settings: GrafanaConfig, grafana: GrafanaStandIn, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    create = Grafana.create
    failed: list[Change] = []

    async def broken_once(grafana: Grafana, change: Change) -> int:
        if not failed:
            failed.append(change)
            raise KeyError("a bug")
        return await create(grafana, change)

    monkeypatch.setattr(Grafana, "create", broken_once)

    async with posting(store, replace(settings, max_backoff=0.01)) as poster:
        store.add(annotation(), post=True)
        await run_until(poster, lambda: grafana.annotations)
        assert poster.failures == 1


async def test_a_token_that_cannot_be_read_waits_and_is_never_shown(
    settings: GrafanaConfig, grafana: GrafanaStandIn, store: Store, poster: Poster
) -> None:
    store.add(annotation(), post=True)
    settings.token_file.write_text("secret\nlines")
    with pytest.raises(UserError, match="expected one line with a token") as error:
        await poster.step()
    assert "secret" not in str(error.value)
    settings.token_file.write_text(TOKEN)
    await drain(poster)
    assert len(grafana.annotations) == 1


def test_a_payload_has_milliseconds_and_tags_once_each() -> None:
    change = replace(annotation(), at=1_790_000_000.1234, tags=("ddl", "annotation", "ddl"))
    body = payload(change, ("ddl",))
    assert body["time"] == 1_790_000_000_123
    assert body["tags"] == ["ase-exporter", "annotation", "ddl", "target:PROD", f"change:{change.id}"]


def test_markup_of_a_server_is_plain_text_in_an_annotation_and_a_users_own_stays() -> None:
    change = Change(new_id(), "PROD", "cache", "", "1", "2", 1_790_000_000.0)
    hostile = payload(replace(change, name="\x1b[31m<img src=x> [click](http://evil.example) `x`"))["text"]
    assert not set("\x1b<>[]`") & set(hostile)
    assert "&lt;img src=x&gt;" in hostile
    assert "<b>patch</b>" in payload(annotation("<b>patch</b>"))["text"]


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b" " * 65536
        await asyncio.sleep(0)


async def trickling() -> AsyncIterator[bytes]:
    yield b"["
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("content", "reason"),
    [(endless, "the answer has over 4,194,304 bytes"), (trickling, "no answer within 0.2 s")],
)
async def test_an_answer_without_end_is_a_failure(
    settings: GrafanaConfig, content: Callable[[], AsyncIterator[bytes]], reason: str
) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=content()))
    # The endless answer may take longer than the trickling one.
    timeout = 0.2 if content is trickling else 60.0
    grafana = Grafana(replace(settings, timeout=timeout), transport)
    with pytest.raises(GrafanaError, match=reason):
        async with asyncio.timeout(5):
            await grafana.create(annotation())
    await grafana.close()
