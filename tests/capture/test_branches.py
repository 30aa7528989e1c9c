# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What Python does with values that were not computed, and what a graph does at each replay."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gated import GATED

from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.capture.unknown import use_of_value
from intelliperf_swizzle.frontends.triton.tracing import find_dependences
from intelliperf_swizzle.hardware import load_target

READ = "def close():\n    same = x.item()\n    return same\n\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("if x.item() > 9: gate.append(1)", 5),
        ("if quiet:\n    pass\nelif close():\n    gate[0] = 1", 7),
        ("value = x.item() * 2\nwhile value > 9:\n    gate.append(1); value = 0", 6),
        ("on = int(x.item() > 9)\narm(on)", 6),
        ("kept = [x.item()]\nmode = 7 if kept[0] else 3\narm(mode)", 7),
        ("for turn in range(x.item()):\n    gate.append(turn)", 5),
        ("def late(gate):\n    if close():\n        gate[0] = 1\nlate(gate)", 6),
        ("arm(round(x.item(), 1))", 5),
        ("print(arm(x.item()))", 5),
        ("word = '%.3f' % x.item()\narm(len(word))", 6),
        ("word = f'{x.item():.1f}'\nif '9' in word:\n    arm(1)", 6),
        ("gate[0] = float(x.item())", 5),
        ("def read():\n    global m\n    m = x.item()\nread()\narm(m)", 9),
        ("get = lambda: x.item()\narm(get())", 6),
        ("level = x.item()\ndef late():\n    return level > 9\narm(late())", 8),
        ("ok = close() and arm(3)", 5),
        ("with open('x', 'w') as f:\n    print(x.item(), file=f)", 6),
        ("values['mean'] = x.item()", 5),
        ("kept = []\nkept.append(x.item())\ndef late():\n    return kept[-1]\narm(late())", 9),
        ("losses = [0]\nlosses[0] = x.item()\nif max(losses) > 9: arm(1)", 7),
        ("assert x.item()", None),
        ("def mean():\n    return x.item()\nkept = {}\nkept['mean'] = mean()\nprint(kept)", None),
        ("losses = []\nlosses.append(x.item())\nprint(sum(losses) / 2, losses[-1])", None),
        ("print('same' if close() else 'another')", None),
        ("assert_close(x.item(), 1)", None),
        ("equal = close()\nif equal:\n    print(1)\nelse:\n    word = 'no'\n    print(word)", None),
        ("total = 0\ntotal += x.item()\nshare = total / 2\nif share > 1: raise ValueError", None),
        ("import sys\nprint(x.item(), file=sys.stderr)", None),
        ("print(f'{round(x.item(), 2):.3f}', arm(3), '%.1f' % x.item())", None),
        ("import logging\nlogging.getLogger('a').info('%.2f', x.item())", None),
        ("import sys\nsys.stdout.write(f'{x.item()}\\n')", None),
        ("error = abs(arm(3) - x.item())\nif error > 9:\n    raise ValueError(f'{error}')", None),
        ("def check():\n    error = close()\n    ok = error < 2\n    print('ok' if ok else error)\n"
         "    return ok\nok = check()\nok &= check()\nif not ok: print('no')", None),
    ],
)  # fmt: skip
def test_a_decision_is_distinguished_from_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int | None
) -> None:
    uses = []

    def item() -> int:
        uses.append(use_of_value(sys._getframe(1)))
        return 1

    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(READ + text)
    names = {
        "x": SimpleNamespace(item=item),
        "gate": [0],
        "quiet": False,
        "assert_close": max,
        "values": {},
    }
    runpy.run_path(str(tmp_path / "app.py"), {**names, "arm": lambda value: 3})
    assert next(filter(None, uses), "") == (f"app.py:{line}" if line else "")


APPLICATION = (
    """
import sys, torch, triton, triton.language as tl

"""
    + GATED
    + """
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
)


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


OUTSIDE = (
    """
import json, math, pickle, numpy as np, torch, triton, triton.language as tl

"""
    + GATED
    + """
@triton.jit
def count(gate):
    tl.atomic_add(gate, 1)

def tuned(kernel, **hooks):
    configs = [triton.Config({{}}, num_warps=number) for number in (4, 8)]
    return triton.autotune(configs, key=[], **hooks)(kernel)

w, gate, other = (torch.zeros(64, dtype=torch.int32, device="cuda") for _ in range(3))
large = torch.ones(8192, 8192, device="cuda", dtype=torch.float16)
some = (large @ large)[:1].clone()
{text}
gated[8,](w, gate)
"""
)
ADDS = "def add(*_, **__): gate.add_(1)\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("torch.save(some, 'x.pt')\nif torch.load('x.pt')[0, 0] > 9: gate += 1", 22),
        ("held = pickle.loads(pickle.dumps(some))\ngate += int(held.max())", 22),
        ("np.save('x.npy', some.cpu().numpy())\ngate += int(np.load('x.npy').max())", 22),
        ("json.dump(some.tolist(), open('x', 'w'))\ngate += int(json.load(open('x'))[0][0])", 22),
        ("gate.fill_(int(math.sqrt(float(some.max()))))", 22),
        ("gate[0] = float(some.max())", 22),
        (f"{ADDS}tuned(count, post_hook=add)[1,](other)", 22),
        (f"{ADDS}tuned(count, pre_hook=add)[1,](other)", 22),
        ("tuned(count)[1,](gate)\ngate -= 1", 0),
        ("tuned(count, restore_value=['gate'])[1,](gate)\ngate -= 1", None),
        ("print(f'{some.max().item():.3f}', math.sqrt(float(some.max())), some, some.tolist())\n"
         "worst = abs(some - large[:1]).max().item()\nassert worst >= 0", None),
    ],
)  # fmt: skip
def test_contents_are_not_known_after_what_was_not_computed_leaves_torch(
    tmp_path: Path, text: str, line: int | None
) -> None:
    """As numbers, bytes and files; so do the hooks of a tuner, and what its trials write."""
    (tmp_path / "app.py").write_text(OUTSIDE.format(text=text))
    request = RecordRequest(
        [sys.executable, "app.py"], tmp_path, tmp_path / "record", target=load_target("mi300x")
    )
    run = capture(request)
    assert run.exit_code == 0, run.last_lines
    last = find_dependences(run.launches, timeout_seconds=100)[-1]
    lost = "the contents of gate were not recorded"
    reason = f"{lost}, as app.py:{line} decides by what was not computed" if line else lost
    assert reason in (last.unknown or "") if line is not None else not last
