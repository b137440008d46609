"""For mkdocs: links to files of the repository outside of docs/ lead to where it is published."""

import re
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()[^)\s:#]+(?=[)#])")
PROJECT = tomllib.loads((REPOSITORY / "exporter" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Not mkdocs' repo_url: the theme would ask GitHub for figures on it in every reader's browser.
ADDRESS = PROJECT["urls"]["Repository"]


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replace the links of a page that leave docs/. Links to nothing stay: mkdocs refuses them."""
    folder = Path(page.file.abs_src_path).parent

    def published(link: re.Match[str]) -> str:
        target = (folder / link[0]).resolve()
        if not target.exists() or target.is_relative_to(config.docs_dir):
            return link[0]
        return f"{ADDRESS}/blob/main/{target.relative_to(REPOSITORY)}"

    return LINK.sub(published, markdown)
