"""Keeps rich and typer from colouring and wrapping output, whatever terminal or CI runs the tests.

They read these variables when they are imported, so this module is imported before them.
"""

import os

_VARIABLES = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS")

for name in _VARIABLES:
    os.environ.pop(name, None)
