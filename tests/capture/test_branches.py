# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What Python does with values that were not computed, and what a graph does at each replay."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.capture.unknown import use_of_value
from intelliperf_swizzle.frontends.triton.tracing import find_dependences
from intelliperf_swizzle.hardware import load_target

READ = "def close():\n    same = read()\n    return same\n\n"


@pytest.mark.parametrize(
    ("text", "line"),  # negative: it decides, but no branch is seen
    [
        ("if read() > 9: gate.append(1)", 5),
        ("if quiet:\n    pass\nelif close():\n    gate[0] = 1", 7),
        ("value = read() * 2\nwhile value > 9:\n    gate.append(1); value = 0", 6),
        ("on = int(read() > 9)\narm(on)", 5),
        ("kept = [read()]\nmode = 7 if kept[0] else 3\narm(mode)", 6),
        ("for turn in range(read()):\n    gate.append(turn)", 5),
        ("def late(gate):\n    if close():\n        gate[0] = 1\nlate(gate)", 6),
        ("arm(read())", -5),
        ("def mean():\n    return read() / 2\nvalues = {}\nvalues['mean'] = mean()", -8),
        ("assert read()", None),
        ("print('same' if close() else 'another')", None),
        ("assert_close(read(), 1)", None),
        ("equal = close()\nif equal:\n    print(1)\nelse:\n    word = 'no'\n    print(word)", None),
        ("total = 0\ntotal += read()\nshare = total / 2\nif share > 1: raise ValueError", None),
    ],
)
def test_a_branch_is_distinguished_from_words(tmp_path: Path, text: str, line: int | None) -> None:
    uses = []

    def read() -> int:
        frame = sys._getframe(1)
        uses.extend([use_of_value(frame, floats=False), use_of_value(frame, floats=True)])
        return 1

    (tmp_path / "app.py").write_text(READ + text)
    names = {"read": read, "gate": [0], "quiet": False, "arm": str, "assert_close": max}
    runpy.run_path(str(tmp_path / "app.py"), names)
    assert uses[0] == (f"app.py:{abs(line)}" if line else "")
    assert uses[1] == (uses[0] if line and line > 0 else "")


APPLICATION = """
import sys, torch, triton, triton.language as tl

@triton.jit
def gated(w, gate):
    at = w + tl.program_id(0)
    if tl.load(gate) > 0:
        tl.store(at + 1, tl.load(at))
    tl.store(at, 1)

@triton.jit
def aligned(w):
    at = w + tl.program_id(0)
    if w.to(tl.int64) // 4 % 2 == 1:
        tl.store(at + 1, tl.load(at))
    tl.store(at, 1)

w, gate = (torch.zeros(64, dtype=torch.int32, device="cuda") for _ in range(2))
aligned[8,](w)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    more = gate + 1
    gate.copy_(more)
    gated[8,](w, gate)
graph.replay()
graph.replay()
gate.zero_()
gated[8,](w, gate)
large = torch.ones(8192, 8192, device="cuda", dtype=torch.float16)
product = large @ large
assert not torch.allclose(product, large)
gated[8,](w, gate)
if product[0, 0] > 9:
    gate.fill_(1)
gated[8,](w, gate)
"""


def test_contents_are_known_until_python_branches_by_what_was_not_computed(tmp_path: Path) -> None:
    """What torch does in a graph is done at each replay. An address as a number decides nothing: it
    is another one in the next run."""
    (tmp_path / "app.py").write_text(APPLICATION)
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    run = capture(request)
    assert run.exit_code == 0, run.last_lines
    paths = [launch.storages[1].contents for launch in run.launches[1:]]
    held = [np.load(path).view(np.int32)[0] if path else None for path in paths]
    assert held == [2, 3, 0, None]
    assert [launch.count for launch in run.launches] == [1, 1, 1, 2, 1]
    first, *_, harmless, last = find_dependences(run.launches, timeout_seconds=100)
    assert "`tt.ptr_to_int` (app.py:14)" in first.unknown
    assert not harmless
    assert "app.py:33 decides by what was not computed" in last.unknown
