# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The terminal: it fits, says the same numbers, and knows a terminal from a pipe."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from intelliperf_swizzle.readers import percent
from intelliperf_swizzle.records import (
    KernelSource,
    KernelSummary,
    Launch,
    MissCauses,
    Run,
    SourceFunction,
    TensorArgument,
)
from intelliperf_swizzle.report import terminal
from intelliperf_swizzle.report.causes import lines
from intelliperf_swizzle.report.sentences import cautions, numbers, outcome
from intelliperf_swizzle.report.terminal import Lines, Pace, show, summary

LONG = "a_kernel_whose_name_is_that_of_the_model_and_its_layer_and_all_its_types_" * 2

SHOW = """
import sys, time
from intelliperf_swizzle.cli import progress_display
with progress_display(len(sys.argv) > 1) as progress:
    progress.phase("tracing a kernel with a name that is long enough to need a second line")
    progress.note("a note")
    progress.phase("searching")
    for done in range(1, 5):
        progress.step(done, 8, f"best {done}.0 %")
        time.sleep(0.3)
"""


NO_MISSES = dict.fromkeys(("compulsory", "other_domain", "capacity", "conflict"), 0)
FILE = f"report: swizzle-out/{LONG}/report.html"


def printed(run: Run, width: int, verbosity: int = 0) -> str:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "PIPE_WIDTH", width)
        show(summary(run, [FILE], verbosity), stream)
    return stream.getvalue()


@pytest.mark.parametrize("verbosity", [-1, 0, 1, 2])
@pytest.mark.parametrize("width", [40, 80])
def test_it_fits_its_width_with_names_of_any_length(shown: Run, width: int, verbosity: int) -> None:
    """But for the lines that people copy: the swizzle's, commands, and where files are."""
    row = KernelSummary(LONG, 3, 10**9, 0.5, 0.9, 10**12, place=f"{LONG}.py:{10**6}")
    run = replace(shown, kernel=LONG, kernels=(row, replace(row, note="it waits for others")))
    copied = {
        FILE,
        *cautions(run.cautions),
        *outcome(run)[3:],
        *(run.best.candidate.text.splitlines() if run.best else ()),
    }
    for line in printed(run, width, verbosity).splitlines():
        assert len(line) <= width or line in copied


@pytest.mark.parametrize("width", [40, 80])
def test_a_swizzle_and_a_path_are_copied_whole(run: Run, width: int) -> None:
    assert run.best is not None
    text = "\n".join(f"step_{i} = {' + '.join(['pid % num_xcds'] * i)}" for i in range(1, 20))
    best = replace(run.best, candidate=replace(run.best.candidate, text=f"{text}\n"))
    shown = printed(replace(run, best=best), width)
    assert f"\n{text}\n" in shown
    assert f"\n{FILE}\n" in shown


def test_the_numbers_are_those_of_the_run(shown: Run) -> None:
    text = printed(shown, 120)
    for row in numbers(shown):
        before, after = row.texts()
        [line] = [
            line for line in text.splitlines() if re.match(rf"│ {re.escape(row.name)}\s", line)
        ]
        assert before in line
        assert not shown.best or after in line
    assert percent(shown.ceiling.l2_hit_rate) in text


def test_modelled_numbers_that_none_was_counted_beside_stand_there_once(run: Run) -> None:
    """As after a limit: times are measured, and nothing was counted yet."""
    names = [row.name for row in numbers(replace(run, predicted=run.baseline))]
    assert names == [row.name for row in numbers(run)]


def test_it_explains_why_requests_miss_and_why_the_swizzle_helps(run: Run) -> None:
    text = " ".join(printed(run, 200).split())
    for line in lines(run):
        assert line in text
    assert re.search(r"Why it misses: \d+ of 100 requests miss: .*\d+ another XCD", text)


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (
            "other_domain",
            r"Neighbours in a column of tiles share `b_ptr`; 75\.0 % of them now run on one",
        ),
        ("capacity", r"Tiles that share `b_ptr` now run closer together in time"),
        ("conflict", r"no longer crowd the same channels and sets of the L2 with `b_ptr`"),
    ],
)
def test_the_class_with_most_misses_gone_says_why(run: Run, cause: str, says: str) -> None:
    assert run.best is not None
    assert run.best.measurement is not None
    assert run.picture is not None
    kept = MissCauses(("a_ptr",), 500, 10, 100, 10, 10)
    before = MissCauses(("b_ptr",), 500, **{**NO_MISSES, cause: 300})
    after = replace(before, **{cause: 100})
    [tiles] = run.picture.tiles
    assert tiles.after is not None
    tiles = replace(
        tiles,
        before=replace(tiles.before, neighbours_together=(0.5, 0.0)),
        after=replace(tiles.after, neighbours_together=(0.5, 0.75)),
    )
    changed = replace(
        run,
        picture=replace(run.picture, tiles=(tiles,)),
        baseline=replace(run.baseline, causes=(before, kept)),
        best=replace(run.best, measurement=replace(run.best.measurement, causes=(kept, after))),
    )
    *_, sentence = lines(changed)
    assert re.search(says, sentence)
    assert lines(replace(changed, best=None)) == lines(changed)[:1]


def test_verbosity_lists_attempts_and_quiet_prints_the_verdict(run_of_500: Run) -> None:
    def listed(text: str) -> int:
        return len(re.findall(r"^│ +\d+ │", text, re.MULTILINE))

    assert [listed(printed(run_of_500, 80, verbosity)) for verbosity in (0, 1)] == [0, 10]
    assert listed(printed(run_of_500, 80, 2)) == len(run_of_500.attempts)
    assert len(printed(run_of_500, 80, -1)) < 1000


def test_attempts_begin_with_the_winner_and_say_what_screened_means(run_of_500: Run) -> None:
    eligible = [
        attempt
        for attempt in run_of_500.attempts
        if attempt.verdict.eligible and attempt.measurement
    ]
    lowest = min(eligible, key=lambda attempt: attempt.measurement.l2_hit_rate)
    text = printed(replace(run_of_500, best=lowest), 10_000, 1)
    first, *others = re.findall(r"^│ +(\d+) │.*│ +([\d.]+) % │$", text, re.MULTILINE)
    assert first[0] == str(lowest.number)
    assert [rate for _, rate in others] == sorted((rate for _, rate in others), reverse=True)
    assert "faster model" in text


def test_nothing_is_wrapped_in_a_pipe(shown: Run) -> None:
    stream = io.StringIO()
    show(summary(shown, [FILE]), stream)
    assert stream.getvalue().startswith("\n".join(outcome(shown)) + "\n")


def on_a_terminal(columns: int, *arguments: str, **environment: str) -> str:
    """What a program that shows progress writes to a terminal of so many columns."""
    ruling = ("NO_COLOR", "COLUMNS", "LINES")  # of the terminal that runs the tests
    plain_environment = {name: value for name, value in os.environ.items() if name not in ruling}
    ours, theirs = pty.openpty()
    size = ["stty", "cols", str(columns), "rows", "30"]
    subprocess.run(size, stdin=theirs, check=True)
    process = subprocess.Popen(
        [sys.executable, "-c", SHOW, *arguments], stdout=theirs, stderr=theirs,
        env={**plain_environment, "TERM": "xterm", **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    written = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # Linux: nobody has the other end open any more
            break
        if not some:
            break
        written += some
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


@pytest.mark.parametrize("columns", [30, 80])
def test_a_terminal_sees_what_is_over_and_what_goes_on(columns: int) -> None:
    screen = on_a_terminal(columns)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    assert "note: a note" in text
    assert re.search(r"✓ searching: best 4.0 % \(\d", text)
    assert re.search(r"━.*4/8 about \d+ s", text)
    assert "best 2.0 %" in text
    uncoloured = re.sub(r"\x1b\[[0-9;]*m", "", screen)
    lines = re.split(r"[\r\n]+|\x1b\[[0-9;?]*[A-Za-z]", uncoloured)
    assert all(len(line.rstrip()) <= columns for line in lines), lines
    assert "\x1b[?25h" in screen  # the cursor is back


def test_no_color_is_heeded() -> None:
    colour = r"\x1b\[[39][0-9][0-9;]*m"
    assert re.search(colour, on_a_terminal(80))
    assert not re.search(colour, on_a_terminal(80, NO_COLOR="1"))


def test_a_pipe_gets_plain_lines_and_quiet_gets_none() -> None:
    for arguments, expected in (
        ([], ["tracing a kernel with a name that is long enough to need a second line",
              "note: a note", "searching", "  1 of 8, best 1.0 %"]),
        (["quiet"], []),
    ):  # fmt: skip
        piped = subprocess.run(
            [sys.executable, "-c", SHOW, *arguments], capture_output=True, text=True, check=True
        )
        assert piped.stderr.splitlines() == expected
        assert piped.stdout == ""


def test_a_phase_without_progress_shows_how_long_it_takes() -> None:
    stream = io.StringIO()
    with Lines(stream, silence_seconds=0.01) as lines:
        lines.phase("tracing")
        deadline = time.monotonic() + 30
        while len(stream.getvalue().splitlines()) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stream.getvalue().splitlines()[:3] == ["tracing", "  0 s so far", "  0 s so far"]


def test_steps_of_a_pipe_are_two_seconds_apart() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    for done in range(100):
        lines.step(done, 100, "best 1.0 %")
    assert len(stream.getvalue().splitlines()) == 1


def test_what_is_left_is_estimated_from_the_steps_after_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five kernels traced at once: the first is there after all that is loaded once."""
    seconds = iter([4.0, 6.0, 6.0, 124.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(seconds))
    pace = Pace()
    left = [pace.left(done, 5) for done in (0, 1, 3)]
    assert left == ["", "", "about 2 s left"]
    assert [pace.left(done, 5) for done in (3, 2, 5)] == ["about 2 s left", "about 6 min left", ""]


@pytest.mark.parametrize(
    ("file", "place"),
    [("/v/lib/python3.11/site-packages/fla/ops/a.py", "fla/ops/a.py:7"),
     ("/home/u/project/gemm.py", "gemm.py:7")],
)  # fmt: skip
def test_a_kernel_of_a_package_is_named_by_its_place_in_it(file: str, place: str) -> None:
    source = KernelSource("a", {"a": SourceFunction("a", file, 7, "def a(): ...\n")})
    launch = Launch("a", source, (1, 1, 1), {}, (), {}, {})
    assert launch.place == place
    generated = replace(source, identity={"module": "torch._inductor"})
    given = {"x": TensorArgument(0, "fp16", (4096, 512), (512, 1)), "n": 3}
    launch = replace(launch, kernel="triton_tem_fused_mm_relu_0", source=generated, arguments=given)
    assert launch.place == "mm_relu: 4096 × 512 fp16"
