# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The HTML page in a real browser, where there is one: no console errors, nothing cut off."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.readers import percent
from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report.files import result
from intelliperf_swizzle.report.pages import render

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (CHROMIUM names one)"),
]

LOOK = """
<script>
addEventListener("load", () => {
  const widest = document.scrollingElement.scrollWidth;
  const seen = {
    overflow: widest > innerWidth,
    images: Array.from(document.querySelectorAll("image")).map((i) => i.href.baseVal.length),
    drawn: Array.from(document.querySelectorAll("figure svg")).every((figure) =>
      figure.getBoundingClientRect().height > 20),
    dark: getComputedStyle(document.querySelector(".swizzle-report")).backgroundColor,
    focusable: document.querySelectorAll("a, button, select, input, summary, [tabindex]").length,
    loaded: performance.getEntriesByType("resource")
      .filter((entry) => !entry.name.startsWith("data:")).length,
  };
  const numbers = document.querySelectorAll("#before-after tbody")[0];
  seen.numbers = numbers && Array.from(numbers.rows).map((row) => [
    row.cells[0].textContent,
    ...Array.from(row.querySelectorAll("data")).map((cell) => [cell.value, cell.textContent]),
  ]);
  document.body.dataset.seen = JSON.stringify(seen);
});
</script>
"""


def look(page: str, folder: Path, *options: str, width: int = 1200) -> dict[str, Any]:
    """What a browser makes of a page; fails on whatever it writes to its console."""
    path = folder / "report.html"
    path.write_text(page.replace("</body>", LOOK + "</body>") if "</body>" in page else page + LOOK)
    browser = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", *options,
         "--virtual-time-budget=3000", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    console = [line for line in browser.stderr.splitlines() if "CONSOLE" in line]
    assert not console
    [seen] = re.findall(r'data-seen="([^"]*)"', browser.stdout)
    found: dict[str, Any] = json.loads(seen.replace("&quot;", '"'))
    assert found["loaded"] == 0
    assert not found["overflow"]
    assert found["drawn"]
    return found


def test_the_numbers_on_the_page_are_those_of_the_result(run_on_a_gpu: Run, tmp_path: Path) -> None:
    seen = {name: rest for name, *rest in look(render(run_on_a_gpu), tmp_path)["numbers"]}
    own = result(run_on_a_gpu, initial="", optimized="")["swizzle"]
    before, best = own["baseline"], own["best"]["measurement"]
    keys = {"L2 hit rate": "l2_hit_rate", "bytes from memory": "memory_bytes", "time": "time_ms"}
    for name, key in keys.items():
        assert [float(value) for value, _ in seen[name]] == [before[key], best[key]]
    shown = [percent(measurement["l2_hit_rate"]) for measurement in (before, best)]
    assert [text for _, text in seen["L2 hit rate"]] == shown


def test_the_page_of_500_attempts_is_drawn(run_of_500: Run, tmp_path: Path) -> None:
    seen = look(render(run_of_500), tmp_path)
    assert min(seen["images"]) > 100
    assert seen["focusable"] > 500


@pytest.mark.parametrize("width", [500, 800])
def test_nothing_is_cut_off_on_a_narrow_screen(run: Run, tmp_path: Path, width: int) -> None:
    look(render(run), tmp_path, width=width)


def test_it_is_dark_where_that_is_preferred(run: Run, tmp_path: Path) -> None:
    dark = look(render(run), tmp_path, "--force-dark-mode")["dark"]
    assert max(map(int, re.findall(r"\d+", dark)[:3])) < 64
    light = look(render(run), tmp_path)["dark"]
    assert light == "rgb(255, 255, 255)"


def test_it_can_be_printed(run_of_500: Run, tmp_path: Path) -> None:
    page, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(render(run_of_500))
    subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu",
         f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={printed}", page.as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 3 <= len(pages) <= 6
