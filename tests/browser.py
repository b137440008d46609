"""A page opened in Chromium: what it asks for, and what the browser complains about."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
TIMEOUT_MS = 90_000


@dataclass
class Opened:
    """requests: their URLs, that for the page itself included. complaints: errors and messages of the console."""

    page: "Page"
    path: Path
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def show(self, source: str) -> None:
        """Show a page in its place: it must run and load nothing, and have nothing to complain about."""
        self.path.write_text(source, encoding="utf-8")
        self.requests.clear()
        self.page.reload()
        assert (self.requests, self.complaints) == ([self.path.as_uri()], [])
        assert self.page.locator("script, img, iframe, object").count() == 0


@contextmanager
def opened(path: Path, theme: Literal["light", "dark"] = "light", width: int = 1100) -> Iterator[Opened]:
    """A file, empty if there is none, as a browser of that theme shows it. Skips the test without Chromium."""
    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not installed")
    # Each process of the tests imports this module; few open a page.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=TIMEOUT_MS
        )
        seen = Opened(browser.new_page(color_scheme=theme, viewport={"width": width, "height": 900}), path)
        seen.page.set_default_timeout(TIMEOUT_MS)
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        path.touch()
        seen.page.goto(path.as_uri())
        yield seen
        browser.close()
