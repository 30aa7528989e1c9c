# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Real applications, run as real processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.dependence import find_dependence
from intelliperf_swizzle.errors import CaptureError, UsageError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.frontends.triton.tracing import trace
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import (
    NOT_RECORDED,
    Capture,
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    Launch,
    TensorArgument,
)
from intelliperf_swizzle.records.launches import save_launch

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "benchmarks" / "kernels"

KERNEL = """
import os, signal, sys, time
import torch, triton
import triton.language as tl

@triton.jit
def scale_kernel(x, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + places, tl.load(x + places, mask=places < n) * 2, mask=places < n)

def launch(n=64):
    scale_kernel[(triton.cdiv(n, 32),)](torch.ones(n, device="cuda"), n, BLOCK=32)
"""


def application(folder: Path, text: str) -> Path:
    script = folder / "app.py"
    script.write_text(KERNEL + text)
    return script


def contents(launch: Launch, argument: str, dtype: str) -> np.ndarray:
    tensor = launch.arguments[argument]
    assert isinstance(tensor, TensorArgument)
    path = launch.storages[tensor.storage].contents
    assert path is not None
    return np.load(path).view(dtype)


@pytest.fixture(scope="module")
def styles(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    script = HERE / "applications" / "styles.py"
    command = [sys.executable, str(script), "--device", "cuda"]
    return capture(RecordRequest(command, folder=tmp_path_factory.mktemp("styles"), cwd=HERE))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    script = HERE / "applications" / "pipeline.py"
    # no budget at all: what writes integers is computed all the same
    return capture(
        RecordRequest(
            [sys.executable, str(script)], folder=tmp_path_factory.mktemp("pipeline"), cwd=HERE
        ),
        compute_budget_seconds=0.0,
    )


def test_an_application_in_the_usual_styles_runs_to_its_end(styles: Capture) -> None:
    assert (styles.ended_by, styles.exit_code) == ("exit", 0), styles.last_lines
    assert not styles.notes
    assert not styles.cautions
    assert "spills 0 programs 1024" in styles.last_lines
    recorded = [(launch.kernel, launch.grid, launch.count) for launch in styles.launches]
    assert recorded == [
        ("tuned_kernel", (5, 1, 1), 3),
        ("square_kernel", (1, 1, 1), 1),
        ("heuristic_kernel", (8, 1, 1), 1),
        ("heuristic_kernel", (7, 1, 1), 1),
        ("apply_kernel", (3, 2, 1), 1),
        ("triton_poi_fused_add_0", (1, 1, 1), 1),
    ]
    assert [launch.ordinal for launch in styles.launches] == [0, 1, 2, 3, 4, 5]
    assert all(launch.computed for launch in styles.launches)


def test_arguments_are_recorded_in_signature_order_with_what_tuners_chose(styles: Capture) -> None:
    tuned, _, even, uneven, applied, _ = styles.launches
    assert list(tuned.arguments) == ["x", "out", "n", "BLOCK"]
    assert tuned.arguments["BLOCK"] == 64
    assert tuned.constexprs == ("BLOCK",)
    assert tuned.options["num_warps"] == 2
    own, other = map(tuned.with_config, tuned.tuned)
    assert (own.grid, own.arguments, own.config) == (tuned.grid, tuned.arguments, 0)
    assert (other.grid, other.arguments["BLOCK"], other.options["num_warps"]) == ((3, 1, 1), 128, 8)
    assert (even.arguments["EVEN"], uneven.arguments["EVEN"]) == (True, False)
    assert even.constants == {"n": 256, "BLOCK": 32, "EVEN": 1}
    assert applied.arguments["SIDE"] == 16, "a default value is an argument"
    assert applied.arguments["DTYPE"] == DtypeArgument("fp32")
    function = applied.arguments["FUNCTION"]
    assert isinstance(function, FunctionArgument)
    assert applied.source.functions[function.key].name == "square"
    assert applied.arguments["x"] == TensorArgument(0, "fp64", (40, 24), (24, 1), 0)
    assert applied.options == {"num_stages": 1}


def test_sources_are_the_users_lines(styles: Capture) -> None:
    for launch in styles.launches:
        for function in launch.source.functions.values():
            lines = Path(function.file).read_text().splitlines()[function.first_line - 1 :]
            assert function.text.splitlines() == lines[: len(function.text.splitlines())]
    tuned = styles.launches[0].source
    assert tuned.entry.text.startswith("@triton.autotune(")
    assert tuned.entry.names["SCALE"] == ("constexpr", 3)
    assert tuned.entry.names["DTYPE"] == ("dtype", "fp32")
    assert tuned.entry.names["tl"] == ("module", "triton.language")
    assert "triton" not in tuned.entry.names, "only a decorator reads it"
    kind, key = tuned.entry.names["offsets"]
    assert kind == "function"
    assert Path(tuned.functions[key].file).name == "local_blocks.py"
    kind, meanings = styles.launches[2].source.entry.names["local_blocks"]
    assert kind == "namespace"
    assert meanings["SHIFT"] == ("constexpr", 5)
    assert meanings["offsets"][0] == "function"


def test_contents_are_those_before_the_launch(styles: Capture, pipeline: Capture) -> None:
    _, _, even, uneven, _, _ = styles.launches
    assert not contents(even, "out", "f4").any()
    assert np.array_equal(contents(uneven, "out", "f4"), np.arange(256) + 5)
    histogram, gather = pipeline.launches[:2]
    counts = np.bincount(contents(histogram, "keys", "i4"), minlength=8)
    assert not contents(histogram, "counts", "i4").any()
    assert np.array_equal(contents(gather, "counts", "i4"), counts)


def test_kernels_that_wait_and_descriptors(pipeline: Capture) -> None:
    assert (pipeline.ended_by, pipeline.exit_code) == ("exit", 0), pipeline.last_lines
    _, _, chained, locked, doubled = pipeline.launches
    flags, total = chained.arguments["flags"], chained.arguments["total"]
    assert isinstance(flags, TensorArgument)
    assert isinstance(total, TensorArgument)
    assert flags.storage == total.storage, "views of one storage stay views of one storage"
    assert (total.offset_bytes, len(chained.storages)) == (24, 1)
    assert locked.computed
    described = doubled.arguments["x"]
    assert isinstance(described, DescriptorArgument)
    assert described.block_shape == (8, 16)
    assert described.base == TensorArgument(0, "fp16", (32, 16), (16, 1), 0)


DESCRIBED = """
import os, sys
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]
import torch, triton
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def doubled(x, y):
    at = [triton.language.program_id(0) * 8, 0]
    y.store(at, x.load(at) * 2)

x = torch.ones(32, 16, device="cuda", dtype=torch.float16)
x, y = (TensorDescriptor(one, one.shape, one.stride(), [8, 16]) for one in (x, x + 1))
doubled[(4,)](x, y)
"""


def test_host_descriptors_are_pointers_on_every_gpu_and_the_users_cache_stays(
    tmp_path: Path,
) -> None:
    script, cache = tmp_path / "app.py", tmp_path / "cache"
    script.write_text(DESCRIBED)
    command, lines = [sys.executable, str(script), str(cache)], []
    for name in ("mi300x", "h100"):
        folder = tmp_path / name
        request = RecordRequest(command, folder=folder, cwd=tmp_path, target=load_target(name))
        [launch] = capture(request).launches
        lines.append(trace(launch).shape_line.tolist())
    assert lines == [[0, 1, 0, 1]] * 2
    assert not cache.exists(), "kernels that end with TTIR are for nobody else"


def test_a_record_suffices_to_run_the_launch(
    styles: Capture, pipeline: Capture, tmp_path: Path
) -> None:
    records = []
    for number, launch in enumerate((*styles.launches, *pipeline.launches)):
        records.append(tmp_path / f"{number}.json")
        save_launch(launch, records[-1])
    command = [sys.executable, HERE / "revive_and_run.py", tmp_path, *records]
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    memories = [
        {int(number): bytes.fromhex(text) for number, text in json.loads(line).items()}
        for line in answer.stdout.splitlines()
    ]
    tuned, _, even, _, applied, compiled, _, gather, chained, locked, doubled = memories
    assert np.allclose(view(tuned[1], "f4"), view(tuned[0], "f4") * 3)
    assert even[1] == contents(styles.launches[3], "out", "f4").tobytes()
    assert np.allclose(view(applied[1], "f4"), view(applied[0], "f8") ** 2)
    assert np.all(view(compiled[1], "f4") == 2)
    assert np.array_equal(view(gather[2], "f4"), view(gather[0], "i4"))
    assert view(chained[0], "i4")[6] == 15
    assert np.all(view(locked[1], "f4") == 9)
    assert np.all(view(doubled[1], "f2") == 2)


DTYPES = """
@triton.jit
def cast(x, out, ONE: tl.constexpr, SEVERAL: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kind: tl.constexpr = SEVERAL[1]
    value = tl.load(x + places)
    if ONE == torch.bfloat16:
        value = value.to(kind) * 3
    tl.store(out + places, value)

x = torch.ones(64, device="cuda")
cast[(2,)](x, torch.zeros_like(x), torch.bfloat16, (torch.int32, tl.float16), BLOCK=32)
"""


def test_dtypes_of_torch_and_of_triton_are_arguments(tmp_path: Path) -> None:
    script = application(tmp_path, DTYPES)
    (launch,) = capture(
        RecordRequest([sys.executable, str(script)], folder=tmp_path / "record", cwd=tmp_path)
    ).launches
    assert launch.arguments["ONE"] == DtypeArgument("torch.bfloat16")
    assert launch.arguments["SEVERAL"] == (DtypeArgument("torch.int32"), DtypeArgument("fp16"))
    save_launch(launch, tmp_path / "launch.json")
    command = [sys.executable, HERE / "revive_and_run.py", tmp_path, tmp_path / "launch.json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    memory = json.loads(answer.stdout)
    assert np.all(view(bytes.fromhex(memory["1"]), "f4") == 3)


def view(memory: bytes, dtype: str) -> np.ndarray:
    return np.frombuffer(memory, dtype)


def test_other_ways_to_start_python(tmp_path: Path) -> None:
    """A shell script, from a read-only folder, that runs a module of a package, then a script."""
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "mod.py").write_text(KERNEL + "launch()")
    script = tmp_path / "direct.py"
    script.write_text(f"#!{sys.executable}\n{KERNEL}\nlaunch(96)")
    script.chmod(0o755)
    (tmp_path / "run.sh").write_text(f"{sys.executable} -m pkg.mod && ./direct.py\n")
    before = sorted(tmp_path.rglob("*"))
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder = tmp_path.with_name(tmp_path.name + "-records")
    try:
        run = capture(RecordRequest(["bash", "run.sh"], folder=folder, cwd=tmp_path))
    finally:
        tmp_path.chmod(0o755)
    assert run.exit_code == 0, run.last_lines
    assert [launch.grid for launch in run.launches] == [(2, 1, 1), (3, 1, 1)]
    assert sorted(tmp_path.rglob("*")) == before, "something was written among the sources"


def test_a_failing_application_has_been_captured(tmp_path: Path) -> None:
    script = application(tmp_path, "launch(); print('about to fail'); sys.exit(3)")
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert (run.ended_by, run.exit_code) == ("exit", 3)
    assert run.last_lines == ("about to fail",)
    (caution,) = run.cautions
    assert "exit status 3: launches are counted until then" in caution
    assert script.exists()


def test_a_kernel_that_cannot_be_compiled_does_not_hide_the_next(tmp_path: Path) -> None:
    text = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def gluon_kernel(x):
    gl.store(x, gl.load(x))

@triton.jit
def wrong_kernel(x):
    tl.store(x, no_such_name)

x = torch.ones(1, dtype=torch.int32, device="cuda")
for kernel in (gluon_kernel, wrong_kernel):
    assert kernel[1,](x).n_spills == 0
scale_kernel[1,](x, 1, BLOCK=32)
launch()
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert run.exit_code == 0, run.last_lines
    after, launched = run.launches
    assert after.storages[0].contents is None, "what a kernel would have written is not known"
    assert launched.storages[0].contents
    gluon, wrong = run.cautions
    assert gluon == "Gluon kernel `gluon_kernel` (app.py:17) is not recorded"
    assert wrong.startswith("`wrong_kernel` (app.py:21) is not recorded: Triton does not compile")


def test_a_killed_application_has_been_captured(tmp_path: Path) -> None:
    application(tmp_path, "launch(); os.kill(os.getpid(), signal.SIGKILL)")
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert (run.ended_by, run.exit_code) == ("exit", -signal.SIGKILL)
    assert [launch.kernel for launch in run.launches] == ["scale_kernel"]
    assert "SIGKILL" in run.cautions[0]


def test_an_application_that_goes_on_for_ever_is_ended_at_the_limit(tmp_path: Path) -> None:
    text = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    launch()
    time.sleep(0.01)
"""
    application(tmp_path, text)
    run = capture(
        RecordRequest(
            [sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path, limit_seconds=15
        )
    )
    assert (run.ended_by, run.exit_code) == ("limit", None)
    (launch,) = run.launches
    assert launch.count > 2, "the same launch is counted"
    assert launch.computed
    assert "the time limit of 15 s" in run.cautions[0]
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.last_lines[0]), 0)


@pytest.mark.long
def test_slow_host_work_is_no_end_and_an_endless_service_ends_at_the_limit(tmp_path: Path) -> None:
    text = """
launch()
time.sleep(2)
launch(96)
while True:
    launch()
"""
    application(tmp_path, text)
    command = [sys.executable, "app.py"]
    run = capture(RecordRequest(command, folder=tmp_path / "out", cwd=tmp_path, limit_seconds=25.0))
    assert (run.ended_by, run.exit_code) == ("limit", None)
    assert [launch.grid for launch in run.launches] == [(2, 1, 1), (3, 1, 1)]
    (caution,) = run.cautions
    assert "time limit of 25 s: launches are counted until then" in caution
    assert "what it launches later is missing" in caution


def test_every_launch_is_counted_whoever_makes_it_and_however_it_ends(tmp_path: Path) -> None:
    """In threads, in a forked child, from a graph (of other contents, too), and before a kill."""
    text = """
import threading
launch()
threads = [threading.Thread(target=lambda: [launch() for _ in range(50)]) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()
if not os.fork():
    launch()
    launch(96)
    os._exit(0)
os.wait()
never, graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(never):
    launch(128)
with torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    launch()
    launch()
    launch(160)
for _ in range(7):
    graph.replay()
launch()
words = torch.zeros(224, device="cuda", dtype=torch.int32)
with torch.cuda.graph(never):
    scale_kernel[7,](words, 224, BLOCK=32)
for number in (1, 3, 1):
    words.fill_(number)
    never.replay()
assert int(words[0]) > 1
os.kill(os.getpid(), signal.SIGKILL)
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    counted = {launch.grid[0]: launch.count for launch in run.launches}
    assert counted == {2: 1 + 100 + 1 + 14 + 1, 3: 1, 5: 7, 7: 1}, run.last_lines
    assert [launch.count for launch in run.launches if launch.grid[0] == 7] == [2, 1]


def test_what_would_take_minutes_is_recorded_and_not_computed(tmp_path: Path) -> None:
    """8192³, and the application computes its own reference, twice, before and after."""
    text = """
x = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
reference = x @ x
scale_kernel[(2**20,)](x, x.numel() // 2, BLOCK=32)
scale_kernel[(2**21,)](x, x.numel(), BLOCK=32)
sys.exit(f"wrong: {x @ x}")
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert (run.ended_by, run.exit_code) == ("exit", 1)
    assert [launch.computed for launch in run.launches] == [False, False]
    assert run.launches[1].storages[0].contents is None
    notes = " ".join(run.notes)
    assert "`scale_kernel` was recorded but not computed (about " in notes
    assert "large matrix products of torch were not computed" in notes


SLOW = """
@triton.jit
def slow_kernel(x, turns):
    value = tl.load(x + tl.program_id(0))
    for turn in range(turns):
        value = (value * 5 + turn) % 7
    tl.store(x + tl.program_id(0), value, mask=turns >= 0)
    tl.store(x + tl.program_id(0), tl.load(x + (tl.program_id(0) + 1) % 8) + value)
"""


def test_what_writes_integers_is_computed_beyond_the_budget(tmp_path: Path) -> None:
    """Programs that read what others write run one by one; 4000 would exceed the time limit. Bytes
    that floats were rounded to, or products cut to, are none that later launches compute addresses
    of."""
    text = """
@triton.jit
def rounding_kernel(x, y, turns):
    at = tl.program_id(0) * 8 + tl.arange(0, 8)
    value = tl.load(x + at)
    for turn in range(turns):
        value = value * 0.5 + turn
    tl.store(y + at, value.to(tl.int8))

@triton.jit
def product_kernel(x, y, turns):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    total = tl.zeros((32, 32), tl.int32)
    for turn in range(turns):
        total = tl.dot(tl.load(x + at), tl.load(x + at), total)
    tl.store(y + tl.program_id(0) * 1024 + at, total.to(tl.int8))

integers = torch.zeros(4000, device="cuda", dtype=torch.int32)
slow_kernel[8,](integers, 3000)
slow_kernel[8,](integers.float(), 3000)
slow_kernel[4000,](integers, 3000)
rounding_kernel[8,](integers.float(), integers.to(torch.int8), 40000)
wide = torch.zeros(8192, device="cuda", dtype=torch.int8)
product_kernel[8,](integers.to(torch.int8), wide, 40000)
print(integers[:10].tolist())
"""
    application(tmp_path, SLOW + text)
    run = capture(
        RecordRequest(
            [sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path, limit_seconds=60
        ),
        compute_budget_seconds=0,
    )
    computed = [launch.computed for launch in run.launches]
    assert computed == [True, False, False, False, False], run.last_lines
    shown = "`slow_kernel`, `rounding_kernel`, `product_kernel` were recorded but not computed"
    assert shown in " ".join(run.notes)


def test_what_was_not_computed_is_not_known(tmp_path: Path) -> None:
    """Nor is what torch makes of it in any thread, until all of it is overwritten, nor what Python
    says after a decision by it."""
    text = """
x, y = torch.ones(64, device="cuda"), torch.ones(64, device="cuda")
slow_kernel[4000,](x, 3000)
made = (x * 2 + y).to(torch.int32)
kept = (y * 2).to(torch.int32)
scale_kernel[2,](made, 64, BLOCK=32)
scale_kernel[2,](kept, 63, BLOCK=32)
scale_kernel[2,](made.zero_(), 62, BLOCK=32)
large = torch.ones(8192, 8192, device="cuda", dtype=torch.float16)
scale_kernel[2,]((large @ large)[0].to(torch.int32), 61, BLOCK=32)
thread = threading.Thread(target=lambda: scale_kernel[2,]((x + y).to(torch.int32), 60, BLOCK=32))
thread.start(), thread.join()
print(x.mean().item(), x.numpy().max())
scale_kernel[2,](torch.full((64,), 2, dtype=torch.int32), 59, BLOCK=32)
chosen = x.int().tolist()[:0]
scale_kernel[2,](torch.full((64,), 2 + len(chosen), dtype=torch.int32), 58, BLOCK=32)
scale_kernel[2,](torch.arange(64).to(torch.int32), 57, BLOCK=32)
"""
    application(tmp_path, "import threading\n" + SLOW + text)
    run = capture(
        RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path),
        compute_budget_seconds=0,
    )
    assert run.exit_code == 0, run.last_lines
    known = {launch.arguments["n"]: launch.storages[0].contents for launch in run.launches[1:]}
    assert {n for n, contents in known.items() if contents is None} == {64, 61, 60, 58, 57}


@pytest.mark.parametrize(("compute", "computed"), [("always", True), ("never", False)])
def test_compute_can_be_demanded_and_forbidden(
    tmp_path: Path, compute: str, computed: bool
) -> None:
    text = """
x = torch.ones(32, device="cuda")
scale_kernel[1,](x, 32, BLOCK=32)
print(x[0].item())
"""
    application(tmp_path, text)
    run = capture(
        RecordRequest(
            [sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path, compute=compute
        ),
        compute_budget_seconds=0,
    )
    assert [launch.computed for launch in run.launches] == [computed]
    assert run.last_lines == ("2.0" if computed else "1.0",)


def test_a_training_loop_leaves_a_record_of_every_launch(tmp_path: Path) -> None:
    """Beyond 32 on a grid, contents of floats are not kept."""
    text = """
x = torch.ones(32, device="cuda")
for step in range(50):
    scale_kernel[1,](x, step, BLOCK=32)
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert [launch.count for launch in run.launches] == [1] * 50
    kept = [storage.contents for launch in run.launches for storage in launch.storages.values()]
    assert all(kept[:32])
    assert not any(kept[32:])


@pytest.mark.long
def test_too_many_launches_to_keep_are_of_unknown_arguments(tmp_path: Path) -> None:
    text = """
x = torch.ones(32, device="cuda")
for seed in (*range(1030), 7, 7):
    scale_kernel[1,](x, seed, BLOCK=32)
"""
    application(tmp_path, text)
    folder = tmp_path / "out"
    run = capture(
        RecordRequest([sys.executable, "app.py"], folder=folder, cwd=tmp_path, compute="never")
    )
    counts = [launch.count for launch in run.launches]
    # of the last two one is compiled for a multiple of 16
    assert (len(counts), counts[7], counts[-2:], sum(counts)) == (1026, 3, [1, 5], 1032)
    assert {launch.varying for launch in run.launches[:-2]} == {()}
    assert {launch.varying for launch in run.launches[-2:]} == {("n",)}


def test_an_empty_grid_is_no_launch(tmp_path: Path) -> None:
    text = """
launch(0)
launch(64)
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert [launch.grid for launch in run.launches] == [(2, 1, 1)]
    assert run.exit_code == 0


def test_a_persistent_kernel_sees_the_target(tmp_path: Path) -> None:
    text = """
gpu = torch.cuda.get_device_properties("cuda")
driver = triton.runtime.driver.active
print(gpu.name, torch.version.hip, torch.cuda.get_device_capability())
print(driver.get_current_target(), driver.utils.get_device_properties(0)["multiprocessor_count"])
scale_kernel[(gpu.multi_processor_count,)](torch.ones(32, device="cuda"), 32, BLOCK=32)
"""
    application(tmp_path, text)
    command = [sys.executable, "app.py"]
    run = capture(
        RecordRequest(command, folder=tmp_path / "out", cwd=tmp_path, target=load_target("h100"))
    )
    assert run.launches[0].grid == (132, 1, 1)
    assert run.last_lines == (
        "NVIDIA H100 SXM None (9, 0)",
        "GPUTarget(backend='cuda', arch=90, warp_size=32) 132",
    )


def test_a_folder_may_be_used_again(tmp_path: Path) -> None:
    """Nothing of an earlier capture is taken for this one's."""
    command = [sys.executable, "-c", "print('nothing')"]
    application(tmp_path, "launch()")
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert len(run.launches) == 1
    with pytest.raises(CaptureError, match="no Triton launch"):
        capture(RecordRequest(command, folder=tmp_path / "out", cwd=tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError, match="cannot be written"):
        capture(RecordRequest(command, folder=tmp_path / "file" / "out", cwd=tmp_path))


def test_a_kernel_without_text_is_named(tmp_path: Path) -> None:
    text = """
scale_kernel = triton.jit(scale_kernel.fn)
scale_kernel.fn.__code__ = scale_kernel.fn.__code__.replace(co_filename="<string>")
try: launch()
except Exception: pass
"""
    application(tmp_path, text)
    with pytest.raises(CaptureError) as caught:
        capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert "`scale_kernel` was not recorded" in caught.value.details[0]
    assert "named above" in (caught.value.hint or "")


def test_of_a_kernel_with_a_launch_that_is_refused_no_order_is_known(tmp_path: Path) -> None:
    text = """
without_text = triton.jit(scale_kernel.fn)
launch()
scale_kernel.fn.__code__ = scale_kernel.fn.__code__.replace(co_filename="<string>")
without_text[3,](torch.ones(96, device="cuda"), 96, BLOCK=32)
launch()
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert [(launch.grid[0], launch.count) for launch in run.launches] == [(2, 2)]
    (caution,) = run.cautions
    assert "the source of `scale_kernel` is in no file" in caution
    assert find_dependence(trace(run.launches[0]), run.launches[0]).unknown == NOT_RECORDED


def test_a_kernel_in_a_file_whose_name_is_not_utf8_is_the_users_to_mend(tmp_path: Path) -> None:
    application(tmp_path, "launch()").rename(tmp_path / os.fsdecode(b"app-\xff.py"))
    runs_it = "import glob, runpy; runpy.run_path(*glob.glob('app-*.py'))"
    with pytest.raises(UsageError, match="name of its file is not UTF-8") as caught:
        capture(
            RecordRequest([sys.executable, "-c", runs_it], folder=tmp_path / "out", cwd=tmp_path)
        )
    assert caught.value.exit_code == 2
    assert "rename it" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            r"import sys; sys.stdout.buffer.write(bytes(range(256)) * 99 + b'\nthe end\n'); 1 / 0",
            "ended with exit status 1",
            "failed before it imported Triton",
        ),
        (
            "import torch; torch.compile(torch.sin)(torch.ones(1)); print('the end')",
            "ended with exit status 0",
            "launched no kernel",
        ),
        (
            "import torch; x = torch.ones(1, device='cuda', requires_grad=True);"
            "torch.compile(torch.sin)(x).backward(); print('the end')",
            "ended with exit status 0",
            "named above",
        ),
        (
            "from torch.utils.cpp_extension import load; print('the end', flush=True);"
            "load('ext', ['ext.cu'], build_directory='.')",
            "ended with exit status 1",
            "a C++ extension of PyTorch",
        ),
        (
            "print('the end', flush=True); import ctypes; ctypes.CDLL('libc10_cuda.so')",
            "ended with exit status 1",
            "a C++ extension of PyTorch",
        ),
        ("import triton; print('the end')", "ended with exit status 0", "launched no kernel"),
        ("import triton; print('the end'); 1 / 0", "exit status 1", "before its first launch"),
    ],
)
def test_no_launch(tmp_path: Path, text: str, sentence: str, hint: str) -> None:
    (tmp_path / "app.py").write_text(text)
    with pytest.raises(CaptureError, match="no Triton launch was recorded") as caught:
        capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert sentence in caught.value.fact
    assert hint in (caught.value.hint or "")
    assert "the end" in caught.value.details
    assert caught.value.exit_code == 1


def test_a_time_limit_without_a_launch(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import time\nprint('waiting')\ntime.sleep(1000)")
    with pytest.raises(CaptureError, match=r"time limit of 0\.5 s") as caught:
        capture(
            RecordRequest(
                [sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path, limit_seconds=0.5
            )
        )
    assert caught.value.details == ("waiting",)


def test_a_binary_that_is_not_python(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="ended with exit status 0") as caught:
        capture(RecordRequest(["/bin/true"], folder=tmp_path, cwd=tmp_path))
    assert "named no HIP or CUDA program" in (caught.value.hint or "")


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program") as caught:
        capture(RecordRequest(["no-such-program", "x"], folder=tmp_path, cwd=tmp_path))
    assert caught.value.hint


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os, subprocess, sys, time\n"
        "sleeper = subprocess.Popen(['sleep', '1000'])\n"
        "open('pids', 'w').write(f'{os.getpid()} {sleeper.pid}')\n"
        "os.rename('pids', 'pids.txt')\ntime.sleep(1000)"
    )
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from intelliperf_swizzle.frontends.ports import RecordRequest\n"
            "from intelliperf_swizzle.frontends.triton.capture.recording import capture\n"
            f"capture(RecordRequest([{sys.executable!r}, 'app.py'], folder='out', cwd='.'))",
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # CI may ignore it
        text=True,
    )
    while not (tmp_path / "pids.txt").exists():
        assert parent.poll() is None
        time.sleep(0.01)
    parent.send_signal(signal.SIGINT)
    _, errors = parent.communicate()
    assert "KeyboardInterrupt" in errors
    for pid in map(int, (tmp_path / "pids.txt").read_text().split()):
        assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False


def test_other_python_processes_are_left_alone(tmp_path: Path) -> None:
    """The user's own sitecustomize runs, and neither NumPy nor we are imported."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.from_the_user = True")
    text = "import sys; print(sys.from_the_user, 'numpy' in sys.modules, 'pathlib' in sys.modules)"
    (tmp_path / "app.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with pytest.raises(CaptureError) as caught:
        capture(
            RecordRequest(
                [sys.executable, "app.py"],
                folder=tmp_path / "out",
                cwd=tmp_path,
                environment=environment,
            )
        )
    plain = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert caught.value.details == (plain.stdout.strip(),)
    assert plain.stdout.startswith("True False")


@pytest.mark.parametrize(
    ("name", "grid"), [("gemm", 2048), ("transpose", 1048576), ("stencil_2d", 65536)]
)
def test_our_own_applications_as_a_user_runs_them(name: str, grid: int, tmp_path: Path) -> None:
    command = [sys.executable, str(KERNELS / f"{name}.py")]
    run = capture(RecordRequest(command, folder=tmp_path, cwd=KERNELS))
    assert run.exit_code == 0, run.last_lines
    (launch,) = run.launches
    assert launch.programs == grid
    assert not launch.computed


def test_the_error_of_a_launchers_child_is_shown(tmp_path: Path) -> None:
    """`torchrun` prints a traceback and a table of its own after it."""
    (tmp_path / "rank.py").write_text("def train():\n    {}['hiden']\n\ntrain()\n")
    launcher = """
import subprocess, sys
said = subprocess.run([sys.executable, "rank.py"], stderr=subprocess.PIPE, text=True).stderr
print("starting", *said.splitlines(), sep="\\n[rank0]: ")
print("launching\\n" * 30)
raise SystemExit("rank 0 FAILED")
"""
    (tmp_path / "app.py").write_text(launcher)
    with pytest.raises(CaptureError) as caught:
        capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert "[rank0]: KeyError: 'hiden'" in caught.value.details
    assert caught.value.details[-1] == "rank 0 FAILED"


def test_an_operator_that_is_registered_for_cuda_is_called_for_tensors_of_the_gpu_alone(
    tmp_path: Path,
) -> None:
    text = """
def scaled(x, other):
    out = x.clone()
    scale_kernel[(triton.cdiv(x.numel(), 32),)](out, x.numel(), BLOCK=32)
    return out

host, gpu = torch.ones(64), torch.ones(64, device="cuda")
own = torch.library.Library("aten", "IMPL")
own.impl("mul.Tensor", scaled, "CUDA")
own.impl("ones", lambda size, **options: scaled(torch.full(size, 4.0, device="cuda"), 1), "CUDA")
made = [host * 3, gpu * 3, torch.ones(64), torch.ones(64, device="cuda")]
own._destroy()
print(*(one.sum().item() for one in (*made, gpu * 3)))
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert [(launch.grid, launch.count) for launch in run.launches] == [((2, 1, 1), 2)]
    assert run.last_lines[-1].split() == ["192.0", "128.0", "64.0", "512.0", "192.0"]


def test_what_triton_takes_for_a_tensor_is_recorded_as_one(tmp_path: Path) -> None:
    """It has `data_ptr` and a dtype: views with negative strides, or by other types, are such."""
    text = """
class View:
    def __init__(self, base, ahead):
        self.base_tensor, self.dtype, self.ahead = base, base.dtype, ahead
    def data_ptr(self):
        return self.base_tensor.data_ptr() + 4 * self.ahead

class Foreign:
    dtype = torch.float32
    def data_ptr(self):
        return view.data_ptr()

class Elsewhere(torch.Tensor):
    def data_ptr(self):
        return view.data_ptr()

class Turns(View):
    def data_ptr(self):
        self.ahead = 32 - self.ahead
        return super().data_ptr()

view = View(torch.ones(64, device="cuda"), 32)
scale_kernel[(1,)](view, 32, BLOCK=32)
for value in (Foreign(), torch.ones(64).as_subclass(Elsewhere), Turns(view.base_tensor, 0)):
    scale_kernel[(1,)](value, 32, BLOCK=32)
print(view.base_tensor.sum())
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    (launch,) = run.launches
    tensor = launch.arguments["x"]
    assert isinstance(tensor, TensorArgument)
    assert (tensor.offset_bytes, launch.storages[tensor.storage].bytes) == (128, 256)
    foreign, *others = run.cautions
    assert "a Foreign refers to memory of no known tensor" in foreign
    for name, caution in zip(("Elsewhere", "Turns"), others, strict=True):
        assert f"a {name} gives an address that is not in the memory of its tensor" in caution


def test_an_argument_that_a_kernel_assigns_to_another_name_is_still_known(tmp_path: Path) -> None:
    """Triton prints it by that name, which may be another argument's."""
    text = """
@triton.jit
def pick_kernel(out, a, b, n, rows, BLOCK: tl.constexpr):
    if tl.program_id(1) == 0:
        b = a
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(1) * n + at, tl.load(b + at, mask=at < n * rows))

first, second = torch.ones(64, device="cuda"), torch.full((64,), 2.0, device="cuda")
out = torch.empty(128, device="cuda")
pick_kernel[2, 2](out, first, second, 64, 1, BLOCK=32)
print(out.tolist() == [1.0] * 64 + [2.0] * 64)
"""
    application(tmp_path, text)
    run = capture(RecordRequest([sys.executable, "app.py"], folder=tmp_path / "out", cwd=tmp_path))
    assert run.last_lines[-1] == "True", (run.last_lines, run.notes)
