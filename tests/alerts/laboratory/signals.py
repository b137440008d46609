"""Samples of a time line's series, from the shapes in time_lines.yaml.

A shape is a number, or a mapping with one of these keys:
linear: {time: value}, straight between; steps: {time: value}, each until the next (null: no such series);
rate: {time: per second}, a counter that grows so; noise: [low, high]; last: [period, offset], the time of the last
multiple of a period. `every` repeats points with a period, `resets` lists times at which a counter starts again from
zero. `drift` adds values of these standard deviations that are forgotten within these times: {30m: 2, 20s: 4}.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ase_exporter.rules.intervals import seconds_of

Value = float | None


def seconds(text: str | float) -> float:
    """Seconds of `8h30m`, `-3d` or a number."""
    if isinstance(text, (int, float)):
        return float(text)
    return -seconds_of(text[1:]) if text.startswith("-") else seconds_of(text)


def samples(shape: Any, times: Sequence[float], seed: str = "") -> list[Value]:
    """One value for each time; None where the series does not exist."""
    if isinstance(shape, (int, float, str)):
        return [seconds(shape)] * len(times)
    if "noise" in shape:
        chance = random.Random(seed)
        return [round(chance.uniform(*shape["noise"]), 4) for _ in times]
    if "last" in shape:
        period, offset = map(seconds, shape["last"])
        return [(time - offset) // period * period + offset for time in times]
    kind = next(kind for kind in ("linear", "steps", "rate") if kind in shape)
    points = {seconds(time): None if value is None else seconds(value) for time, value in shape[kind].items()}
    every = seconds(shape["every"]) if "every" in shape else None
    read = _line if kind == "linear" else _step
    values = [read(points, time % every if every else time) for time in times]
    if "drift" in shape:
        drift = _drift({seconds(memory): size for memory, size in shape["drift"].items()}, times, seed)
        values = [
            None if value is None else max(0.0, value + more)
            for value, more in zip(values, drift, strict=True)
        ]
    if kind == "rate":
        return _counter(values, [seconds(each) for each in shape.get("resets", ())], times)
    return values


def _drift(sizes: Mapping[float, float], times: Sequence[float], seed: str) -> list[float]:
    chance = random.Random(seed)
    parts = {memory: chance.gauss(0, size) for memory, size in sizes.items()}
    found: list[float] = []
    before = times[0]
    for time in times:
        for memory, size in sizes.items():
            kept = math.exp((before - time) / memory)
            parts[memory] = kept * parts[memory] + math.sqrt(1 - kept**2) * chance.gauss(0, size)
        found.append(sum(parts.values()))
        before = time
    return found


def _step(points: Mapping[float, Value], time: float) -> Value:
    found = bisect_right(list(points), time)
    return list(points.values())[found - 1] if found else None


def _line(points: Mapping[float, Value], time: float) -> Value:
    moments = list(points)
    right = bisect_right(moments, time)
    if right == 0:
        return points[moments[0]]
    if right == len(moments):
        return points[moments[-1]]
    start, end = moments[right - 1], moments[right]
    low, high = points[start], points[end]
    if low is None or high is None:
        return None
    return low + (high - low) * (time - start) / (end - start)


def _counter(rates: Sequence[Value], resets: Sequence[float], times: Sequence[float]) -> list[Value]:
    found: list[Value] = []
    total, before = 0.0, times[0]
    for rate, time in zip(rates, times, strict=True):
        total += (rate or 0.0) * (time - before)
        if any(before < reset <= time for reset in resets):
            total = 0.0
        found.append(float(int(total)))
        before = time
    return found
