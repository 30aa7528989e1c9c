# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a GPU is to this package: one frozen record of facts, the unit in each field's name; and how
many workgroups of a compiled kernel a CU of it holds at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from intelliperf_swizzle.records import LINE_BYTES, Int64Array

Backend: TypeAlias = Literal["hip", "cuda"]

BitRule: TypeAlias = tuple[tuple[int, ...], ...]
"""An index formed from a line number: output bit `i` is the parity of the listed line bits."""


@dataclass(frozen=True)
class Target:
    """A GPU, or the part of one that the driver shows as a device.

    A *domain* is an L2 that a workgroup can land on: an XCD of an AMD GPU, an L2 partition of an
    NVIDIA GPU. A *CU* is a compute unit or a streaming multiprocessor. Bandwidths and sizes are
    of the whole device unless the name says otherwise.

    Attributes:
        name: as `--target` takes it.
        product: as people write it.
        vendor: says whether it is an `AmdGpu` or an `NvidiaGpu`.
        backend: what Triton compiles for it with.
        arch: what Triton calls the architecture: `gfx942`, or 90.
        identifiers: PCI device ids (`0x74a1`) or what `nvidia-smi` calls it; see `detect`.
        warp_size: threads of a warp or wavefront.
        num_xcds: number of domains.
        cus_per_xcd: CUs of a domain.
        simds_per_cu: SIMD units (AMD) or sub-partitions (NVIDIA) of a CU.
        max_waves_per_simd: warps resident on one SIMD.
        max_workgroups_per_cu: workgroups resident on one CU.
        registers_per_simd: 32-bit registers of one SIMD, over all lanes.
        register_granule: registers of a thread are allocated in multiples of this.
        lds_bytes_per_cu: shared memory of a CU.
        lds_granule_bytes: shared memory is allocated in multiples of this.
        lds_reserved_bytes_per_workgroup: what the system takes besides.
        l1_bytes: vector L1 cache of one CU.
        l1_ways: its associativity.
        l2_bytes_per_xcd: L2 of one domain.
        l2_ways: its associativity.
        l2_channels_per_xcd: its channels.
        l2_channel_bits: which line bits pick the channel; None = all bits, hashed.
        l2_set_bits: which line bits pick the set within the channel; None = all bits, hashed.
        l2_read_request_bytes: bytes of a read as the hit counter counts it.
        l2_write_request_bytes: the same for a write.
        l2_product_write_request_bytes: the same where a launch multiplies matrices, which it stores
            in the layout of the result; None = no different.
        l2_writes_always_hit: whether a write that allocates a line is counted as a hit.
        l2_hit_counters: counters whose quotient hits / (hits + misses) is the L2 hit rate.
        llc_bytes: memory-side last-level cache, None where there is none.
        llc_hit_counters: counters of requests that leave the L2 towards it.
        memory_counters: counters of bytes to and from memory.
        l2_gb_s: peak read bandwidth of all L2s, in 1e9 bytes a second.
        llc_gb_s: peak bandwidth of the last-level cache.
        memory_gb_s: peak bandwidth of memory.
        overlap: how levels overlap, see `cache.traffic`.
        achieved_arithmetic: part of its rates that arithmetic reaches in kernels, for their time.
        dispatch_domains: domain of launch index i is entry `i % len` of this cycle.
        accesses_per_turn: accesses that a resident workgroup makes before another one's turn.
        turn_skip_fraction: how workgroups drift apart: the share of its turns that each one misses.
        catch_up_turns: within so many turns each workgroup misses the same number, so that none
            stays behind for ever.
        clocks_l2_hit: latency of a hit.
        clocks_memory: latency of memory under load; AMD: of what a domain has not had yet.
        clocks_workgroup_start: from a workgroup's end until the next one runs in its place.
        flops_per_clock_cu: operations of matrix products of 16-bit numbers that a CU gets through.
        lanes_per_clock_cu: operations of its vector units on 32-bit numbers; a multiply-add is two.
        clock_ghz: of a CU, for the time that arithmetic takes.
        launch_us: that a launch takes at least, whatever it does.
    """

    name: str
    product: str
    vendor: Literal["AMD", "NVIDIA"]
    backend: Backend
    arch: str | int
    identifiers: tuple[str, ...]
    warp_size: int
    num_xcds: int
    cus_per_xcd: int
    simds_per_cu: int
    max_waves_per_simd: int
    max_workgroups_per_cu: int
    registers_per_simd: int
    register_granule: int
    lds_bytes_per_cu: int
    lds_granule_bytes: int
    lds_reserved_bytes_per_workgroup: int
    l1_bytes: int
    l1_ways: int
    l2_bytes_per_xcd: int
    l2_ways: int
    l2_channels_per_xcd: int
    l2_channel_bits: BitRule | None
    l2_set_bits: BitRule | None
    l2_read_request_bytes: int
    l2_write_request_bytes: int
    l2_product_write_request_bytes: int | None
    l2_writes_always_hit: bool
    l2_hit_counters: tuple[str, ...]
    llc_bytes: int | None
    llc_hit_counters: tuple[str, ...]
    memory_counters: tuple[str, ...]
    l2_gb_s: float
    llc_gb_s: float | None
    memory_gb_s: float
    overlap: float
    achieved_arithmetic: float
    dispatch_domains: tuple[int, ...]
    accesses_per_turn: int
    turn_skip_fraction: float
    catch_up_turns: int
    clocks_l2_hit: float
    clocks_memory: float
    clocks_workgroup_start: float
    flops_per_clock_cu: float | None
    lanes_per_clock_cu: int | None
    clock_ghz: float | None
    launch_us: float

    cu_name: ClassVar[str]
    """What the vendor calls a CU."""
    domain_name: ClassVar[str]
    """What the vendor calls a domain."""
    deals_in_turn: ClassVar[bool]
    """Whether a workgroup's launch index alone says which L2 it runs on."""

    @property
    def domain_count(self) -> str:
        """How many domains there are, in words: `8 XCDs`."""
        return f"{self.num_xcds} {self.domain_name}{'' if self.num_xcds == 1 else 's'}"

    @property
    def cus(self) -> int:
        """CUs of the device."""
        return self.num_xcds * self.cus_per_xcd

    @property
    def max_waves_per_cu(self) -> int:
        """Warps resident on one CU."""
        return self.simds_per_cu * self.max_waves_per_simd

    @property
    def l2_lines_per_xcd(self) -> int:
        """Lines that the L2 of one domain holds."""
        return self.l2_bytes_per_xcd // LINE_BYTES

    @property
    def l2_sets_per_channel(self) -> int:
        """Sets of one channel of one domain's L2."""
        return self.l2_lines_per_xcd // (self.l2_ways * self.l2_channels_per_xcd)

    @property
    def meeting_l2_bytes(self) -> int:
        """Of the L2 in which workgroups meet: a domain's; all of it where it is taken for one."""
        return self.l2_bytes_per_xcd * (1 if self.deals_in_turn else self.num_xcds)

    def domain_of(self, launch_index: Int64Array) -> Int64Array:
        """The domains on which workgroups land: `launch_index: int64[n]` -> `int64[n]`."""
        cycle = np.asarray(self.dispatch_domains, np.int64)
        return cycle[launch_index % len(cycle)]


@dataclass(frozen=True)
class AmdGpu(Target):
    """Its L2s know nothing of each other; rounds stand for time, but where loops load ahead.

    Attributes:
        clocks_llc: latency of what a domain has had before and lost, under load; None = loops that
            load ahead are not replayed in time.
    """

    clocks_llc: float | None

    cu_name = "CU"
    domain_name = "XCD"
    deals_in_turn = True


@dataclass(frozen=True)
class NvidiaGpu(Target):
    """Every line has its home in one of two domains, the other keeps copies of what it has read;
    the replay is timed.

    Attributes:
        gpc_cus: CUs of each group that dispatch fills one after the other, before it begins again
            with the first.
        gpc_domains: the domain that each of these groups is next to.
        l2_fill_bytes: what a miss brings into the L2, aligned.
        clocks_l2_remote: the further latency of a line from the domain that is its home.
        bytes_per_clock_memory: bandwidth of memory.
        bytes_per_clock_cu: bytes of loads and stores that a CU gets through.
        clocks_division: for a division in a swizzle by a number that the compiler does not know.
        accesses_in_flight: loads that a workgroup has issued and not yet used, at most.
        arbitration_randomness: from 0, workgroups of a CU have turns, to 1, lots are drawn.
        memory_channels: that work by themselves (HBM3: pseudo channels).
        memory_banks_per_channel: each with one open row.
        memory_row_bytes: that one bank of one channel opens at once; 0 = rows are not modelled.
        row_activation_ns: how far apart a channel can open rows, on average.
    """

    gpc_cus: tuple[int, ...]
    gpc_domains: tuple[int, ...]
    l2_fill_bytes: int
    clocks_l2_remote: float
    bytes_per_clock_memory: float
    bytes_per_clock_cu: float
    clocks_division: int
    accesses_in_flight: int
    arbitration_randomness: float
    memory_channels: int
    memory_banks_per_channel: int
    memory_row_bytes: int
    row_activation_ns: float

    cu_name = "SM"
    domain_name = "L2 partition"
    deals_in_turn = False


@dataclass(frozen=True)
class Build:
    """What a compiled kernel takes of a CU.

    Attributes:
        registers: 32-bit vector registers of a thread; None if the tool that tells is missing.
        scalar_registers: of a wave; None on NVIDIA GPUs.
        stack_bytes: scratch (AMD) or local memory (NVIDIA) of a thread, register spills most of
            all; None if the tool that tells is missing.
        lds_bytes: shared memory of a workgroup.
        num_warps: warps (wavefronts) of a workgroup.
        seconds: time to compile.
    """

    registers: int | None
    scalar_registers: int | None
    stack_bytes: int | None
    lds_bytes: int
    num_warps: int
    seconds: float


def occupancy(build: Build, target: Target) -> int:
    """Workgroups of a kernel that are resident on one CU at a time, at least 1.

    The least of what waves, registers, shared memory and the limit of workgroups allow; a register
    count that is not known limits nothing.

    Source: LLVM, AMDGPUBaseInfo.cpp (waves per EU by VGPRs and SGPRs); CUDA occupancy calculator.
    """
    waves_per_simd = target.max_waves_per_simd
    if build.registers:
        lanes_registers = _round_up(build.registers, target.register_granule) * target.warp_size
        waves_per_simd = min(waves_per_simd, target.registers_per_simd // lanes_registers)
    if build.scalar_registers and build.scalar_registers > AMD_SGPRS_AT_8_WAVES:
        waves_per_simd = min(waves_per_simd, 7)
    # One-wave workgroups need no barrier, so the limit of workgroups does not hold for them (AMD).
    unlimited = target.backend == "hip" and build.num_warps == 1
    limits = [
        target.max_waves_per_cu if unlimited else target.max_workgroups_per_cu,
        waves_per_simd * target.simds_per_cu // build.num_warps,
    ]
    lds = build.lds_bytes + target.lds_reserved_bytes_per_workgroup
    if lds:
        limits.append(target.lds_bytes_per_cu // _round_up(lds, target.lds_granule_bytes))
    return max(1, min(limits))


AMD_SGPRS_AT_8_WAVES = 100
"""More scalar registers than this leave 7 waves a SIMD (800 of them). Source: LLVM, as above."""


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
