# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A hunt small enough for every change, and whether its own ground truth can be believed."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

from hunt import gates
from hunt.applications import (
    APPEARS,
    DECIDED,
    EFFECTS,
    VIEWED,
    Application,
    application,
    programs,
)
from hunt.campaign import Campaign, Pair, pairs_of
from hunt.deciders import DECIDERS, VIEWS
from hunt.gates import judge
from hunt.swizzles import drops_tiles, patched, renumber
from hunt.truth import LAUNCH, ORDERS, RENUMBERED, Truth
from intelliperf_swizzle import children

BACK = "pid = num_pids - 1 - pid"
PAIRS = 84
SEED = 502_519
"""Of fourteen applications that have all five families of effects, thirteen effects and 22 of the
traits among them, and are not in the recorded campaign."""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    """A small campaign."""
    folder = tmp_path_factory.mktemp("hunt")
    campaign = Campaign(1, folder / "record.jsonl", folder / "counterexamples")
    campaign.run(PAIRS, [SEED])
    return pairs_of(folder / "record.jsonl")


def test_nothing_wrong_is_accepted(pairs: list[Pair]) -> None:
    wrong = [(p.seed, p.text) for p in pairs if p.accepted and p.truth == "harmful"]
    assert wrong == []
    assert 3 * sum(p.truth == "harmful" for p in pairs) >= len(pairs)
    assert len({p.harm for p in pairs if p.harm}) >= 4


def test_hardly_anything_right_is_refused(pairs: list[Pair]) -> None:
    harmless = [p for p in pairs if p.truth == "harmless"]
    refused = Counter((p.effect, p.reason) for p in harmless if not p.accepted)
    assert sum(refused.values()) <= 0.1 * len(harmless), refused


@pytest.mark.parametrize(
    ("seed", "names", "text"),
    [
        (20037, "OTHER", BACK),
        (20000184, "TURNED", BACK),
        (20000055, "TURNED OTHER", BACK),
        (20001471, "TURNED", BACK),
        (
            30001127,
            "TURNED",
            f"heads = cdiv(N, 2)\npid = where(heads * 2 > num_pids, {BACK[6:]}, 0)",
        ),
    ],
    ids=[
        "last of some",
        "stride that is a count",
        "two names of one memory",
        "step that is a size",
        "rows longer than apart, and no proof for other sizes",
    ],
)
def test_a_dependence_in_another_run_alone_is_found(
    truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, names: str, text: str
) -> None:
    """The last of the programs 0, 5, 10, … wins, three are recorded; rows that are as many as a
    row is long, or else overlap; atomics at another size and with another argument alone; a
    distance that is as many as there are rows, or 0."""
    monkeypatch.setenv("DEV", "cpu")
    app, variant = application(seed), dict.fromkeys(names.split(), "1")
    [original, *_] = outcomes(truth, app, tmp_path / "app")
    [other] = truth.outcomes(tmp_path / "app", [LAUNCH], variant=variant)
    [verdict] = judge(tmp_path / "app", lambda _: [text])
    assert verdict.accepted
    subprocess.run(["git", "apply", "-"], cwd=tmp_path / "app", input=verdict.patch, text=True,
                   check=True)  # fmt: skip
    assert truth.outcomes(tmp_path / "app", [LAUNCH]) == [original]
    assert truth.outcomes(tmp_path / "app", [LAUNCH], variant=variant) == [other]


def test_a_call_beside_a_recording_leaves_nothing_of_its_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEV", "cpu")
    (tmp_path / "beside.py").write_text(
        "from threading import Event\n\nbegun, ended = Event(), Event()\n\n\n"
        "def wait(request, folder):\n    begun.set()\n    ended.wait(60)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    beside = import_module("beside")
    call = threading.Thread(target=lambda: children.call("beside:wait", None, limit_seconds=60))
    install, start = gates.recorder.install, gates._start

    def installed(*given: object) -> None:
        install(*given)
        if not call.ident:  # as the model is compiled while the first application is recorded
            call.start()
            beside.begun.wait(1)

    def started(*given: object, **named: object) -> object:
        ended = start(*given, **named)
        beside.ended.set()
        return ended

    monkeypatch.setattr(gates.recorder, "install", installed)
    monkeypatch.setattr(gates, "_start", started)
    app = first("none", "launches: one", "1 axes")
    for name in ("one", "two"):
        write(app, tmp_path / name)
        [verdict] = judge(tmp_path / name, lambda _: ["pid = num_pids - 1 - pid"])
        call.join()
        assert verdict.accepted


# --- what decides ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [20000026, pytest.param(20000103, marks=pytest.mark.long)], ids=["first", "late"]
)
def test_the_verdict_names_the_tensor_whose_contents_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Also if they decide in the last of many launches alone, which no model looks at."""
    monkeypatch.setenv("DEV", "cpu")
    app = application(seed)
    assert app.contents
    write(app, tmp_path / "app")
    [verdict] = judge(tmp_path / "app", lambda _: ["pid = num_pids - 1 - pid"])
    assert verdict.accepted
    assert {*app.contents} <= {*verdict.contents}


@pytest.mark.parametrize("by", [*DECIDERS, *VIEWS])
def test_what_decides_is_other_in_another_run(truth: Truth, by: str, tmp_path: Path) -> None:
    app = next(
        app
        for app in map(application, count(VIEWED if by in VIEWS else DECIDED))
        if f"decided by {by}" in app.traits
        and app.effect in ("last store at a place", "reads the tile before", "chained sum", by)
        and not {"persistent", APPEARS} & {*app.traits}
        and programs(app.launches[0]) > 3
    )
    write(app, tmp_path / "app")
    seen, *others = [
        truth.outcomes(tmp_path / "app", ORDERS, variant=variant) for variant in ({}, *app.variants)
    ]
    assert len({*map(len, (*seen, *others[0]))}) == 1
    differing = [len({*other}) > 1 for other in (seen, *others)]
    assert any(differing)
    assert not all(differing)


# --- the ground truth -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def truth() -> Iterator[Truth]:
    with Truth() as process:
        yield process


def first(effect: str, *traits: str) -> Application:
    """The first application with an effect and traits, numbered as usual."""
    return next(
        app
        for app in map(application, range(100_000))
        if app.effect == effect
        and set(traits) <= set(app.traits)
        and not set(app.traits) & {"work list", "ragged", "more programs than tiles"}
        and not any(trait.startswith(("shared", "gated")) for trait in app.traits)
        and programs(app.launches[0]) > 3
    )


def write(app: Application, folder: Path, text: str | None = None) -> None:
    folder.mkdir()
    for name, content in {**app.files, **(patched(app, text) if text else {})}.items():
        (folder / name).write_text(content)


def outcomes(truth: Truth, app: Application, folder: Path, text: str | None = None) -> list[str]:
    write(app, folder, text)
    return truth.outcomes(folder, ORDERS)


@pytest.mark.parametrize("effect", ["none", "atomic_add", "counts arrivals", "lock around a sum"])
def test_no_order_changes_what_free_programs_compute(
    truth: Truth, effect: str, tmp_path: Path
) -> None:
    assert EFFECTS[effect].family == "free"
    found = outcomes(truth, first(effect, "launches: one"), tmp_path / "app")
    assert len(set(found)) == 1
    assert len(found[0]) == 16


@pytest.mark.parametrize(
    "effect", ["chained sum", "last writer", "atomic_xchg", "ticket is kept", "atomic_cas"]
)
def test_order_changes_what_dependent_programs_compute(
    truth: Truth, effect: str, tmp_path: Path
) -> None:
    launch, backwards, _ = outcomes(truth, first(effect, "launches: one"), tmp_path / "app")
    assert launch != backwards


@pytest.mark.parametrize("effect", ["polls by atomic_add", "polls by load", "takes its turn"])
def test_a_program_that_waits_for_a_later_one_hangs(
    truth: Truth, effect: str, tmp_path: Path
) -> None:
    app = first(effect, "launches: one", "1 axes")
    assert outcomes(truth, app, tmp_path / "app")[0] not in ("hang", "fault")
    reverse = outcomes(truth, app, tmp_path / "patched", "pid = num_pids - 1 - pid")
    assert reverse[0] == "hang"


def test_a_tile_beyond_the_tensors_is_a_fault(truth: Truth, tmp_path: Path) -> None:
    app = first("none", "launches: one", "1 axes")
    assert outcomes(truth, app, tmp_path / "app", "pid = pid + num_pids * 9")[0] == "fault"


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_patch_made_by_hand_is_right(truth: Truth, axes: int, tmp_path: Path) -> None:
    app = first("none", "launches: one", f"{axes} axes")
    original = outcomes(truth, app, tmp_path / "app")
    text = "last = num_pids - 1\npid = last if pid == 0 else max(pid, 1) - 1"
    assert not drops_tiles(text, app.launches[0])
    assert outcomes(truth, app, tmp_path / "moved", text) == original
    dropping = "pid = where(pid == 1 and num_pids > 1, 0, pid)"
    assert drops_tiles(dropping, app.launches[0])
    assert outcomes(truth, app, tmp_path / "dropped", dropping) != original


def test_what_changes_for_a_type_of_tensor_is_executed(truth: Truth, tmp_path: Path) -> None:
    app = application(20000078)
    [original, *_] = outcomes(truth, app, tmp_path / "app")
    change = ["pid = num_pids - 1 - pid", [{"kind.element_ty": "fp32"}]]
    (tmp_path / "app" / RENUMBERED).write_text(json.dumps(change))
    assert truth.outcomes(tmp_path / "app", [LAUNCH]) == [original]


def test_plain_python_agrees_with_what_a_text_says() -> None:
    app = first("none", "launches: one", "1 axes")
    [launch] = app.launches
    count = launch.grid[0]
    assert renumber("pid = num_pids - 1 - pid", launch) == list(range(count))[::-1]
    assert renumber("pid = pid + 1", launch) is None
