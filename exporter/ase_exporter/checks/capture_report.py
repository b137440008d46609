"""What a capture shows of its server, as `check` shows it, and what happened while it was recorded."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from ase_exporter.capture.file import Capture, load
from ase_exporter.capture.playback import NOT_RECORDED, Playback
from ase_exporter.catalogue import Catalogue
from ase_exporter.checks.target_check import TargetCheck, TargetReport
from ase_exporter.checks.view import check_view
from ase_exporter.config import Auth, Config, Target
from ase_exporter.errors import UserError
from ase_exporter.views.view import Items, Part, Section, View

_TIMEOUT = 600.0
_SLOWEST = 5
# Characters of an error or a statement.
_MAX_SHOWN = 160


def capture_view(path: Path, catalogue: Catalogue) -> View:
    """The view. Raises UserError if the file is no capture, or its server did not say its version."""
    capture = load(path)
    target = Target(name=path.name, host="capture")
    config = Config(targets=(target,), auth={"default": Auth(user="LOGIN", password="")})
    checking = TargetCheck(
        config,
        target,
        catalogue,
        everything=True,
        timeout=_TIMEOUT,
        open_connection=Playback(capture.statements).open,
    )
    try:
        report = checking.report()
    except UserError as error:
        raise UserError(f"{path}: {error}: expected an answer to @@version") from None
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError):
        raise UserError(f"{path}: not a server's answers: expected those to facts and collectors") from None
    left_out = [each for each in report.failures if NOT_RECORDED in each.message]
    failed = [each for each in report.failures if each not in left_out]
    shown = check_view(replace(report, failures=failed))
    names = [name for each in left_out for name in each.collectors]
    return View(
        path.name,
        [
            Items([*_recorded(capture, report), f"not in the capture: {', '.join(names) or 'none'}"]),
            *shown.parts,
            *_recording(capture),
        ],
    )


def _recorded(capture: Capture, report: TargetReport) -> Iterator[str]:
    """By what it was recorded, and of which server."""
    header, facts = capture.header, report.facts
    yield f"recorded {header.created} by ase-exporter {header.exporter}, {header.scrapes} scrapes"
    if header.exporter != version("ase-exporter"):
        yield "recorded by another version: statements that changed since are not in the capture"
    if header.driver:
        yield "driver: " + ", ".join(f"{name} {text}" for name, text in header.driver.items())
    yield f"banner: {facts.version.banner}"
    roles = ", ".join(sorted(facts.roles)) or "none"
    yield f"{len(facts.tables)} monitoring tables, {len(facts.options)} options; roles: {roles}"


def _recording(capture: Capture) -> Iterator[Part]:
    errors = Counter(each.error for each in capture.statements if each.error)
    found = [
        f"{count} x {error.kind}{f', Msg {error.number}' if error.number else ''}: {_shortened(error.text)}"
        for error, count in errors.most_common()
    ]
    yield Section("Errors while recording", [Items(found or ["none"])])
    slowest = sorted(capture.statements, key=lambda each: -each.seconds)[:_SLOWEST]
    texts = [
        f"{each.seconds * 1000:.1f} ms, {len(each.rows)} rows: {_shortened(each.sql)}" for each in slowest
    ]
    yield Section("Slowest statements", [Items(texts)])


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}..."
