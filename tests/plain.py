"""Programs under test print plainly, whatever runs the tests: rich and typer look for these when they are loaded."""

import os

for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS"):
    os.environ.pop(name, None)
