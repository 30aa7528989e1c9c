# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Tiles that programs take in a loop are found, renumbered, and compared one by one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loops_by_hand import COLUMNS, KEPT, PROGRAMS, READ, TAKEN, loop_launch

from intelliperf_swizzle.cache import Screen, ceiling, replay
from intelliperf_swizzle.children import call_each
from intelliperf_swizzle.dependence import find_dependence, safe_order
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import TraceError
from intelliperf_swizzle.frontends.triton.ir.compile import ttir_of
from intelliperf_swizzle.frontends.triton.ir.render import RULE
from intelliperf_swizzle.frontends.triton.language import TRITON
from intelliperf_swizzle.frontends.triton.tile_loops.candidates import LoopScan
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.language import Owners, evaluate, parse
from intelliperf_swizzle.records import Access, Int64Array, Launch, MappedLaunch, Trace, Validation
from intelliperf_swizzle.search.elsewhere import _check_other_counts

TARGET = load_target("mi300x")
TURNED = "pid = (num_pids - 1 - pid + program * 0) * 3 % num_pids"
TILES = 4 * COLUMNS


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launch]:
    """Each kernel's launch, with its loop if that was found."""
    folder = tmp_path_factory.mktemp("loops")
    bodies = {**TAKEN, **READ, **{name: body for name, (body, _) in KEPT.items()}}
    return {name: loop_launch(folder, body) for name, body in bodies.items()}


@pytest.fixture(scope="module")
def seen(launches: dict[str, Launch]) -> dict[str, LoopScan]:
    found, error = call_each(
        "intelliperf_swizzle.frontends.triton.tile_loops.find:find_here",
        (list(launches.values()), None),
        environment={"TRITON_INTERPRET": "0"},
        limit_seconds=120,
    )
    assert error is None
    return dict(zip(launches, found, strict=True))


def looped(name: str, launches: dict[str, Launch], seen: dict[str, LoopScan]) -> Launch:
    assert seen[name].loop, seen[name].reasons
    return replace(launches[name], loop=seen[name].loop)


@pytest.fixture(scope="module")
def traces(launches: dict[str, Launch], seen: dict[str, LoopScan]) -> dict[str, Trace]:
    """Of each launch with a loop, its tiles."""
    made = TRITON.trace_each([looped(name, launches, seen) for name in (*TAKEN, *READ)])
    return {
        name: loop for name, loop in zip((*TAKEN, *READ), made, strict=True) if loop is not None
    }


def mapping(launch: Launch, text: str) -> Int64Array:
    assert launch.loop
    return evaluate(
        parse(text),
        launch.numbers,
        launch.constants,
        num_xcds=8,
        cus_per_xcd=38,
        owners=Owners(launch.loop.program, launch.programs, launch.loop.starts),
    )


def edit(launch: Launch, text: str = TURNED) -> Edit:
    root = Path(launch.source.entry.file).parent
    return TRITON.edit([launch], parse(text), TARGET, name="turned", roots=[root])


def validation(launch: Launch, trace: Trace, changed: Edit, tile: Int64Array) -> Validation:
    whole = np.append(tile, np.arange(len(tile), trace.tiles))
    return TRITON.validate(
        [MappedLaunch(launch, trace, whole)], changed, tolerance=0.0, budget_seconds=10
    )


@pytest.mark.parametrize("name", TAKEN)
def test_the_number_of_a_tile_is_found(name: str, seen: dict[str, LoopScan]) -> None:
    loop = seen[name].loop
    assert loop is not None, seen[name].reasons
    count = "(last + 1)" if name == "up to the last" else "tiles"
    assert (loop.name, loop.tiles, loop.count) == ("tile", TILES, count)
    order = {
        "a run of neighbours": range(7),
        "a remap of its own": range(TILES - 1, 0, -3),
        "a helper that returns early": range(1, TILES, PROGRAMS),
    }
    first = list(order.get(name, range(0, TILES, PROGRAMS)))
    assert np.flatnonzero(loop.program == 0).tolist() == sorted(first)
    assert loop.turn[first].tolist() == list(range(7))
    assert [counter.name for counter in loop.counters[1:]] == ["done"] * (name == "epilogue")


@pytest.mark.parametrize("name", READ)
def test_a_count_that_is_read_is_that_of_its_group(
    name: str, launches: dict[str, Launch], seen: dict[str, LoopScan], traces: dict[str, Trace]
) -> None:
    launch = looped(name, launches, seen)
    assert launch.loop
    grouped = name.startswith("groups")
    assert (launch.loop.tiles, launch.loop.read_from) == (TILES, ("sizes",))
    assert launch.loop.starts == ((0, 5, 10, 15) if grouped else (0,))
    text = "pid = num_pids - 1 - pid"
    tile = mapping(launch, text)
    assert tile[:5].tolist() == ([4, 3, 2, 1, 0] if grouped else [19, 18, 17, 16, 15])
    outcome = validation(launch, traces[name], edit(launch, text), tile)
    assert (outcome.same_bits, outcome.method) == (True, "all-tiles"), outcome.difference


def test_a_run_longer_than_proofs_reach_is_renumbered_in_pieces(
    tmp_path: Path, seen: dict[str, LoopScan]
) -> None:
    launch = replace(loop_launch(tmp_path, READ["tiles of all"]), loop=seen["tiles of all"].loop)
    text = edit(launch, "pid = num_pids - 1 - pid").functions[launch.source.kernel]
    inserted = text.partition("# swizzle")[2].partition("copied")[0].split("\n")[1:-1]
    lines = "\n".join(line.strip().replace("tl.minimum", "min") for line in inserted)
    new = []
    for tile in range(9000):
        names = {"tile": tile, "count": 9000}
        exec(lines, {"min": min}, names)
        new.append(names["swizzle2_tile"])
    assert new == [*range(4095, -1, -1), *range(8191, 4095, -1), *range(8999, 8191, -1)]


def test_a_count_that_the_launch_itself_writes_is_refused(tmp_path: Path) -> None:
    body = READ["tiles of all"] + "    tl.store(sizes, count // 2)\n"
    [launch], reasons = TRITON.with_loops([loop_launch(tmp_path, body)], None)
    assert launch.loop
    assert not reasons
    with pytest.raises(TraceError, match="depends on what the launch itself writes"):
        TRITON.trace(launch)


def test_a_mapping_must_hold_for_every_count_that_may_be_read(
    launches: dict[str, Launch], seen: dict[str, LoopScan]
) -> None:
    launch = looped("tiles of all", launches, seen)

    def refused(text: str) -> str:
        verdict = _check_other_counts(parse(text), [launch], TARGET)
        return verdict.reason if verdict else ""

    assert refused("pid = num_pids - 1 - pid") == ""
    assert "it fails for 1" in refused("pid = pid // 4 * 4 + 3 - pid % 4")
    assert "`program`" in refused("pid = pid + program * 0")


@pytest.mark.parametrize("name", KEPT)
def test_why_tiles_keep_their_order(name: str, seen: dict[str, LoopScan]) -> None:
    assert seen[name].loop is None
    assert any(KEPT[name][1] in reason for reason in seen[name].reasons), seen[name].reasons


def test_a_count_that_fits_by_chance_is_not_taken(tmp_path: Path) -> None:
    """`many` is how many tiles there are if `columns` is 5, as it is; the loop ends elsewhere."""
    many = "rows * 5\n    last = many * (columns // 5) - 1"
    body = TAKEN["up to the last"].replace("last = tiles - 1", f"many = {many}")
    [launch], _ = TRITON.with_loops([loop_launch(tmp_path, body)], None)
    assert launch.loop
    assert launch.loop.count == "(last + 1)"


@pytest.mark.parametrize(
    "name", ["while", "a helper that returns early", "epilogue", "up to the last"]
)
def test_renumbered_tiles_write_the_same_bytes(
    name: str, launches: dict[str, Launch], seen: dict[str, LoopScan], traces: dict[str, Trace]
) -> None:
    launch = looped(name, launches, seen)
    outcome = validation(launch, traces[name], edit(launch), mapping(launch, TURNED))
    assert (outcome.same_bits, outcome.method) == (True, "all-tiles"), outcome.difference
    assert outcome.tiles == TILES


def test_the_compiler_is_given_the_text_of_the_patch(
    launches: dict[str, Launch], seen: dict[str, LoopScan]
) -> None:
    changed = edit(looped("epilogue", launches, seen))
    [rule] = changed.rules
    by_rule = replace(changed, functions={RULE: json.dumps(rule)})
    kernel = looped("epilogue", launches, seen)
    texts = [
        compiled(kernel, source) for source in (changed, by_rule, replace(changed, functions={}))
    ]
    assert texts[0] == texts[1] != texts[2]


def compiled(launch: Launch, changed: Edit) -> str:
    return re.sub(r" loc\(.*|#loc.*", "", ttir_of(launch, edits=changed.functions))


def test_each_iteration_is_a_tile_of_the_trace(traces: dict[str, Trace]) -> None:
    trace = traces["derived"]
    assert trace.tiles == TILES + PROGRAMS  # what follows the loop, of each program
    assert np.diff(trace.tile_offset).tolist() == [3] * TILES + [1] * PROGRAMS
    y = next(segment.first_line for segment in trace.segments if segment.names == ("y",))
    written = [
        int(trace.access_base[at]) - y
        for at in range(int(trace.tile_offset[TILES]))
        if trace.shape_kind[trace.access_shape[at]] == Access.WRITE
    ]
    assert written == [tile * 64 // 128 for tile in range(TILES)]


def test_a_program_is_replayed_tile_after_tile(
    launches: dict[str, Launch], traces: dict[str, Trace]
) -> None:
    trace, whole = traces["derived"], TRITON.trace(launches["derived"])
    identity, programs = np.arange(trace.tiles), np.arange(PROGRAMS)
    order = identity.copy()
    assert replay([(trace, identity, 1, 1)], TARGET) == replay([(whole, programs, 1, 1)], TARGET)
    order[:TILES] = identity[:TILES][::-1]
    backwards = replay([(trace, order, 1, 1)], TARGET)
    assert backwards.l2_requests == replay([(whole, programs, 1, 1)], TARGET).l2_requests
    assert backwards.l2_hit_rate <= ceiling([trace], TARGET).l2_hit_rate
    screened = [Screen(replayed, TARGET, 1) for replayed in (trace, whole)]
    assert screened[0].hit_rate(identity) == screened[1].hit_rate(programs)


def test_another_mapping_than_the_proved_one_is_refused(
    launches: dict[str, Launch], seen: dict[str, LoopScan], traces: dict[str, Trace]
) -> None:
    launch = looped("epilogue", launches, seen)
    tile = mapping(launch, TURNED)
    tile[:2] = tile[1::-1]
    outcome = validation(launch, traces["epilogue"], edit(launch), tile)
    assert outcome.difference is not None
    assert "gives number 0 the tile" in outcome.difference


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("done += P", "done += P + 1", "differs in more than its numbers"),
        ("place(swizzle2_pid, columns)", "place(done, columns)", "differs in more"),
        ("+ column)", "+ swizzle2_pid)", "differs in more than its numbers"),
        ("swizzle_pid = tile\n", "swizzle_pid = tl.load(x).to(tl.int32)\n", "`tt.load`"),
    ],
)
def test_other_changes_of_the_text_are_refused(
    old: str,
    new: str,
    reason: str,
    launches: dict[str, Launch],
    seen: dict[str, LoopScan],
) -> None:
    launch = looped("epilogue", launches, seen)
    right = edit(launch)
    [key] = right.functions
    assert old in right.functions[key]
    wrong = replace(
        right,
        functions={key: right.functions[key].replace(old, new)},
        files={path: text.replace(old, new) for path, text in right.files.items()},
    )
    placed = [(launch, mapping(launch, TURNED))]
    assert reason in (TRITON.find_difference(placed, wrong) or "")


@pytest.mark.parametrize(("shown", "reason"), [
    ("    tl.store(sizes + pid, 1)\n", None),
    ("        tl.store(sizes + tile, 1)\n", "not checked: tiles that programs take in a loop"),
])  # fmt: skip
def test_tiles_are_free_if_programs_wait_for_each_other_after_them(
    shown: str, reason: str | None, tmp_path: Path
) -> None:
    """Stream-K shares the last tiles, step by step. A tile that others wait for is not free."""
    waits = "    if pid > 0:\n        while tl.load(sizes + pid - 1, volatile=True) != 1:\n"
    body = TAKEN["for"] + shown + waits + "            pass\n"
    (launch,), _ = TRITON.with_loops([loop_launch(tmp_path, body)], None)
    trace = TRITON.trace(launch)
    assert launch.loop
    assert trace.waits
    turned = np.append(np.arange(TILES)[::-1], np.arange(TILES, trace.tiles))
    found = safe_order(find_dependence(trace, launch), turned)
    assert (found and found.partition(" depend")[0]) == reason
