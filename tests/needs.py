"""Programs that not every machine has: tests that need them skip there, and say so."""

import shutil

import pytest

VICTORIA_METRICS = pytest.mark.skipif(
    not (shutil.which("victoria-metrics") and shutil.which("vmalert")),
    reason="victoria-metrics is not installed",
)
