# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Triton's own JIT on a machine without a GPU: a driver whose launches are executed here.

Kernels stay what they are in the application: Triton binds, specialises, tunes and compiles them,
up to TTIR. It is TTIR for gfx942 whatever the target, since tensor descriptors are pointers there.
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from intelliperf_swizzle.frontends.triton.capture import unknown
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu
from intelliperf_swizzle.frontends.triton.capture.sources import NotUtf8Error, is_utf8
from intelliperf_swizzle.frontends.triton.ir import last_line
from intelliperf_swizzle.frontends.triton.ir.driver import StandInDriver, bench_once


def install(gpu: Gpu, on_refusal: Callable[..., None]) -> None:
    """Lets Triton take this machine for one with a GPU.

    Args:
        gpu: what the driver says that it is.
        on_refusal: called with a sentence for a kernel that TTIR cannot be had for, its name, and
            whether it is the user's to mend; the application goes on without it.
    """
    import triton.backends
    import triton.testing
    from triton import knobs
    from triton.compiler import compiler
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    of_the_gpu = {"__init__": functools.partialmethod(VirtualGpu.__init__, gpu)}
    here = type("VirtualGpuDriver", (VirtualGpu,), of_the_gpu)
    absent = type("AbsentGpu", (here,), {"is_active": staticmethod(lambda: False)})
    native = "amd" if gpu.backend == "hip" else "nvidia"
    for name, backend in triton.backends.backends.items():  # Inductor makes its driver of these
        chosen = here if name == native else absent
        triton.backends.backends[name] = type(backend)(compiler=backend.compiler, driver=chosen)
    driver.set_active(here())
    knobs.runtime.add_stages_inspection_hook = _stop_after_ttir
    compiler.AsmDict.__missing__ = lambda self, key: ""
    Autotuner._bench = lambda self, *_, **__: [1.0, 1.0, 1.0]  # the first configuration wins
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = bench_once
    _refuse_what_cannot_be_compiled(on_refusal)


class VirtualGpu(StandInDriver):
    """The driver, as an application with torch sees it.

    Args:
        gpu: what it says that it is.
    """

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu.backend, gpu.arch, gpu.warp_size)
        self._gpu = gpu
        self.launcher_cls = lambda *_: lambda *_: None  # who watches launches executes them

    def get_active_torch_device(self) -> torch.device:
        """What tensors say."""
        return torch.device("cuda", 0)

    def get_device_interface(self) -> object:
        """The stand-in for it."""
        return torch.cuda

    map_python_to_cpp_type = staticmethod(str)
    """Nothing is compiled in C++."""

    def load_binary(self, *_: object) -> tuple[object, object, int, int, int]:
        """Module, function, registers, spills and most threads of a kernel."""
        return self, self, unknown.REGISTERS, 0, 1024

    def unload_module(self, module: object) -> None:
        """Nothing was loaded."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """What host code reads to size a grid; clock rates and memory are those of an MI300X."""
        return {
            "sm_clock_rate": 2_100_000,
            "mem_clock_rate": 1_300_000,
            "mem_bus_width": 8192,
            "max_num_regs": 131072,
            "max_shared_mem": self._gpu.shared_bytes,
            "multiprocessor_count": self._gpu.compute_units,
            "warpSize": self._gpu.warp_size,
            "max_threads_per_sm": 2048,
        }


# --- compilation ----------------------------------------------------------------------------------


def _stop_after_ttir(*given: Any) -> tuple[str, str] | None:
    """Triton's hook into its stages; without arguments it is asked for a key of the cache.

    Triton 3.6 has no such key: the cache must be of this recording alone.
    """
    if not given:
        return "recorded as ttir", "recorded as ttir"
    from triton.backends.amd.compiler import HIPBackend

    backend, stages, options, *_ = given
    if "ttir" not in stages:
        return None

    def ttir(module: Any, metadata: dict[str, Any]) -> Any:
        return HIPBackend.make_ttir(module, metadata, types.SimpleNamespace(arch="gfx942"))

    def end(module: Any, metadata: dict[str, Any]) -> bytes:
        metadata.update(
            name=module.get_entry_func_name(),
            shared=unknown.SHARED_BYTES,
            **dict.fromkeys(("tmem_size", "tensordesc_meta")),
            **dict.fromkeys(("global_scratch_size", "profile_scratch_size"), 0),
            **dict.fromkeys(("global_scratch_align", "profile_scratch_align"), 1),
        )
        metadata.setdefault("warp_size", getattr(options, "warp_size", 32))
        return b"TTIR alone"

    stages.clear()
    stages["ttir"], stages[backend.binary_ext] = ttir, end
    return None


def _refuse_what_cannot_be_compiled(on_refusal: Callable[..., None]) -> None:
    """A kernel without TTIR is named, and launching it does nothing."""
    from triton.runtime.jit import JITFunction

    compile_ = JITFunction._do_compile

    def compiling(self: JITFunction[Any], key: str, *given: Any, **named: Any) -> Any:
        try:
            if self.is_gluon():
                raise TypeError("Gluon has no TTIR")
            return compile_(self, key, *given, **named)
        except Exception as error:
            code, kernel = self.fn.__code__, self.fn.__name__
            place = f"`{kernel}` ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"
            usage = not is_utf8(code.co_filename)
            sentence = f"{place} is not recorded: Triton does not compile it: {last_line(error)}"
            if self.is_gluon():
                sentence = f"Gluon kernel {place} is not recorded"
            elif usage:
                sentence = str(NotUtf8Error(code.co_filename))
            on_refusal(sentence, kernel=kernel, usage=usage)
            refused = unknown.RefusedKernel(kernel, f"{type(error).__name__}: {error}")
            for caches in list(self.device_caches.values()):
                caches[0][key] = refused
            return refused

    JITFunction._do_compile = compiling
