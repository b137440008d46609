"""Frames as JSON for scripts: one object on one line for each server and sample.

Ratios are 0-1, rates per second, sizes bytes, durations seconds; null is what is not known.
"""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ase_exporter.diagnosis.diagnose import Finding
from ase_exporter.sessions.encode import snapshot_json
from ase_exporter.top.frames import Frame


def as_json(frame: Frame) -> str:
    """The frame as one line of JSON."""
    return json.dumps(content(frame), ensure_ascii=False, allow_nan=False)


def content(frame: Frame) -> dict[str, Any]:
    """The object: the sample's time, the verdict, then all figures."""
    sample, figures = frame.sample, asdict(frame.figures)
    for space, described in zip(frame.figures.spaces, figures["spaces"], strict=True):
        described["used"] = space.used
    for spinlock, described in zip(frame.figures.spinlocks, figures["spinlocks"], strict=True):
        described["contention"] = spinlock.contention
    return {
        "target": sample.target,
        "time": datetime.fromtimestamp(sample.at, UTC).isoformat(timespec="milliseconds"),
        "version": sample.version,
        "error": sample.error or None,
        "error_kind": sample.kind or None,
        "state": frame.diagnosis.state,
        "verdict": frame.diagnosis.sentence,
        "findings": [_finding(each) for each in frame.diagnosis.findings],
        "not_judged": {each.name: each.reason for each in frame.diagnosis.unknown},
        "compared_with": frame.usual or None,
        "account": dict(frame.diagnosis.account.parts),
        "interval": sample.interval,
        "window": figures.pop("seconds"),
        "hottest": frame.figures.hottest.name if frame.figures.hottest else None,
        **figures,
        "sessions": snapshot_json(sample.sessions) if sample.sessions else None,
        "missing": dict(sample.missing),
        "changes": [change.json() for change in sample.changes],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "finding": finding.name,
        "word": finding.word,
        "text": finding.text,
        "share": finding.share,
        "usual": finding.usual,
        "confidence": finding.confidence,
        "about": {finding.subject.kind: finding.subject.name} if finding.subject else {},
        "next": list(finding.next_steps),
    }
