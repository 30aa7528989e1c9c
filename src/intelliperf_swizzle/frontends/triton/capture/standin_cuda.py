# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`torch.cuda` as a machine with one GPU would answer, where nothing is ever pending."""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Callable, Iterator

import torch

from intelliperf_swizzle.frontends.triton.capture.settings import Gpu

_MEMORY_BYTES = 192 << 30


class Event:
    """A timing event on the host's clock."""

    def __init__(self, *_: object, **__: object) -> None:
        self._seconds = time.perf_counter()

    def record(self, stream: Stream | None = None) -> None:
        """Take the time."""
        self._seconds = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`; never 0, since applications divide by it."""
        return max((end._seconds - self._seconds) * 1e3, 1e-3)

    synchronize = wait = lambda self, *_: None
    query = lambda self: True  # noqa: E731


class Stream(contextlib.AbstractContextManager["Stream"]):
    """A stream on which everything has already happened."""

    def __init__(self, *_: object, **__: object) -> None:
        self.cuda_stream = 0
        self.stream_id = 0
        self.device = torch.device("cuda", 0)

    synchronize = wait_stream = wait_event = lambda self, *_: None
    query = lambda self: True  # noqa: E731

    def record_event(self, event: Event | None = None) -> Event:
        """Take the time."""
        event = event or Event()
        event.record()
        return event

    def __exit__(self, *_: object) -> None:
        pass


class Generator(torch.Generator):  # type: ignore[misc]
    """A random generator of the CPU, whatever device is asked for, with a state as of a GPU's."""

    def __new__(cls, device: object = "cpu") -> Generator:
        """Of the CPU."""
        return super().__new__(cls, device="cpu")  # type: ignore[no-any-return]

    _offset = 0

    def get_state(self) -> torch.Tensor:
        """Seed and offset as bytes: uint8[16]."""
        return torch.tensor([self.initial_seed(), self._offset]).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> Generator:
        """Continues from there."""
        seed, self._offset = state.view(torch.int64)[-2:].tolist()
        self.manual_seed(seed)
        return self


class DeviceGuard(contextlib.nullcontext[object]):
    """`with torch.cuda.device(0)`; torch itself wants this to be a class."""

    idx = 0


class Graph:
    """A CUDA graph: what is captured into it runs at once; of it Triton's launches are replayed."""

    capturing = False

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def capture_begin(self, *_: object, **__: object) -> None:
        """Launches go into the graph from now on."""
        Graph.capturing = True

    def capture_end(self) -> None:
        """The graph is complete."""
        Graph.capturing = False

    def replay(self) -> None:
        """The recorder makes the launches again."""

    reset = instantiate = enable_debug_mode = lambda self, *_, **__: None
    pool = lambda self: (0, 0)  # noqa: E731


@contextlib.contextmanager
def _capture_into(graph: Graph, *_: object, **__: object) -> Iterator[None]:
    graph.capture_begin()
    try:
        yield
    finally:
        graph.capture_end()


def install(gpu: Gpu) -> None:
    """Replace the functions of `torch.cuda` and `torch.accelerator` that need a GPU."""
    cuda = torch.cuda
    stream = Stream()
    answers: dict[str, object] = {
        "is_available": True,
        "_is_compiled": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_tf32_supported": gpu.backend == "cuda",
        "can_device_access_peer": False,
        "device_count": 1,
        "current_device": 0,
        "current_stream": stream,
        "default_stream": stream,
        "clock_rate": 2100,
        "mem_get_info": (_MEMORY_BYTES * 15 // 16, _MEMORY_BYTES),
        "memory_stats": {},
        **dict.fromkeys(_BYTES_HELD, 0),
        **dict.fromkeys(_DO_NOTHING, None),
    }
    for name, answer in answers.items():
        setattr(cuda, name, _always(answer))
    cuda.get_device_properties = lambda *_: _properties(gpu)
    cuda.get_device_name = lambda *_: gpu.product
    cuda.get_device_capability = lambda *_: gpu.capability
    cuda.get_arch_list = lambda: [gpu.arch if isinstance(gpu.arch, str) else f"sm_{gpu.arch}"]
    cuda.Event, cuda.Stream, cuda.ExternalStream, cuda.CUDAGraph = Event, Stream, Stream, Graph
    cuda.device, cuda.device_of = DeviceGuard, DeviceGuard
    cuda.default_generators = (Generator(),)
    cuda.stream = lambda *_, **__: contextlib.nullcontext()
    cuda.graph = _capture_into
    cuda.is_current_stream_capturing = lambda: Graph.capturing
    cuda.make_graphed_callables = lambda callables, *_, **__: callables
    cuda.graph_pool_handle = _always((0, 0))
    cuda.get_rng_state = lambda *_: torch.get_rng_state()
    cuda.set_rng_state = lambda state, *_: torch.set_rng_state(state)
    ranges = dict.fromkeys(("range_push", "range_pop", "mark"), _always(0))
    cuda.nvtx = types.SimpleNamespace(**ranges, range=contextlib.nullcontext)
    profiler = types.SimpleNamespace(cudaProfilerStart=_always(0), cudaProfilerStop=_always(0))
    cuda.cudart = _always(profiler)
    for name in ("_exchange_device", "_maybe_exchange_device"):  # for Inductor, as is the stream
        setattr(cuda, name, _always(0))
    torch._C._cuda_getCurrentRawStream = _always(0)
    hip = gpu.backend == "hip"
    torch.version.hip, torch.version.cuda = ("6.4", None) if hip else (None, "12.8")
    answers = {
        "is_available": True, "device_count": 1, "current_accelerator": torch.device("cuda"),
        "current_device_index": 0, "current_device_idx": 0, "current_stream": stream,
        "synchronize": None, "set_device_index": None, "set_stream": None,
    }  # fmt: skip
    for name, answer in answers.items() if hasattr(torch, "accelerator") else ():
        setattr(torch.accelerator, name, _always(answer))


_BYTES_HELD = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
_DO_NOTHING = (
    *("synchronize", "init", "_lazy_init", "set_device", "set_stream", "empty_cache"),
    *("seed", "seed_all", "manual_seed", "manual_seed_all", "reset_peak_memory_stats"),
    *("reset_max_memory_allocated", "ipc_collect"),
)


def _properties(gpu: Gpu) -> types.SimpleNamespace:
    """What `torch.cuda.get_device_properties` returns."""
    major, minor = gpu.capability
    return types.SimpleNamespace(
        name=gpu.product, major=major, minor=minor, multi_processor_count=gpu.compute_units,
        gcnArchName=str(gpu.arch), warp_size=gpu.warp_size, total_memory=_MEMORY_BYTES,
        L2_cache_size=4 << 20, max_threads_per_multi_processor=2048, max_threads_per_block=1024,
        regs_per_multiprocessor=65536, is_integrated=0, is_multi_gpu_board=0,
        shared_memory_per_block=gpu.shared_bytes, shared_memory_per_block_optin=gpu.shared_bytes,
        shared_memory_per_multiprocessor=gpu.shared_bytes,
    )  # fmt: skip


def _always(answer: object) -> Callable[..., object]:
    return lambda *_, **__: answer
