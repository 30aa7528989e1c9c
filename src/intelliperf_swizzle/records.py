# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns that rooms hand to each other; frozen, with the unit in the field's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Int64Array: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]

Grid: TypeAlias = tuple[int, int, int]
Constants: TypeAlias = Mapping[str, int]

LINE_BYTES = 128
"""Bytes of a cache line; of every level of every supported GPU that a swizzle can matter to."""
SECTOR_BYTES = 32
"""Bytes of a sector, the quarter of a line that NVIDIA counts and the grain of partial lines."""


# --- a kernel and its launches ------------------------------------------------------------------


@dataclass(frozen=True)
class SourceFunction:
    """One jit function as the user wrote it.

    Attributes:
        name: the function's name.
        file: absolute path of the user's file.
        first_line: 1-based line of the first line of `text` in `file` (decorators included).
        text: the lines of the function in the file, decorators included, dedented.
        indent: the white space that was removed from each line of `text`.
        names: what the global names that the function reads mean: see `capture.sources`.
        other_users: kernels and other jit functions of the application that use the function
            beside the kernel it was recorded with, as "`name` (file:line)".
    """

    name: str
    file: str
    first_line: int
    text: str
    indent: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)
    other_users: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelSource:
    """A kernel and every jit function that it calls; enough to run it without its application.

    Attributes:
        kernel: key of the kernel in `functions`.
        functions: the kernel and the jit functions it reaches, by a key unique in this record.
    """

    kernel: str
    functions: Mapping[str, SourceFunction]

    @property
    def entry(self) -> SourceFunction:
        """The kernel itself."""
        return self.functions[self.kernel]


@dataclass(frozen=True)
class Storage:
    """A piece of device memory that tensor arguments are views of.

    Attributes:
        bytes: its size.
        contents: path of a `.npy` (uint8[bytes]) with its contents before the launch, or None
            where they were not kept.
    """

    bytes: int
    contents: str | None = None


@dataclass(frozen=True)
class TensorArgument:
    """A tensor argument: a view of a storage. Shape and strides in elements, offset in bytes."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset_bytes: int = 0


@dataclass(frozen=True)
class DescriptorArgument:
    """A host-made tensor descriptor (`triton.tools.tensor_descriptor.TensorDescriptor`)."""

    base: TensorArgument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True)
class DtypeArgument:
    """A Triton dtype passed as constexpr, by its Triton name (`fp16`)."""

    name: str


@dataclass(frozen=True)
class FunctionArgument:
    """A jit function passed as constexpr, by its key in `KernelSource.functions`."""

    key: str


Argument: TypeAlias = (
    "TensorArgument | DescriptorArgument | DtypeArgument | FunctionArgument"
    " | int | float | bool | str | tuple[Any, ...] | None"
)


@dataclass(frozen=True)
class Launch:
    """One recorded kernel call; calls that differ in nothing below are counted, not repeated.

    Attributes:
        kernel: the kernel's name.
        source: its text and that of what it calls.
        grid: programs along the three axes.
        arguments: by parameter name in signature order; constexprs included.
        constexprs: names of the parameters that are `tl.constexpr`.
        options: launch options (`num_warps`, `num_stages`, `waves_per_eu`, …).
        storages: what the tensor arguments are views of, by number.
        count: how often this very launch was seen.
        computed: whether the kernel was really executed when it was recorded.
        ordinal: position among the recorded launches of the application.
    """

    kernel: str
    source: KernelSource
    grid: Grid
    arguments: Mapping[str, Argument]
    constexprs: tuple[str, ...]
    options: Mapping[str, Any]
    storages: Mapping[int, Storage]
    count: int = 1
    computed: bool = False
    ordinal: int = 0

    @property
    def programs(self) -> int:
        """Number of programs launched."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def constants(self) -> dict[str, int]:
        """The integer arguments and constexprs by name, as the swizzle language sees them."""
        return {
            name: int(value)
            for name, value in self.arguments.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }


@dataclass(frozen=True)
class Capture:
    """What one run of the application left behind.

    Attributes:
        launches: the distinct launches in order of first appearance.
        ended_by: why recording ended: `exit` (the application did), `quiet` (some seconds passed
            after the last new launch) or `limit` (the hard limit).
        exit_code: the application's, None where it was ended by us.
        seconds: wall time of the recording.
        notes: sentences for the report, e.g. that launches were recorded and not computed.
        last_lines: the end of what the application printed.
        folder: where the records lie.
    """

    launches: tuple[Launch, ...]
    ended_by: Literal["exit", "quiet", "limit"]
    exit_code: int | None
    seconds: float
    notes: tuple[str, ...]
    last_lines: tuple[str, ...]
    folder: Path


# --- a trace ------------------------------------------------------------------------------------


class Access(IntEnum):
    """What an access does to its lines."""

    READ = 0
    WRITE = 1
    ATOMIC = 2


@dataclass(frozen=True)
class Segment:
    """Where a storage lies in the synthetic address space of a trace.

    Attributes:
        names: the tensor arguments that are views of it.
        first_line: its first cache line.
        bytes: its size.
    """

    names: tuple[str, ...]
    first_line: int
    bytes: int


@dataclass(frozen=True)
class Trace:
    """For each tile, the cache lines that it touches, in order.

    Tile `t` makes the accesses `tile_offset[t]:tile_offset[t + 1]`, one per load, store or atomic
    that it executes (those that touch no line are left out). Access `a` touches the lines
    `access_base[a] + shape_line[i]` for `i` in `shape_offset[s]:shape_offset[s + 1]`, where
    `s = access_shape[a]`, each line once, in the order of first touch. Regular kernels share a
    handful of shapes, so a trace of hundreds of millions of lines is small.

    Attributes:
        grid: of the launch.
        tile_offset: int64[tiles + 1].
        access_base: int32[accesses]; a line number.
        access_shape: int32[accesses].
        shape_offset: int64[shapes + 1].
        shape_line: int32[...]; relative to the base, the first one is 0.
        shape_sectors: uint8[...]; which of the line's four sectors are touched, bit 0 = first.
        shape_kind: uint8[shapes]; `Access`.
        segments: the address space, by increasing first line.
        method: `batched`, or `sequential` where the plain interpreter had to be used.
        notes: sentences for the report (why not batched, …).
        shared_writes: names of tensors of which programs of this launch read, or store over, what
            others write.
        waits: whether a program waits for another (a spin loop on memory).
        order_matters: whether programs update the same address with atomics.
        tiles_outside: tiles with accesses outside every tensor, which are left out.
        elements_outside: how many elements these accesses have.
        shape_late: uint8[...]; those sectors that no thread's first instruction touches. A thread
            has 16 bytes of a row; where they are not aligned it takes several instructions.
        shape_passes: uint8[...]; so many instructions touch the line, as a power of two up to 8.
            Both None = every access is aligned.
        tile_arithmetic: int64[tiles, 3]; matrix products (`tl.dot`) of each tile, their operations
            on 16-bit numbers (one on 32-bit numbers is two), and operations on lanes of other
            floating-point blocks (a special function is 16). None = no tile has any.
        immaterial: names of arguments that decided no address, mask or branch: of scalars the
            value, of tensors what they hold. A launch that differs in these has the same trace.
    """

    grid: Grid
    tile_offset: Int64Array
    access_base: Int32Array
    access_shape: Int32Array
    shape_offset: Int64Array
    shape_line: Int32Array
    shape_sectors: UInt8Array
    shape_kind: UInt8Array
    segments: tuple[Segment, ...]
    method: Literal["batched", "sequential"]
    notes: tuple[str, ...] = ()
    shared_writes: tuple[str, ...] = ()
    waits: bool = False
    order_matters: bool = False
    tiles_outside: int = 0
    elements_outside: int = 0
    shape_late: UInt8Array | None = None
    shape_passes: UInt8Array | None = None
    tile_arithmetic: Int64Array | None = None
    immaterial: tuple[str, ...] = ()

    @property
    def tiles(self) -> int:
        """Number of tiles, which is the number of programs of the launch."""
        return len(self.tile_offset) - 1

    @property
    def line_accesses(self) -> int:
        """Lines touched, summed over all accesses of all tiles."""
        return int(np.diff(self.shape_offset)[self.access_shape].sum())

    def lines(self, tile: int) -> Int32Array:
        """The lines of one tile in program order, as the plain interpreter would list them."""
        chunks = [
            self.access_base[a]
            + self.shape_line[
                self.shape_offset[self.access_shape[a]] : self.shape_offset[
                    self.access_shape[a] + 1
                ]
            ]
            for a in range(self.tile_offset[tile], self.tile_offset[tile + 1])
        ]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.int32)


# --- proof --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Witness:
    """Why a mapping is not a permutation.

    Attributes:
        collision: two launch indices and the tile that both compute, or None.
        missing: tiles that nobody computes (the first few).
        missing_count: how many there are.
        out_of_range: launch index and tile for programs without a tile (the first few).
        computed_fraction: tiles computed at least once / tiles.
        failure: message of the language where evaluation itself failed (division by zero, …).
    """

    collision: tuple[int, int, int] | None
    missing: tuple[int, ...]
    missing_count: int
    out_of_range: tuple[tuple[int, int], ...]
    computed_fraction: float
    failure: str | None = None


@dataclass(frozen=True)
class Proof:
    """Certificate that a swizzle is a permutation of a launch's tiles.

    Attributes:
        grid: the launch's grid.
        tile: int64[programs]; launch index (axis 0 fastest) -> tile, a permutation. Empty in a
            `certificate`.
        fingerprint: hex digest of `tile`; equal for swizzles that are the same permutation.
        grids_checked: on how many grids it holds, the launch's own included.
        largest_checked: programs of the largest grid on which it holds.
        condition: on which grids of the sweep it holds, in words; None = on all of them.
    """

    grid: Grid
    tile: Int64Array
    fingerprint: str
    grids_checked: int = 1
    largest_checked: int = 0
    condition: str | None = None

    def certificate(self) -> Proof:
        """The proof without the tiles, which take 8 bytes a program; the text gives them again."""
        return replace(self, tile=np.zeros(0, np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proof) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


# --- measurement, validation, attempts ----------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A median and the interval in which the true one lies, at 95 % confidence."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """Times of a kernel on a GPU, taken in rounds with the kernel as it is.

    All launches, each as often as the application makes it.

    Attributes:
        device: the GPU.
        original_ms: of the kernel as it is, in the same rounds.
        time_ms: of the kernel with the mapping.
        ratio: of the latter to the former, round by round.
        rounds: of the launch with the fewest.
        ratios: of each distinct launch.
    """

    device: str
    original_ms: Interval
    time_ms: Interval
    ratio: Interval
    rounds: int
    ratios: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """What a profiler read for one mapping, over all launches of the kernel. None = not collected.

    Rates are from 0 to 1 and are ratios of sums, as the hardware counters form them.

    Attributes:
        time_ms: measured, never modelled; of `timing` where there is one.
        timing: on a GPU, also where the rates are modelled.
        l2_counter_hit_rate: the profiler's own quotient where it counts other lookups, too: on
            NVIDIA GPUs those from one L2 partition to the other; None where it is `l2_hit_rate`.
        fabric_bytes: between the L2 partitions of an NVIDIA GPU.
        l2_before: the L2 before each measured launch: `cold` (flushed) or `warm` (as the
            application leaves it).
        counters: name -> sum over the launches, as often as each was seen; what all else is made
            of. None where nothing was counted.
    """

    profiler: str
    device: str
    l2_hit_rate: float
    llc_hit_rate: float | None = None
    l2_requests: int | None = None
    l2_bytes: int | None = None
    llc_bytes: int | None = None
    memory_bytes: int | None = None
    compulsory_bytes: int | None = None
    balance: float | None = None
    l2_hit_rate_per_domain: tuple[float, ...] | None = None
    l2_requests_per_domain: tuple[int, ...] | None = None
    time_ms: float | None = None
    time_spread_ms: float | None = None
    modelled_memory_time_ms: float | None = None
    timing: Timing | None = None
    fabric_bytes: int | None = None
    l2_counter_hit_rate: float | None = None
    l2_before: Literal["cold", "warm"] | None = None
    counters: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Ceiling:
    """An L2 hit rate that no permutation exceeds, and how it was derived."""

    l2_hit_rate: float
    derivation: str


@dataclass(frozen=True)
class Validation:
    """The outcome of comparing the original with the swizzled kernel.

    Attributes:
        method: `all-tiles`, `mapping-and-sample` or `gpu`.
        launches: distinct launches compared.
        tiles_compared: tiles of which the bytes were compared.
        tiles: tiles of these launches.
        same_bits: whether all compared bytes agree (within `tolerance` where `rule` says so).
        rule: `bits`, or `tolerance` where atomics make the order of additions matter.
        difference: first difference in words, None where there is none.
        distinct_launches: how many there are; those that were not compared were proved, and
            checked for programs that depend on each other. None = not counted.
    """

    method: Literal["all-tiles", "mapping-and-sample", "gpu"]
    launches: int
    tiles_compared: int
    tiles: int
    same_bits: bool
    rule: Literal["bits", "tolerance"] = "bits"
    tolerance: float | None = None
    difference: str | None = None
    distinct_launches: int | None = None


VerdictKind: TypeAlias = Literal[
    "better",
    "worse",
    "no difference",
    "within noise",
    "not a swizzle",
    "not a permutation",
    "repeated",
    "screened out",
    "does not build",
    "output differs",
    "slower",
    "unsafe order",
    "not measured",
    "not validated",
]


@dataclass(frozen=True)
class Verdict:
    """What became of an attempt: one of a closed set of kinds, and the reason in one sentence."""

    kind: VerdictKind
    reason: str
    witness: Witness | None = None

    @property
    def eligible(self) -> bool:
        """Whether the attempt may be ranked."""
        return self.kind in ("better", "no difference", "within noise", "worse")


@dataclass(frozen=True)
class Usage:
    """What calls to a language model took.

    Attributes:
        calls: requests that were answered.
        input_tokens: as the endpoint counted them; None = it did not say.
        output_tokens: the same of the answers.
        cost_usd: None where the price is not known.
        seconds: wall time, waiting and repeated requests included.
    """

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens that the endpoint counted."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cost_usd, other.cost_usd),
            self.seconds + other.seconds,
        )


_Number = TypeVar("_Number", int, float)


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    """The sum of what is known; None where nothing is."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True)
class Candidate:
    """A swizzle that a proposer offers.

    Attributes:
        text: in the swizzle language.
        name: short, for tables.
        origin: who offers it.
        rationale: why it should be better, where the proposer says so.
        critique: what the proposer says of earlier attempts.
        idea: the proposer's summary of it in one sentence.
        iteration: the proposer's iteration that it belongs to.
        usage: what the call took that it came from.
        flaw: why the answer that it came from cannot be read; `text` is then the whole answer.
    """

    text: str
    name: str
    origin: Literal["pattern", "search", "llm", "user"]
    rationale: str | None = None
    critique: str | None = None
    idea: str | None = None
    iteration: int | None = None
    usage: Usage | None = None
    flaw: str | None = None


@dataclass(frozen=True)
class Attempt:
    """One candidate and what became of it; the line of a history file.

    Attributes:
        proof: on the largest launch, a certificate without the tiles.
        screened_l2_hit_rate: by the fast model that sorts candidates.
        predicted: by the cache model with full physics, where hardware measures too.
        measurement: what decides: of the hardware, or of the model where there is none.
    """

    number: int
    candidate: Candidate
    verdict: Verdict
    fingerprint: str | None = None
    proof: Proof | None = None
    screened_l2_hit_rate: float | None = None
    predicted: Measurement | None = None
    measurement: Measurement | None = None
    validation: Validation | None = None
    diff: str | None = None


@dataclass(frozen=True)
class KernelSummary:
    """One row of the table of captured kernels.

    Attributes:
        kernel: its name.
        launches: distinct launches recorded.
        programs: of the largest launch.
        baseline_l2_hit_rate: as it is, None where it could not be traced.
        ceiling_l2_hit_rate: no permutation exceeds it.
        l2_requests: of all its launches.
        note: why it could not be traced, or None.
    """

    kernel: str
    launches: int
    programs: int
    baseline_l2_hit_rate: float | None = None
    ceiling_l2_hit_rate: float | None = None
    l2_requests: int | None = None
    note: str | None = None


Raster: TypeAlias = tuple[str, ...]
"""A small picture in characters, row after row: a base-36 digit a cell, `.` where nothing is."""


@dataclass(frozen=True)
class Placement:
    """Where and when the tiles of a picture run.

    Attributes:
        domain: of each cell, the domain that runs most of its tiles.
        share: the share of the cell's tiles that this domain runs, in 35ths.
        time: when the cell's tiles are launched on average, in 35ths of the time from the first to
            the last tile of the picture.
        neighbours_together: of the tiles that are neighbours across and down the whole picture,
            the share that run on one domain; 0 to 1, None where the picture is one tile wide.
    """

    domain: Raster
    share: Raster
    time: Raster
    neighbours_together: tuple[float | None, float | None]


@dataclass(frozen=True)
class TilePicture:
    """One slice of the tiles, before and after.

    Attributes:
        title: which slice, and where in it a tile is drawn.
        tiles: across and down.
        tiles_per_cell: across and down; (1, 1) = each cell is a tile.
        before: as it is.
        after: with the best swizzle, None where there is none.
    """

    title: str
    tiles: tuple[int, int]
    tiles_per_cell: tuple[int, int]
    before: Placement
    after: Placement | None


@dataclass(frozen=True)
class TensorAccess:
    """Who uses the lines of a tensor in one order.

    Attributes:
        domains_per_line: on how many domains a line is used, on average.
        wave_bytes: bytes that the first wave of domain 0, its first resident workgroups, uses.
        domains: cells in the order of the memory, row by row of the tensor: domains per line.
        wave: likewise, the share of the cell's lines that this wave uses, in 35ths.
    """

    domains_per_line: float
    wave_bytes: int
    domains: Raster
    wave: Raster


@dataclass(frozen=True)
class TensorPicture:
    """The access map of one tensor, before and after.

    Attributes:
        names: the tensor arguments that lie in this memory.
        shape: of the first of them, in words (`4096 × 512 fp16`).
        bytes: of the memory.
        use: `read`, `written`, or `read and written`.
        tiles_per_line: how many tiles use a line, on average.
        before: as it is.
        after: with the best swizzle, None where there is none.
    """

    names: tuple[str, ...]
    shape: str
    bytes: int
    use: str
    tiles_per_line: float
    before: TensorAccess
    after: TensorAccess | None


@dataclass(frozen=True)
class Picture:
    """What the pictures of a run are drawn from, small enough for its result file.

    Attributes:
        domains: of the target.
        workgroups_per_domain: resident at once.
        l2_bytes_per_domain: what the L2 of one holds.
        tiles: slices of the kernel's largest launch.
        tensors: what that launch touches, most lines first.
    """

    domains: int
    workgroups_per_domain: int
    l2_bytes_per_domain: int
    tiles: tuple[TilePicture, ...]
    tensors: tuple[TensorPicture, ...]


@dataclass(frozen=True)
class Run:
    """A finished run: what was tried on which kernel, and what came of it.

    Attributes:
        kernel: the kernel that was worked on.
        kernels: all that were captured, the one worked on first.
        formula: the optimization target (`swizzle`).
        target: name of the GPU.
        profiler: what measured.
        proposer: who offered candidates.
        seed: of every random choice.
        grid: of the kernel's largest launch.
        constants: its integer arguments and constexprs.
        launches: distinct launches of the kernel.
        baseline: the unchanged kernel's measurement.
        ceiling: the bound.
        best: the attempt that is named, None where none is eligible and better.
        attempts: all of them by number.
        nothing_to_gain: the bound leaves less than a point; nothing was tried.
        notes: sentences for the report.
        history: path of the history file.
        usage: what the language model took; None where there was none.
        invocation: shell text that repeats the run; empty where it was no command line.
        picture: what its pictures are drawn from; None in a result file of an older version.
        file: the user's file that holds the kernel, an absolute path; empty likewise.
        predicted: the model's measurement of the unchanged kernel, where hardware measures.
        cautions: what makes the numbers doubtful, a sentence each; they stand beside the verdict.
        domain_name: what the target calls an L2 with the CUs that it serves.
    """

    kernel: str
    kernels: tuple[KernelSummary, ...]
    formula: str
    target: str
    profiler: str
    proposer: str
    seed: int
    grid: Grid
    constants: Constants
    launches: int
    baseline: Measurement
    ceiling: Ceiling
    best: Attempt | None
    attempts: tuple[Attempt, ...]
    nothing_to_gain: bool
    notes: tuple[str, ...]
    history: str
    usage: Usage | None = None
    invocation: str = ""
    picture: Picture | None = None
    file: str = ""
    predicted: Measurement | None = None
    cautions: tuple[str, ...] = ()
    domain_name: str = "XCD"

    @property
    def modelled(self) -> bool:
        """Whether the numbers come from the cache model and not from hardware."""
        return self.profiler == "model"
