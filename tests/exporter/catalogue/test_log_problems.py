"""Messages of the error log are known by their text, in any case, and by number and names in any language."""

from pathlib import Path

import pytest

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue.labels import log_problem, log_problems

TEMPORARY = frozenset({"tempdb", "saptempdb", "app_tempdb1", "work.area"})
CASES = load_yaml(Path(__file__).with_name("log_problems.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("change", [str, str.upper, str.lower, str.title], ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("problem", "text"), [(name, text) for name, texts in CASES["texts"].items() for text in texts]
)
def test_texts_are_known_in_any_case(problem: str, text: str, change: type[str]) -> None:
    assert log_problem(0, change(text), TEMPORARY) == problem


@pytest.mark.parametrize("language", CASES["no_space"])
@pytest.mark.parametrize("case", CASES["full"], ids="-".join)
def test_a_full_segment_is_known_in_any_language(language: str, case: list[str]) -> None:
    *names, problem = case
    text = CASES["no_space"][language].format(*names)
    assert log_problem(1105, text, TEMPORARY) == problem
    if language == "English":
        assert log_problem(0, text, TEMPORARY) == problem


def test_every_line_of_the_file_has_a_problem_and_a_class() -> None:
    assert {each["who"] for each in log_problems()} == {"page", "ticket"}
    classes = {(each["problem"], each["who"]) for each in log_problems()}
    assert len(classes) == len({problem for problem, _ in classes})
    assert all(each["pattern"] or each["number"] for each in log_problems())
