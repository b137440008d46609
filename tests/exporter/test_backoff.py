"""Pauses after failures in a row."""

from ase_exporter.backoff import Backoff


def test_pauses_grow_and_end_with_a_success() -> None:
    backoff, now, pauses = Backoff[str, None](60.0, 300.0), 0.0, []
    for _ in range(6):
        pauses.append(backoff.note("ONE", None, now, accident=True))
        assert backoff.seconds_left("ONE", now) == pauses[-1]
        now += 300.0
        assert backoff.seconds_left("ONE", now) == 0.0
    assert pauses == [0.0, 60.0, 120.0, 240.0, 300.0, 300.0]
    backoff.clear("ONE")
    assert (backoff.note("ONE", None, now), backoff.times("TWO")) == (60.0, 0)
