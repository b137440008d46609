"""What a capture shows, as Markdown for an issue."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from ase_exporter.capture.file import Capture, load
from ase_exporter.capture.playback import NOT_RECORDED, Playback
from ase_exporter.catalogue import Catalogue
from ase_exporter.checks.target_check import TargetCheck, TargetReport
from ase_exporter.config import Auth, Config, Target
from ase_exporter.errors import UserError

_TIMEOUT = 600.0


def capture_report(path: Path, catalogue: Catalogue) -> str:
    """The report. Raises UserError if the file is no capture, or its server did not say its version."""
    capture = load(path)
    target = Target(name="capture", host="capture")
    config = Config(targets=(target,), auth={"default": Auth(user="LOGIN", password="")})
    checking = TargetCheck(
        config,
        target,
        catalogue,
        everything=True,
        timeout=_TIMEOUT,
        open_connection=Playback(capture).open,
    )
    try:
        report = checking.report()
    except UserError as error:
        raise UserError(f"{path}: {error}: expected an answer to @@version") from None
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError):
        raise UserError(f"{path}: not a server's answers: expected those to facts and collectors") from None
    return "\n".join(_lines(path, capture, catalogue, report)) + "\n"


def _lines(path: Path, capture: Capture, catalogue: Catalogue, report: TargetReport) -> Iterator[str]:
    header, facts = capture.header, report.facts
    failed = [each for each in report.failures if NOT_RECORDED not in each.message]
    left_out = [name for each in report.failures if NOT_RECORDED in each.message for name in each.collectors]
    yield f"# ASE {facts.version}: what {path.name} shows"
    yield ""
    if facts.version.banner:
        yield f"- Banner: `{facts.version.banner}`"
    yield f"- Recorded {header.created} by ase-exporter {header.exporter}, {header.scrapes} scrapes"
    if header.exporter != version("ase-exporter"):
        yield "- Recorded by another version: statements that changed since are not in the capture"
    if header.driver:
        yield "- Driver: " + ", ".join(f"{name} {text}" for name, text in header.driver.items())
    roles = ", ".join(sorted(facts.roles)) or "none"
    yield f"- {len(facts.tables)} monitoring tables, {len(facts.options)} options; roles: {roles}"
    # Change detection may fail, too, but is no collector.
    unreadable = {
        *left_out,
        *(name for each in failed for name in each.collectors),
    } & catalogue.collectors.keys()
    readable = report.executed - len(unreadable)
    yield f"- {readable} collectors can be read; not in the capture: {', '.join(left_out) or 'none'}"
    sections = {
        "Collectors that failed": [
            f"{', '.join(each.collectors)}: {_code(each.message)}" + (f" ({each.note})" if each.note else "")
            for each in failed
        ],
        "What this server or login cannot give": [
            f"{gap.cause}: {', '.join(gap.collectors)}" for gap in report.gaps
        ],
        "Columns with another type than expected": [
            f"{each.table}.{each.column} is `{each.type}`, expected {each.expected}"
            for each in report.mismatches
        ],
        "Columns unknown to this exporter": _columns(report.unknown),
        "Errors while recording": _errors(capture),
        "Slowest statements": [
            f"{each.seconds * 1000:.1f} ms, {len(each.rows)} rows: {_code(each.sql)}"
            for each in sorted(capture.statements, key=lambda each: -each.seconds)[:5]
        ],
    }
    for title, found in sections.items():
        yield from ("", f"## {title}", "")
        yield from [f"- {line}" for line in found] or ["None."]


def _columns(columns: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{table}: {', '.join(names)}" for table, names in columns.items()]


def _errors(capture: Capture) -> list[str]:
    errors = Counter(each.error for each in capture.statements if each.error)
    return [
        f"{count} x {error.kind}"
        + (f", Msg {error.number}" if error.number else "")
        + f": {_code(error.text)}"
        for error, count in sorted(errors.items(), key=lambda item: -item[1])
    ]


def _code(text: str) -> str:
    line = " ".join(text.replace("`", "'").split())
    return f"`{line if len(line) <= 160 else line[:160] + '...'}`"
