"""The documentation says what the library does: examples print what is shown, and generated pages are up to date."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def script(name):
    """Import one of the scripts in docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the types of their fields
    spec.loader.exec_module(module)
    return module


EXAMPLES = script("_examples")


def pages():
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if any(EXAMPLES.examples(page)):
            marks = [pytest.mark.gpu] if EXAMPLES.NEEDS_GPU in page else []
            yield pytest.param(page, id=path.relative_to(DOCS).as_posix(), marks=marks)


@pytest.mark.parametrize("page", list(pages()))
def test_examples_print_what_the_page_shows(page):
    found = EXAMPLES.differences(page)
    assert not found, f"\n{found}\n\npython docs/_examples.py --write PAGE puts what is printed into the page"


def test_support_matrix_is_made_from_the_code():
    generate = script("_generate")
    assert generate.PAGE.read_text(encoding="utf-8") == generate.page(), "run python docs/_generate.py"


def test_every_page_is_in_the_navigation():
    def files(nav):
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from [entry] if isinstance(entry, str) else files(entry)

    navigation = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    assert sorted(files(navigation)) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (ROOT / link).exists()]
