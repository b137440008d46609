"""The repository, and the directory of published reports and case studies that may lie beside it."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
DEPLOY = REPOSITORY / "deploy"
DOCS = REPOSITORY / "docs"
SHARED = REPOSITORY.parent / "shared"
