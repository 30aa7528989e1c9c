# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates and cheats, tried in a real process of an application.

Without a GPU that process runs under Triton's interpreter; the marked tests run it on one.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from applications import ADVANCED, FULL, PINNED, ROWS
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton import trials as trials_of_triton
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu, gpu_of
from intelliperf_swizzle.frontends.triton.gpu import Check, Rig, Task, Trial
from intelliperf_swizzle.frontends.triton.trials import TritonOnGpu, why_not_replayed
from intelliperf_swizzle.hardware import devices, load_target
from intelliperf_swizzle.search.builds import _no_trace as no_trace

WHERE = [False, pytest.param(True, marks=pytest.mark.gpu)]


@dataclass(frozen=True)
class Bed:
    """The application and its recorded launches."""

    folder: Path
    tasks: tuple[Task, ...]
    text: str
    gpu: Gpu | None

    def rig(self, limit_seconds: float = 300.0, **changes: float) -> Rig:
        command = (sys.executable, "app.py")
        folder = self.folder / "trials"
        request = RecordRequest(command, self.folder, folder, limit_seconds=limit_seconds)
        return Rig(request, "a test", gpu=self.gpu, cache_bytes=1 << 20, **changes)

    def edited(self, old: str, new: str) -> Mapping[str, str]:
        assert old in self.text
        return {self.tasks[0].launch.source.kernel: self.text.replace(old, new)}

    def try_out(
        self, candidates: Mapping[int, Mapping[str, str]], seconds: float = 0
    ) -> dict[int, Trial]:
        return self.rig().try_out(self.tasks, candidates, tolerance=1e-6, race_seconds=seconds)


@pytest.fixture(scope="module", params=WHERE, ids=["interpreted", "gpu"])
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    folder = tmp_path_factory.mktemp("bed")
    (folder / "app.py").write_text(ROWS)
    captured = capture(
        RecordRequest(
            [sys.executable, "app.py"],
            folder=folder / "records" / "capture",
            cwd=folder,
            device=devices()[0] if request.param else None,
        )
    )
    tasks = tuple(
        Task(launch, read=frozenset({0, 2, 3}), written=frozenset({1, 2}))
        for launch in captured.launches
    )
    text = captured.launches[0].source.entry.text
    gpu = None if request.param else gpu_of(load_target("h200"))
    return Bed(folder, tasks, text, gpu)


REVERSED = ("pid = tl.program_id(0)", "pid = tl.num_programs(0) - 1 - tl.program_id(0)")


def test_launches_that_differ_in_their_indices_are_recorded_apart(bed: Bed) -> None:
    assert [task.launch.count for task in bed.tasks] == [1, 2]
    assert all(task.launch.computed for task in bed.tasks)


CHEATS = {
    "drops a tile": (
        "pid = tl.program_id(0)",
        "pid = tl.program_id(0) % (tl.num_programs(0) - 1)",
        "first at `out[23, 0]`",
    ),
    "returns without working": ("pid = tl.program_id(0)", "return", "`out` differs"),
    "leaves a stale output": ("tl.store(out + pid * BLOCK", "pid + at  #", "`out` differs"),
    "fills the margin": ("inside = at < columns", "inside = at < BLOCK", "first at `out[0, 60]`"),
    "skips the counts": ("count + 1)", "count)", "`total` differs"),
    "rounds": ("value + 1", "value + 1.0000001", "`out` differs"),
    "writes elsewhere": (
        "    count = tl.load",
        "    tl.store(x + pid * BLOCK, 0.0)\n    count = tl.load",
        "it writes to `x`, which is an input",
    ),
}
HONEST = len(CHEATS)


@pytest.fixture(scope="module")
def trials(bed: Bed) -> dict[int, Trial]:
    """All cheats, and one that only reverses the order, in one call."""
    candidates = {n: bed.edited(old, new) for n, (old, new, _) in enumerate(CHEATS.values())}
    return bed.try_out({**candidates, HONEST: bed.edited(*REVERSED)})


@pytest.mark.parametrize("number", range(HONEST), ids=list(CHEATS))
def test_a_cheat_is_refused(number: int, trials: dict[int, Trial]) -> None:
    expected = list(CHEATS.values())[number][2]
    assert trials[number].failure is None
    assert expected in (trials[number].difference or "")
    assert trials[number].timing is None


def test_another_order_of_the_same_work_agrees(
    trials: dict[int, Trial],
) -> None:
    trial = trials[HONEST]
    assert trial.failure is None
    assert trial.difference is None
    assert trial.checks == dict.fromkeys((0, 1), Check(same=True, difference=None, loose=False))


def test_recorded_launches_are_made_again_without_the_application(bed: Bed) -> None:
    cheats = {n: bed.edited(*CHEATS[name][:2]) for n, name in enumerate(("rounds", "drops a tile"))}
    candidates = {**cheats, 2: bed.edited(*REVERSED)}
    rig = replace(bed.rig(), request=replace(bed.rig().request, command=()))
    trials = rig.try_out(bed.tasks, candidates, tolerance=1e-6, race_seconds=0.1)
    assert ["`out` differs" in (trials[n].difference or "") for n in (0, 1)] == [True, True]
    assert (trials[2].failure, trials[2].difference) == (None, None)
    assert sorted(trials[2].checks) == [0, 1]
    assert trials[2].timing is not None
    for task in bed.tasks:
        launch = task.launch
        assert why_not_replayed([launch]) is None
        lost = {n: replace(storage, contents=None) for n, storage in launch.storages.items()}
        reason = "integers in memory were not recorded"
        assert why_not_replayed([replace(launch, storages=lost)]) == reason


def test_a_process_is_ready_before_it_is_known_what_to_try(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = bed.rig()
    monkeypatch.setattr(trials_of_triton, "_rig", lambda request, gpu: rig)
    trials_of_triton.make_ready(rig.request, *[None] * 2)  # type: ignore[arg-type]
    [(_, begun)] = trials_of_triton._ready.values()
    runs = TritonOnGpu(rig, [(task.launch, no_trace(task.launch)) for task in bed.tasks], 1e-6)
    assert runs._begun[0][1] is begun
    assert begun.exit_code is None
    assert not trials_of_triton._ready
    begun.end()


TAKES = """
import sys, time
from pathlib import Path
from intelliperf_swizzle.frontends.triton.gpu.order import load_order, take_gpu
take_gpu(Path(sys.argv[1]), alone=sys.argv[2] == "alone")
print("taken", flush=True)
load_order(Path(sys.argv[1]))
"""


def test_who_counts_has_the_gpu_alone_until_it_ends(tmp_path: Path) -> None:
    def start(how: str) -> subprocess.Popen[str]:
        folder = tmp_path / f"trial-{how}"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", TAKES, str(folder), how]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def is_taken(process: subprocess.Popen[str]) -> bool:
        assert process.stdout is not None
        return bool(select.select([process.stdout], [], [], 60)[0])

    application = [start("together"), start("together")]
    assert all(map(is_taken, application)), "an application may have several processes"
    counting = start("alone")
    with pytest.raises(subprocess.TimeoutExpired):
        counting.wait(2.0)
    assert counting.stdout is not None
    assert not select.select([counting.stdout], [], [], 0)[0]
    (tmp_path / "trial-together").rmdir()
    assert [started.wait(60) for started in application] == [0, 0], "no order comes any more"
    assert is_taken(counting)
    (tmp_path / "trial-alone").rmdir()
    assert counting.wait(60) == 0


def test_the_application_goes_on_as_if_nothing_had_happened(bed: Bed) -> None:
    candidates = {
        1: bed.edited(*CHEATS["drops a tile"][:2]),
        2: bed.edited(*REVERSED),
        3: bed.edited("pid = tl.program_id(0)", "pid = unknown_name"),
    }
    rig = bed.rig(goodbye_seconds=60.0)
    trials = rig.try_out(bed.tasks, candidates, tolerance=1e-6, race_seconds=0.1)
    assert trials[3].failure is not None
    check_times(trials[2])
    newest = max((bed.folder / "trials").glob("trial-*"), key=lambda path: path.stat().st_mtime)
    assert (newest / "app.log").read_text() == as_it_is(bed)


def check_times(trial: Trial) -> None:
    timing = trial.timing
    assert timing is not None
    assert timing.rounds >= 11
    assert 0 < timing.time_ms.low <= timing.time_ms.median <= timing.time_ms.high
    assert timing.ratio.low <= timing.ratio.median <= timing.ratio.high
    assert len(timing.ratios) == 2


def as_it_is(bed: Bed) -> str:
    """What the application prints when nobody looks."""
    text = (bed.folder / "app.py").read_text()
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    if bed.gpu is not None:
        text = text.replace('"cuda"', '"cpu"')
        environment["TRITON_INTERPRET"] = "1"
    (bed.folder / "plain.py").write_text(text)
    plain = subprocess.run(
        [sys.executable, "plain.py"],
        cwd=bed.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return plain.stdout


ENDLESS = """\
for _ in range(1 << 30):
        for _ in range(1 << 30):
            pid += pid // 1000"""
"""Adds zero, for ever. Without a GPU, loops that wait for memory to change are found out."""


def test_one_that_kills_or_hangs_its_process_fails_alone(bed: Bed) -> None:
    first = "pid = tl.program_id(0)"
    fault = f"{first}.to(tl.int64) + (1 << 40)"
    hang = f"{first}\n    {ENDLESS}"
    crash = "BLOCK: tl.constexpr = __import__('os').abort())"
    candidates = {
        1: bed.edited(first, fault), 2: bed.edited(first, hang), 3: bed.edited(*REVERSED),
        4: bed.edited("BLOCK: tl.constexpr)", crash),
    }  # fmt: skip
    rig = bed.rig(run_seconds=2.0)
    trials = rig.try_out(bed.tasks, candidates, tolerance=1e-6, race_seconds=0)
    if bed.gpu is not None:  # executed from its IR, where a load from nowhere kills nothing
        assert trials[1].difference is not None
    else:
        assert trials[1].failure is not None
        assert trials[1].failure.kind == "faulted", trials[1].failure
    assert trials[2].failure is not None
    assert trials[2].failure.kind == "hung", trials[2].failure
    assert trials[3].difference is None
    assert len(trials[3].checks) == 2
    assert trials[4].failure is not None
    assert trials[4].failure.kind == "does not build", trials[4].failure


def test_the_limit_of_the_application_counts_against_no_candidate(bed: Bed) -> None:
    first = "pid = tl.program_id(0)"
    slow = bed.edited(first, f"{first}\n    {ENDLESS}")
    rig = bed.rig(run_seconds=100.0, limit_seconds=8.0)
    outcome = TritonOnGpu(rig, [], 1e-6)
    outcome._tasks = bed.tasks
    edit = Edit(functions=slow, files={}, before={}, diff="")
    refusal = outcome.validate_and_time({1: edit})[1].refusal
    reason = "2 of 2 recorded launches were not compared: the application was ended after 8 s"
    assert refusal == ("not validated", reason)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        (ADVANCED, "limit)", "limit, other=0)", None),
        (PINNED, "x + ", "x + 0 + ", "UnreachableMemoryError: a tensor of the launch is on `cpu`"),
    ],
)
def test_the_application_lives_and_each_launch_starts_alike(
    tmp_path: Path, text: str, old: str, new: str, expected: str | None
) -> None:
    (tmp_path / "app.py").write_text(text)
    command = (sys.executable, "app.py")
    records = tmp_path / "records" / "capture"
    [launch] = capture(RecordRequest(command, folder=records, cwd=tmp_path)).launches
    gpu = gpu_of(load_target("h200"))
    request = RecordRequest(command, tmp_path, tmp_path / "trials")
    rig = Rig(request, "a test", gpu=gpu, goodbye_seconds=60.0)
    task = Task(launch, read=frozenset({0, 1}), written=frozenset({1}))
    edits = {launch.source.kernel: launch.source.entry.text.replace(old, new)}
    trial = rig.try_out([task], {1: edits}, tolerance=1e-6, race_seconds=0.1)[1]
    assert (trial.failure and trial.failure.text) == expected
    assert (trial.timing is None) == (expected is not None)
    assert (tmp_path / "trials" / "trial-1" / "app.log").read_text() == "sum 8.0\n"


@pytest.mark.gpu
def test_without_room_for_copies_nothing_is_validated_and_nothing_broken(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(FULL)
    command = (sys.executable, "app.py")
    captured = capture(
        RecordRequest(command, folder=tmp_path / "a" / "capture", cwd=tmp_path, device=devices()[0])
    )
    [launch] = captured.launches
    task = Task(launch, read=frozenset({0}), written=frozenset({0}))
    request = RecordRequest(command, tmp_path, tmp_path / "trials")
    rig = Rig(request, "a test", goodbye_seconds=60.0)
    trial = rig.try_out([task], {1: {}}, tolerance=1e-6, race_seconds=0)[1]
    assert trial.failure is not None
    assert trial.failure.kind == "not validated"
    assert "OutOfMemoryError" in trial.failure.text
    assert (tmp_path / "trials" / "trial-1" / "app.log").read_text() == f"sum {64 << 20}.0\n"
