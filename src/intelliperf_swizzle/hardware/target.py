# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What a GPU is to this package: a frozen record of facts, the unit in each field's name, found by
its name or in a YAML file; and how many workgroups of a compiled kernel a CU of it holds at a time.

Every mistake in a file is named with its key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypedDict

import numpy as np
import yaml

from intelliperf_swizzle.codec import Between, decode, members
from intelliperf_swizzle.errors import RecordError, UsageError, did_you_mean
from intelliperf_swizzle.records import LINE_BYTES, Int64Array

Backend: TypeAlias = Literal["hip", "cuda"]

Count: TypeAlias = Annotated[int, Between(0)]
Positive: TypeAlias = Annotated[int, Between(1)]
Amount: TypeAlias = Annotated[float, Between(0)]

BitRule: TypeAlias = tuple[tuple[Count, ...], ...]
"""An index formed from a line number: output bit `i` is the parity of the listed line bits."""


class SwizzleInputs(TypedDict):
    """What a swizzle may read of a GPU."""

    num_xcds: int
    cus_per_xcd: int


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
        llc_bytes: memory-side last-level cache, None if there is none.
        llc_hit_counters: counters of requests that leave the L2 towards it.
        memory_counters: counters of bytes to and from memory.
        l2_gb_s: peak read bandwidth of all L2s, in 1e9 bytes per second.
        llc_gb_s: peak bandwidth of the last-level cache.
        memory_gb_s: peak bandwidth of memory.
        overlap: how levels overlap, see `cache.traffic`.
        achieved_arithmetic: part of its rates that arithmetic reaches in kernels, for their time.
        dispatch_domains: domain of launch index i is entry `i % len` of this cycle.
        accesses_per_turn: accesses that a resident workgroup makes before another one's turn.
        turn_skip_fraction: how workgroups drift apart: the share of its turns that each one misses.
        catch_up_turns: within how many turns each workgroup misses the same number, so that none
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
    warp_size: Count
    num_xcds: Positive
    cus_per_xcd: Positive
    simds_per_cu: Count
    max_waves_per_simd: Count
    max_workgroups_per_cu: Count
    registers_per_simd: Count
    register_granule: Count
    lds_bytes_per_cu: Count
    lds_granule_bytes: Count
    lds_reserved_bytes_per_workgroup: Count
    l1_bytes: Count
    l1_ways: Positive
    l2_bytes_per_xcd: Count
    l2_ways: Positive
    l2_channels_per_xcd: Positive
    l2_channel_bits: BitRule | None
    l2_set_bits: BitRule | None
    l2_read_request_bytes: Count
    l2_write_request_bytes: Count
    l2_product_write_request_bytes: Count | None
    l2_writes_always_hit: bool
    l2_hit_counters: tuple[str, ...]
    llc_bytes: Count | None
    llc_hit_counters: tuple[str, ...]
    memory_counters: tuple[str, ...]
    l2_gb_s: Amount
    llc_gb_s: Amount | None
    memory_gb_s: Amount
    overlap: Annotated[float, Between(1)]
    achieved_arithmetic: Amount
    dispatch_domains: tuple[Count, ...]
    accesses_per_turn: Positive
    turn_skip_fraction: Amount
    catch_up_turns: Positive
    clocks_l2_hit: Amount
    clocks_memory: Amount
    clocks_workgroup_start: Amount
    flops_per_clock_cu: Amount | None
    lanes_per_clock_cu: Count | None
    clock_ghz: Amount | None
    launch_us: Amount

    cu_name: ClassVar[str]
    """What the vendor calls a CU."""
    domain_name: ClassVar[str]
    """What the vendor calls a domain."""
    deals_in_turn: ClassVar[bool]
    """Whether a workgroup's launch index alone says which L2 it runs on."""

    @property
    def domain_count(self) -> str:
        """How many domains there are, as text: `8 XCDs`."""
        return f"{self.num_xcds} {self.domain_name}{'' if self.num_xcds == 1 else 's'}"

    @property
    def inputs(self) -> SwizzleInputs:
        """What a swizzle may read of it."""
        return {"num_xcds": self.num_xcds, "cus_per_xcd": self.cus_per_xcd}

    @property
    def cus(self) -> int:
        """CUs of the device."""
        return self.num_xcds * self.cus_per_xcd

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

    clocks_llc: Amount | None

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

    gpc_cus: tuple[Count, ...]
    gpc_domains: tuple[Count, ...]
    l2_fill_bytes: Literal[32, 64, 128]
    clocks_l2_remote: Amount
    bytes_per_clock_memory: Amount
    bytes_per_clock_cu: Amount
    clocks_division: Count
    accesses_in_flight: Count
    arbitration_randomness: Amount
    memory_channels: Count
    memory_banks_per_channel: Count
    memory_row_bytes: Count
    row_activation_ns: Amount

    cu_name = "SM"
    domain_name = "L2 partition"
    deals_in_turn = False


@dataclass(frozen=True)
class Build:
    """What a compiled kernel takes of a CU.

    Attributes:
        registers: 32-bit vector registers of a thread; None if the tool that counts is missing.
        scalar_registers: of a wave; None on NVIDIA GPUs.
        stack_bytes: scratch (AMD) or local memory (NVIDIA) of a thread, register spills most of
            all; None if the tool that counts is missing.
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
    simds, waves_per_simd = target.simds_per_cu, target.max_waves_per_simd
    if build.registers:
        lanes_registers = _round_up(build.registers, target.register_granule) * target.warp_size
        waves_per_simd = min(waves_per_simd, target.registers_per_simd // lanes_registers)
    if build.scalar_registers and build.scalar_registers > AMD_SGPRS_AT_8_WAVES:
        waves_per_simd = min(waves_per_simd, 7)
    # One-wave workgroups need no barrier, so the limit of workgroups does not hold for them (AMD).
    unlimited = target.backend == "hip" and build.num_warps == 1
    limits = [
        simds * target.max_waves_per_simd if unlimited else target.max_workgroups_per_cu,
        waves_per_simd * simds // build.num_warps,
    ]
    lds = build.lds_bytes + target.lds_reserved_bytes_per_workgroup
    if lds:
        limits.append(target.lds_bytes_per_cu // _round_up(lds, target.lds_granule_bytes))
    return max(1, min(limits))


AMD_SGPRS_AT_8_WAVES = 100
"""More scalar registers than this leave 7 waves a SIMD (800 of them). Source: LLVM, as above."""


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


FOLDER = Path(__file__).parent / "gpus"
"""Where the targets of this package lie, one YAML a GPU."""


VENDORS: Mapping[object, type[Target]] = {"AMD": AmdGpu, "NVIDIA": NvidiaGpu}
"""What a target is, by its `vendor`."""


@cache
def targets() -> tuple[str, ...]:
    """Names of the targets that come with the package, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def load_target(name_or_path: str | Path) -> Target:
    """The target of this name, or of this YAML file.

    Raises:
        UsageError: no such target or file, or a file that does not describe a target.
    """
    text = str(name_or_path)
    if text in targets():
        return _target(_facts(FOLDER / f"{text}.yaml"), text)
    path = Path(text)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return _target(_facts(path), str(path))
    hint = did_you_mean(text, targets()) or "known: " + ", ".join(targets())
    raise UsageError(f"there is no target `{text}`", hint=hint.strip())


def variants(target: Target) -> list[Target]:
    """The target, then others of the package for the same product, of which not all is settled."""
    others = map(load_target, targets() if target.name in targets() else ())
    alike = [other for other in others if other.product == target.product]
    return [target, *(other for other in alike if other.name != target.name)]


def _facts(path: Path, inheriting: tuple[Path, ...] = ()) -> dict[str, object]:
    """Key -> value of a file, on top of those of its `base`."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"target file {path} cannot be read: {reason}") from error
    if not isinstance(entries, Mapping):
        raise UsageError(f"target file {path} is not a table of keys and values")
    own = {str(key): _value(path, str(key), entry) for key, entry in entries.items()}
    base = own.pop("base", None)
    if base is None:
        return own
    if base not in targets() or path in inheriting:
        raise UsageError(f"target file {path}: base `{base}` is not a target", hint="see `targets`")
    return _facts(FOLDER / f"{base}.yaml", (*inheriting, path)) | own


def _value(path: Path, key: str, entry: object) -> object:
    """The value of an entry: a bare one, or a table of `value` and `source`."""
    if not isinstance(entry, Mapping):
        return entry
    if not {"value"} <= set(entry) <= {"value", "source"}:
        raise UsageError(f"target file {path}: key `{key}` needs a `value` and a `source`")
    return entry["value"]


def _target(facts: Mapping[str, object], where: str) -> Target:
    gpu: Any = VENDORS.get(facts.get("vendor"), Target)
    fields = {member.name: member.kind for member in members(gpu)}
    for key in facts:
        if key not in fields:
            raise UsageError(f"target {where}: unknown key `{key}`", hint=_near(key, fields))
    missing = [key for key in fields if key not in facts]
    if missing:
        raise UsageError(
            f"target {where}: key `{missing[0]}` is missing",
            hint="give every key, or `base: mi300x` and those that differ",
            details=tuple(f"also missing: {key}" for key in missing[1:]),
        )
    values = {key: _check(where, key, facts[key], kind) for key, kind in fields.items()}
    target: Target = gpu(**values)
    for holds, fact in _demands(target):
        if not holds:
            raise UsageError(f"target {where}: {fact}")
    return target


def _near(key: str, fields: Mapping[str, object]) -> str:
    if near := did_you_mean(key, fields):
        return f"{near}The unit is part of the key and cannot be changed"
    return "the keys are the fields of `hardware.target`, those of its vendor's GPUs"


def _check(where: str, key: str, value: object, kind: Any) -> Any:
    bits = key in ("l2_channel_bits", "l2_set_bits")
    try:
        return decode(kind, None if bits and value == "hashed" else value, f"`{key}`")
    except RecordError as error:
        raise UsageError(f"target {where}: `{key}` is {value!r}: {error.fact}") from error


def _demands(target: Target) -> Iterator[tuple[bool, str]]:
    """Whether the facts fit together, and what is wrong if not."""
    domains = set(range(target.num_xcds))
    named = "`dispatch_domains` must name every domain from 0 to num_xcds - 1"
    yield set(target.dispatch_domains) == domains, named
    yield target.turn_skip_fraction < 1, "`turn_skip_fraction` must lie in [0, 1)"
    if isinstance(target, NvidiaGpu):
        yield target.num_xcds == 2, "an NVIDIA GPU has two domains: `num_xcds`"
        cus = dict.fromkeys(domains, 0)
        for number, domain in zip(target.gpc_cus, target.gpc_domains, strict=False):
            cus[domain] = cus.get(domain, 0) + number
        every = cus == dict.fromkeys(domains, target.cus_per_xcd)
        every &= len(target.gpc_cus) == len(target.gpc_domains)
        yield every, "`gpc_cus` and `gpc_domains` do not name all CUs of each domain"
    set_bytes = target.l2_ways * target.l2_channels_per_xcd * LINE_BYTES
    sets, rest = divmod(target.l2_bytes_per_xcd, set_bytes)
    whole = "`l2_bytes_per_xcd` is not a multiple of ways × channels × 128 bytes"
    yield sets > 0 and not rest, whole
    channels, rows = target.l2_channel_bits, target.l2_set_bits
    fits = channels is None or 1 << len(channels) == target.l2_channels_per_xcd
    yield fits, "`l2_channel_bits` does not name all channels"
    fits = rows is None or 1 << len(rows) == sets
    yield fits, "`l2_set_bits` does not name all sets"
    holds_set = target.l1_bytes >= target.l1_ways * LINE_BYTES
    yield holds_set, "`l1_bytes` is less than one set of 128-byte lines"
    both = (target.llc_bytes is None) == (target.llc_gb_s is None)
    yield both, "`llc_bytes` and `llc_gb_s` must both be given or both be null"
    yield 0 < target.achieved_arithmetic <= 1, "`achieved_arithmetic` must be over 0, at most 1"
    speeds = target.l2_gb_s > 0 and target.memory_gb_s > 0 and target.llc_gb_s != 0
    yield speeds, "bandwidths must be above 0"
