# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The HTML page is well formed, needs nothing else and says what the result file says."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.context.locality import describe_causes
from intelliperf_swizzle.mapping import describe
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.pages import DOMAIN_COLOURS, Colour, ink, render
from intelliperf_swizzle.search.deliver import Outcome

VOID = {"meta", "link", "br", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        found = [] if self.tag != tag else [self]
        found = [node for node in found if attributes.items() <= node.attributes.items()]
        for child in self.children:
            if isinstance(child, Element):
                found += child.all(tag, **attributes)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Tree(HTMLParser):
    """Refuses what a browser would have to guess: end tags that do not match, ids that repeat."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(element.attributes) == len(attrs), f"an attribute of {tag} repeats"
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data.replace("\xa0", " "))


def tree(page: str) -> Element:
    parser = Tree()
    parser.feed(page)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].tag}> is not closed"
    assert len(set(parser.ids)) == len(parser.ids)
    return parser.open[0]


def rows(table: Element) -> dict[str, list[Element]]:
    """The cells of each row by the text of its first one."""
    found = {}
    for row in table.all("tr"):
        cells = [child for child in row.children if isinstance(child, Element)]
        found[cells[0].text] = cells[1:]
    return found


def value(cell: Element) -> float | None:
    data = cell.all("data")
    return float(data[0].attributes["value"]) if data else None


def test_every_page_is_well_formed_and_loads_nothing(shown: Run) -> None:
    page = tree(render(shown))
    for tag, source in (("img", "src"), ("image", "href"), ("link", "href")):
        for node in page.all(tag):
            assert node.attributes.get(source, "data:").startswith("data:")
    for style in page.all("style"):
        assert not re.search(r"url\(|@import|https?:", style.text)
    assert not page.all("script")
    sections = {node.attributes["id"] for node in page.all("section")}
    for link in page.all("a"):
        target = link.attributes["href"]
        assert target.startswith("data:") or target[1:] in sections


def test_the_numbers_are_those_of_the_result(shown: Run, fields: dict[str, Any]) -> None:
    own = fields["swizzle"]
    best = own["best"] and own["best"]["measurement"]
    numbers = rows(tree(render(shown)).all("section", id="before-after")[0].all("table")[0])
    keys = {
        "L2 hit rate": "l2_hit_rate",
        "last-level cache hit rate": "llc_hit_rate",
        "bytes from L2": "l2_bytes",
        "bytes from memory": "memory_bytes",
        "memory time, not overlapped": "modelled_memory_time_ms",
        "time": "time_ms",
    }
    for name, key in keys.items():
        if own["baseline"][key] is None and name != "time":
            assert name not in numbers or own["predicted"]
            continue
        before, *after, source = numbers[name]
        assert value(before) == own["baseline"][key]
        assert [value(cell) for cell in after] == ([best[key]] if best else [])
        modelled = own["profiler"] == "model" and name != "time"
        if own["baseline"][key] is not None:
            assert source.text == ("modelled" if modelled or "memory time" in name else "measured")
    assert value(numbers["L2 hit rate"][0]) == pytest.approx(
        fields["metric_before"] / 100, abs=1e-5
    )


def test_the_first_section_has_the_verdict_the_pictures_and_the_patch(run: Run) -> None:
    first, *others = tree(render(run)).all("section")
    assert len(first.all("figure")) == 2
    assert "patch -p1" in first.text
    assert "`" not in first.text
    assert [other.attributes["id"] for other in others][:2] == ["why", "before-after"]


def test_why_it_misses_is_explained_by_tensor(run: Run) -> None:
    page = tree(render(run))
    section = page.all("section", id="why")[0]
    assert run.baseline.causes
    assert run.best
    assert run.best.measurement
    assert run.best.measurement.causes
    for causes, measured in (
        (run.baseline.causes, run.baseline), (run.best.measurement.causes, run.best.measurement),
    ):  # fmt: skip
        assert describe_causes(causes, "XCD") in section.text
        assert measured.l2_requests == sum(cause.requests for cause in causes)
        assert 1 - sum(cause.misses for cause in causes) / measured.l2_requests == pytest.approx(
            measured.l2_hit_rate
        )
    (table,) = [node for node in section.all("table") if "misses, in percent" in node.text]
    shares = [float(cell.text.split()[0]) for cell in table.all("td") if "%" in cell.text]
    misses = 2 - run.baseline.l2_hit_rate - run.best.measurement.l2_hit_rate
    assert sum(shares) == pytest.approx(100 * misses, abs=0.06 * len(shares))


def test_what_was_predicted_stands_beside_what_was_measured(shown: Run) -> None:
    table = tree(render(shown)).all("section", id="before-after")[0].all("table")[0]
    names = list(rows(table))
    predicted = [name for name in names if name.endswith(", predicted")]
    assert bool(predicted) is (shown.predicted is not None)
    for name in predicted:
        measured = names[names.index(name) - 1]
        assert f"{measured}, predicted" == name
        assert rows(table)[measured][2].text == "measured"
        assert rows(table)[name][2].text == "modelled"


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch")
def test_the_command_that_applies_the_patch_applies_it(
    run: Run, outcome: Outcome, tmp_path: Path
) -> None:
    assert run.best is not None
    [path] = re.findall(r"^\+\+\+ b/(.*)$", run.best.diff or "", re.MULTILINE)
    project = tmp_path / "a user's project"
    file = project / path
    file.parent.mkdir(parents=True)
    file.write_text(outcome.initial)
    page = tree(render(replace(run, file=str(file))))
    [command] = [node.text for node in page.all("pre") if node.text.startswith("patch")]
    [link] = [node for node in page.all("a") if node.attributes.get("download") == "best.patch"]
    content = base64.b64decode(link.attributes["href"].partition("base64,")[2])
    (tmp_path / "best.patch").write_bytes(content)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert file.read_text() == outcome.optimized


def test_every_attempt_is_there_with_its_numbers(shown: Run, fields: dict[str, Any]) -> None:
    section = tree(render(shown)).all("section", id="attempts")
    listed = section[0].all("tbody")[0].all("tr") if section else []
    assert len(listed) == len(fields["swizzle"]["attempts"])
    for row, attempt in zip(listed, fields["swizzle"]["attempts"], strict=True):
        cells = [child for child in row.children if isinstance(child, Element)]
        assert value(cells[0]) == attempt["number"]
        assert attempt["text"].strip() in cells[1].all("pre")[0].text
        assert cells[3].all("strong")[0].text == attempt["verdict"]
        assert attempt["reason"] in cells[3].text
        assert value(cells[4]) == attempt["screened_l2_hit_rate"]
        measured = attempt["measurement"]
        last = cells[6] if shown.predicted else cells[5]
        assert value(last) == (measured["l2_hit_rate"] if measured else None)


def test_what_others_wrote_is_shown_as_text(shown: Run) -> None:
    page = tree(render(replace(shown, kernel="<b>&amp;")))
    assert "<b>&amp;" in page.all("h1")[0].text
    assert not page.all("b")
    listed = {
        node.candidate.name: node for node in shown.attempts if node.candidate.origin == "llm"
    }
    for details in page.all("details"):
        attempt = listed.pop(details.all("summary")[0].text, None)
        if attempt is not None:
            candidate, witness = attempt.candidate, attempt.verdict.witness
            for written in (candidate.rationale, candidate.critique, candidate.idea):
                assert (written or "") in details.text
            if witness is not None:
                assert [detail.text for detail in details.all("li")] == list(describe(witness))
    assert not listed


def test_the_page_of_a_grid_shows_each_tile_where_it_runs(run: Run) -> None:
    assert run.picture is not None
    [shown] = run.picture.tiles
    svg = tree(render(run)).all("section", id="verdict")[0].all("svg")
    digits = {}
    for text in svg[0].all("text"):
        for x, digit in zip(text.attributes["x"].split(), text.text, strict=True):
            digits[int(float(x)), int(float(text.attributes["y"]))] = digit
    assert digits == {
        (x, y): digit for y, row in enumerate(shown.before.domain) for x, digit in enumerate(row)
    }


def test_what_would_tell_nothing_is_not_drawn(run: Run) -> None:
    assert run.picture is not None
    [tiles] = run.picture.tiles
    assert tiles.after is not None
    grey, coloured = (
        tuple(digit * len(row) for row in tiles.before.share) for digit in ("4", "z")
    )  # an eighth of the cell's tiles, and all of them
    both = replace(
        tiles, title="grey", before=replace(tiles.before, share=grey),
        after=replace(tiles.after, share=grey),
    )  # fmt: skip
    one = replace(both, title="coloured", after=replace(tiles.after, share=coloured))
    picture = replace(run.picture, tiles=(both, one))
    [first, *_] = tree(render(replace(run, picture=picture))).all("section")
    assert "coloured: " in first.text
    assert "grey: " not in first.text
    grey_only = tree(render(replace(run, picture=replace(picture, tiles=(both,)))))
    assert not grey_only.all("figure")


def test_500_attempts_make_no_more_than_2_megabytes(run_of_500: Run) -> None:
    page = render(run_of_500)
    assert len(tree(page).all("details")) == len(run_of_500.attempts) + 1 > 500
    assert len(page.encode()) < 2_000_000


def contrast(node: Colour, other: Colour) -> float:
    def luminance(colour: Colour) -> float:
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
                 for c in (channel / 255 for channel in colour)]  # fmt: skip
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    lighter, darker = sorted((luminance(node), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def rgb(text: str) -> Colour:
    digits = text.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def test_text_can_be_read_in_both_schemes_and_on_every_colour(run: Run) -> None:
    css = render(run).partition("<style>")[2].partition("</style>")[0]
    schemes = re.findall(r"\.swizzle-report \{([^}]*--paper[^}]*)\}", css)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = {name: rgb(colour) for name, colour in re.findall(r"--(\w+): (#\w+)", scheme)}
        for text in ("ink", "soft", "accent", "good", "bad"):
            for ground in ("paper", "panel"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for ground in ("added", "removed"):
            assert contrast(colours["ink"], colours[ground]) >= 4.5
    for colour in DOMAIN_COLOURS:
        assert contrast(rgb(ink(colour)), colour) >= 4.5
