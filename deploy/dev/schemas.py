"""Checks files by the schemas that others publish for them, all in one process: a start takes seconds of CPU."""

import sys
from pathlib import Path

from check_jsonschema import main

CHECKS = {
    "vendor.github-workflows": ".github/workflows/*.yaml",
    "custom.github-workflows-require-timeout": ".github/workflows/*.yaml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/*.yml",
    "vendor.compose-spec": "**/docker-compose.yml",
}

# The one file there that is no form.
NO_FORM = "config.yml"


def check(schema: str, pattern: str) -> int:
    """The exit code of check-jsonschema, which prints what is wrong."""
    found = [path for path in Path().glob(pattern) if not path.parts[0].startswith((".venv", ".demo"))]
    files = [str(path) for path in found if (path.name == NO_FORM) == pattern.endswith(NO_FORM)]
    assert files, f"{pattern}: no such file"
    code: int = main([f"--builtin-schema={schema}", *files], standalone_mode=False)
    return code


if __name__ == "__main__":
    sys.exit(max(check(schema, pattern) for schema, pattern in CHECKS.items()))
