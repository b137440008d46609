"""The queueing model obeys the laws that any server obeys."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_simulator.model.queueing import Demand, settle

reasonable = {
    "users": st.integers(1, 3000),
    "engines": st.integers(1, 128),
    "service_ms": st.floats(0.1, 20),
    "think_ms": st.floats(0, 1000),
    "hold_us": st.floats(0.01, 50),
    "slots": st.integers(1, 64),
    "coherence": st.floats(0, 1),
}


def demand(
    users: int = 200,
    engines: int = 16,
    service_ms: float = 2.0,
    think_ms: float = 10.0,
    hold_us: float = 0.1,
    slots: int = 4,
    grabs: float = 50.0,
    coherence: float = 0.0,
) -> Demand:
    return Demand(
        users=users,
        think_s=think_ms / 1000,
        wait_s=0.001,
        service_s=service_ms / 1000,
        engines=engines,
        background_s=0.01,
        grabs=np.full(slots, grabs / slots),
        background_grabs=np.zeros(slots),
        hold_s=np.full(slots, hold_us * 1e-6),
        coherence=coherence,
    )


@given(**reasonable)
def test_no_more_engines_are_busy_than_there_are_and_no_slot_more_than_always(**given_: Any) -> None:
    asked = demand(**given_)
    point = settle(asked)
    assert point.throughput > 0
    assert point.busy <= asked.engines
    assert 0 <= point.spinning <= point.busy
    assert np.all(point.wait_rate <= point.grab_rate)


@given(**reasonable)
def test_every_user_thinks_waits_runs_or_queues(**given_: Any) -> None:
    asked = demand(**given_)
    point = settle(asked)
    away = point.throughput * (asked.think_s + asked.wait_s)
    known = away + point.busy - asked.background_s + point.run_queue
    assert known == pytest.approx(asked.users, rel=0.01)


@given(**reasonable)
def test_more_slots_never_mean_more_contention(**given_: Any) -> None:
    asked = demand(**given_)
    finer = demand(**{**given_, "slots": given_["slots"] * 8})

    def contention(asked: Demand) -> float:
        point = settle(asked)
        return float(point.wait_rate.sum() / point.grab_rate.sum())

    assert contention(finer) <= contention(asked) + 1e-3


def test_one_engine_never_finds_a_spinlock_taken() -> None:
    point = settle(demand(engines=1, hold_us=20))
    assert point.spinning == 0
    assert not point.wait_rate.any()


def test_without_contention_throughput_is_that_of_the_closed_loop() -> None:
    point = settle(demand(users=10, engines=64, hold_us=0.001))
    assert point.throughput == pytest.approx(10 / 0.013, rel=0.01)


def test_a_lock_held_half_a_millisecond_lets_two_thousand_through_and_no_more() -> None:
    point = settle(demand(users=3000, engines=64, service_ms=1, slots=1, grabs=1, hold_us=500))
    assert point.throughput == pytest.approx(2000, rel=0.02)
    assert point.busy == pytest.approx(64, rel=0.01)


def test_engines_added_to_a_spinning_server_make_it_slower() -> None:
    few = settle(demand(users=500, engines=16, slots=2, hold_us=10, coherence=1))
    many = settle(demand(users=500, engines=64, slots=2, hold_us=10, coherence=1))
    assert many.spinning > few.spinning
    assert many.throughput < few.throughput


def test_a_server_without_users_only_keeps_itself_busy() -> None:
    point = settle(demand(users=0))
    assert point.throughput == 0
    assert point.busy == pytest.approx(0.01)
    assert point.run_queue == 0
