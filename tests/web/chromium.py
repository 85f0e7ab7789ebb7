"""Debian's Chromium, driven by Playwright, and a place for the records that it shows."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"]


def make_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and a current folder for records, where nothing is yet."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    for name in [name for name in os.environ if name.startswith(("RUNCARD_", "CLAUDE", "CODEX", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    return work


def open_view(page: Page, url: str) -> None:
    """Open a page, and wait until all its parts and charts are there."""
    page.goto(url)
    expect(page.locator(".lazy, .htmx-request, [data-chart]:empty")).to_have_count(0)


def launch() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
