"""What servers and clocks may do to the history and to annotations."""

import asyncio
from pathlib import Path

from tests.exporter.clocks import ShiftedClock

from ase_exporter.changes.change import Change, new_id
from ase_exporter.changes.grafana import payload
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.store import ChangeFilter
from ase_exporter.config.changes import ChangesConfig

DAY = 86400.0


def test_markup_and_escape_sequences_of_a_server_are_plain_text_in_an_annotation() -> None:
    name = "\x1b[31m<img src=x> [click](http://evil.example) `x`"
    change = Change(new_id(), "PROD", "cache", name, "1", "2", 1_790_000_000.0, None)
    text = payload(change)["text"]
    assert not set("\x1b<>[]`") & set(text)
    assert "&lt;img src=x&gt;" in text


def test_a_users_own_markup_stays() -> None:
    change = Change(new_id(), "", "annotation", "<b>patch</b>", "", "", 1_790_000_000.0, None, source="user")
    assert "<b>patch</b>" in payload(change)["text"]


def test_a_clock_that_is_far_ahead_does_not_erase_the_history(tmp_path: Path) -> None:
    shifted = ShiftedClock()

    async def story() -> list[Change]:
        journal = Journal(ChangesConfig(), tmp_path, clock=shifted.clock)
        await journal.start()
        await journal.annotate(
            Change(new_id(), "", "annotation", "patch", "", "", shifted.clock.time(), None)
        )
        shifted.jump = 5000 * DAY
        await journal._in_store(journal._prune)
        found = await journal.find(ChangeFilter())
        await journal.stop()
        return found

    assert len(asyncio.run(story())) == 1
