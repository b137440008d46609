"""Marks for tests of programs that not every machine has: without them the tests are skipped, with the reason."""

import shutil

import pytest

VICTORIA_METRICS = pytest.mark.skipif(
    not (shutil.which("victoria-metrics") and shutil.which("vmalert")),
    reason="victoria-metrics is not installed",
)
needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="prometheus is not installed"
)
