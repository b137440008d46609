"""How a real server differs from the simulated one of its version, from a capture of each, as Markdown."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.real import ase

from ase_exporter.capture.file import Capture, Execution
from ase_exporter.capture.playback import Playback
from ase_exporter.capture.privacy import with_pseudonyms
from ase_exporter.capture.session import Plan, take_capture
from ase_exporter.catalogue import ServerFacts, load_catalogue, read_facts
from ase_exporter.catalogue.versions import Version
from ase_simulator.schema.profiles import Profile, profiles

NONE = "None."
_SHOWN = 100


def nearest(version: Version) -> Profile:
    """The newest simulated version of the same edition that is no newer; else the oldest."""
    same = [each for each in profiles().values() if each.cluster == version.cluster]
    return max(
        (each for each in same if each.level <= version.numbers),
        key=lambda each: each.level,
        default=min(same, key=lambda each: each.level),
    )


def simulated_twin(taken: Capture, folder: Path) -> Capture:
    """A capture of the simulated server of the same version, prepared in the same way."""
    version = read_facts(Playback(taken.statements).query).version
    catalogue, _ = load_catalogue()
    with ase.server(nearest(version).key, folder) as twin:
        ase.prepare(twin)
        found = take_capture(twin.config, twin.target, catalogue, Plan(1, everything=True))
    return with_pseudonyms(found, b"twin")[0]


def report(real: Capture, simulated: Capture) -> str:
    """The report: what only one of both has, and what both have but answer differently."""
    here, there = (read_facts(Playback(each.statements).query) for each in (real, simulated))
    lines = [f"# ASE {here.version} beside the simulated {there.version}", "", f"`{here.version.banner}`"]
    for title, of_facts in _FACTS.items():
        lines += _section(title, of_facts(here), of_facts(there))
    answers = _by_statement(real), _by_statement(simulated)
    for title, of_answer in _ANSWERS.items():
        both = answers[0].keys() & answers[1].keys()
        lines += _section(title, *({sql: of_answer(each[sql]) for sql in both} for each in answers))
    return "\n".join(lines) + "\n"


def _section(title: str, here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    differing = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    for name in differing[:_SHOWN]:
        yield f"- `{name}`: {here.get(name, 'absent')}; simulated: {there.get(name, 'absent')}"
    if len(differing) > _SHOWN:
        yield f"- and {len(differing) - _SHOWN} more"
    if not differing:
        yield NONE


def _columns(facts: ServerFacts) -> dict[str, str]:
    return {f"{table}.{name}": kind for table, found in facts.tables.items() for name, kind in found.items()}


def _wait_events(facts: ServerFacts) -> dict[str, str]:
    return {str(number): " / ".join(texts) for number, texts in facts.wait_events.items()}


def _by_statement(capture: Capture) -> dict[str, Execution]:
    return {each.sql: each for each in capture.statements}


def _outcome(answer: Execution) -> str:
    # Its text may hold names, which have other pseudonyms in each capture.
    return f"Msg {answer.error.number}" if answer.error else "no error"


def _types(answer: Execution) -> str:
    return ", ".join(
        f"{c.name} {c.type}({c.size})" for result in answer.results for c in result.columns or []
    )


def _content(answer: Execution) -> str:
    """Whether there are rows, and which columns are NULL in all of them."""
    for result in answer.results:
        if result.columns and result.rows:
            columns = zip(result.columns, zip(*result.rows, strict=True), strict=True)
            empty = [column.name for column, values in columns if all(value is None for value in values)]
            return "rows" + (f", NULL: {', '.join(empty)}" if empty else "")
    return "no rows"


_FACTS: dict[str, Callable[[ServerFacts], dict[str, str]]] = {
    "Columns and types of monitoring tables": _columns,
    # sysconfigures has a row for each cache, too.
    "Configuration options": lambda facts: dict.fromkeys(facts.options.keys() - facts.caches, "present"),
    "Wait events": _wait_events,
}
_ANSWERS: dict[str, Callable[[Execution], str]] = {
    "Errors": _outcome,
    "Types of results": _types,
    "Rows": _content,
}
