"""Writes the alerting rules, and the tables of alerts and of the error log.

Rules come from definitions/*.yaml and from the thresholds in parameters.yaml; ase_exporter.rules.definitions says how.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ase_exporter.assets import load_yaml
from ase_exporter.rules.definitions import rule_files
from ase_exporter.rules.messages import messages
from ase_exporter.rules.parameters import DEFINITIONS, PLACEHOLDER, DefinitionError, parameters

HERE = Path(__file__).parent
RULES = HERE / "rules"
TABLE = HERE / "runbooks" / "README.md"
FIRST_LINES = HERE / "first-lines.md"
TESTS = HERE / "tests"
MESSAGES = HERE.parent / "docs" / "error-log.md"

HEADER = """\
# The alerts

Written by `make generate`. `critical` needs somebody now, `warning` in working hours, `info` is for the record.
"""
FIRST_LINES_HEADER = """\
# What the alerts say

Written by `make generate`: the first line of each alert, as it reads when it fires in its test (`tests/`). Below it, a
notification says more, and since when.
"""
MESSAGES_HEADER = """\
# Messages of the error log

Written by `make generate` from `exporter/ase_exporter/rules/messages.yaml`. AseErrorLogSevere is critical for those
that page and a warning for tickets. What is not here pages from severity 20 on and is a ticket from 17 on; all messages
of ASE 16.0 from 17 on are here, with its severities. Texts without a number, and those of a segment that is full, are
judged by `exporter/ase_exporter/catalogue/log_problems.csv`.
"""


def placeholders(definition: Path) -> set[str]:
    """Return the names of the parameters that a definition uses."""
    return set(PLACEHOLDER.findall(definition.read_text()))


def alert_table() -> str:
    """Return the page with the table of alerts. Raises DefinitionError for an alert without a condition."""
    severities: dict[str, list[str]] = {}
    conditions: dict[str, str] = {}
    for definition in sorted(DEFINITIONS.glob("*.yaml")):
        content = load_yaml(definition.read_text())
        for rule in (rule for group in content["groups"] for rule in group["rules"] if "alert" in rule):
            severities.setdefault(rule["alert"], []).append(rule["severity"])
            conditions.setdefault(rule["alert"], rule.get("when", ""))
    if missing := [name for name, condition in conditions.items() if not condition]:
        raise DefinitionError(f"{missing[0]}: its first rule has no `when`")
    rows = [
        f"| [{name}]({name}.md) | {', '.join(severities[name])} | {condition} |"
        for name, condition in conditions.items()
    ]
    return "\n".join([HEADER, "| alert | severity | fires when |", "| --- | --- | --- |", *rows, ""])


def first_lines() -> str:
    """Return the page of what alerts say: of each severity, what its test expects first."""
    said: dict[tuple[str, str], str] = {}
    for path in sorted(TESTS.glob("*.test.yaml")):
        checks = (
            check
            for test in load_yaml(path.read_text())["tests"]
            for check in test.get("alert_rule_test", ())
        )
        for check in checks:
            for alert in check.get("exp_alerts", ()):
                key = check["alertname"], alert["exp_labels"]["severity"]
                said.setdefault(key, alert["exp_annotations"]["summary"])
    rows = [
        f"| [{name}](runbooks/{name}.md) | {severity} | {line.replace('|', '/')} |"
        for (name, severity), line in sorted(said.items())
        if severity != "none"
    ]
    return "\n".join(
        [FIRST_LINES_HEADER, "| alert | severity | first line |", "| --- | --- | --- |", *rows, ""]
    )


def message_table() -> str:
    """Return the page of the messages of the error log."""
    parts = [MESSAGES_HEADER]
    for group in messages().groups:
        rows = [f"| {numbers} | {severity} | {cause} |" for numbers, severity, cause in group.rows()]
        parts += [
            f"## {group.about}: {group.who}",
            f"{group.action}. Source: {group.source}.",
            "",
        ]
        parts += ["| number | severity | cause |", "| --- | --- | --- |", *rows, ""]
    sources = [f"- {name}: {source}." for name, source in messages().sources.items()]
    return "\n".join([*parts, "## Sources", *sources, ""])


def _files() -> Iterator[tuple[Path, str]]:
    """Yield (path, text) of every file to write. What follows reads the files written before it."""
    for name, text in rule_files(parameters()):
        yield RULES / name, text
    yield TABLE, alert_table()
    yield FIRST_LINES, first_lines()
    yield MESSAGES, message_table()


def _stale(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    print(f"{path} is not up to date: make generate", file=sys.stderr)
    return True


def main(argv: list[str] | None = None) -> None:
    """Write all files; with --check write none and exit with 1 if any is out of date."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a file is stale"
    )
    options = arguments.parse_args(argv)
    try:
        if options.check:
            stale = [path for path, text in _files() if _stale(path, text)]
            sys.exit(1 if stale else 0)
        for path, text in _files():
            path.write_text(text)
    except DefinitionError as error:
        print(f"alerts.write: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
