"""Links between pages lead somewhere."""

import re
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, anchors, links, name, prose


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if fragment:
            assert fragment in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {ROOT / "README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        targets = {
            (page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link
        }
        found = {target for target in targets if target.suffix == ".md"} - reached
        reached |= found
        waiting += found
    assert set(PAGES) - reached == set()


def test_every_picture_is_shown_and_exists() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for found in re.findall(r'!\[[^\]]*\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"', prose(page))
        for target in found
        if target
    }
    assert shown == set((ROOT / "docs" / "images").iterdir())


def test_each_role_has_five_pages_to_read_in_order() -> None:
    paths, _, _ = (ROOT / "docs" / "index.md").read_text("utf-8").partition("## All pages")
    roles = paths.split("\n**")[1:]
    assert len(roles) == 5
    for role in roles:
        steps = re.findall(r"^(\d)\. \[[^\]]+\]\(([^)]+)\): \w", role, re.MULTILINE)
        assert [number for number, _ in steps] == list("12345"), role
        assert len({page for _, page in steps}) == 5, role


def test_the_list_of_all_pages_has_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in links(index) if "://" not in link}
    assert {page for page in PAGES if page.parent == index.parent} - listed == {index}
