# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel and its launches, as they were recorded; on disk, a launch is one JSON file beside the
`.npy` files with the contents of its storages."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from intelliperf_swizzle.codec import decode, dumps, encode, loads
from intelliperf_swizzle.errors import RecordError, UsageError
from intelliperf_swizzle.records.quantities import Grid, Int32Array


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
        identity: what it is known by when it is compiled another time; empty if by nothing.
        aggregates: the classes they use, by a key, parts first: see `ir.render.live_functions`.
        computed: what they read that may be another in another run, as the kernel can name it, with
            its value; a list with the place where the kernel cannot test it, and with the key of a
            function that `identity` distinguishes.
    """

    kernel: str
    functions: Mapping[str, SourceFunction]
    identity: Mapping[str, str] = field(default_factory=dict)
    aggregates: Mapping[str, Any] = field(default_factory=dict)
    computed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> SourceFunction:
        """The kernel itself."""
        return self.functions[self.kernel]

    @property
    def file(self) -> str:
        """The file that holds it; none if `torch.compile` has written it, which does not last."""
        return "" if self.identity.get("module") == "torch._inductor" else self.entry.file


@dataclass(frozen=True)
class Storage:
    """A piece of device memory that tensor arguments are views of, or that addresses lead to.

    Attributes:
        bytes: its size.
        contents: path of a `.npy` (uint8[bytes]) with its contents before the launch, or None
            where they were not kept.
        address: where the application had it; None if no recorded number points into it and it
            began on a multiple of 16.
        decided_at: file and line at which the application, before the launch, decided something by
            what was not computed, so that its contents are not known.
    """

    bytes: int
    contents: str | None = None
    address: int | None = None
    decided_at: str = ""


@dataclass(frozen=True)
class TensorArgument:
    """A tensor argument: a view of a storage.

    Attributes:
        storage: its number.
        dtype: Triton's name of it.
        shape: in elements.
        strides: in elements.
        offset_bytes: of the first element.
    """

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset_bytes: int = 0

    @property
    def item_bytes(self) -> int:
        """Of an element; Triton's names of types begin with their bits: `fp8e4nv`."""
        return max(1, int((re.findall(r"\d+", self.dtype) or "8")[0]) // 8)

    @property
    def elements(self) -> int:
        """How many it has."""
        return prod(self.shape)

    @property
    def end(self) -> int:
        """The byte of the storage behind its last one."""
        last = sum((n - 1) * max(s, 0) for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset_bytes + (last + 1) * self.item_bytes

    def meets(self, other: "TensorArgument") -> bool:
        """Whether another one lies in part of the same memory."""
        behind = self.offset_bytes < other.end and other.offset_bytes < self.end
        return self.storage == other.storage and behind

    @property
    def words(self) -> str:
        """As `4096 × 512 fp16`."""
        return f"{' × '.join(map(str, self.shape))} {self.dtype}"

    def index(self, place: int) -> tuple[int, ...] | None:
        """Which element the byte at a place of the storage belongs to; None if to none."""
        rest = (place - self.offset_bytes) // self.item_bytes
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            if self.strides[axis] > 0:
                index[axis] = min(rest // self.strides[axis], self.shape[axis] - 1)
                rest -= index[axis] * self.strides[axis]
        return tuple(index) if rest == 0 and place >= self.offset_bytes else None


@dataclass(frozen=True)
class DescriptorArgument:
    """A host-made tensor descriptor (`triton.tools.tensor_descriptor.TensorDescriptor`)."""

    base: TensorArgument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True)
class DtypeArgument:
    """A dtype passed as constexpr, by its Triton name (`fp16`), or torch's (`torch.float16`)."""

    name: str


@dataclass(frozen=True)
class FunctionArgument:
    """A jit function passed as constexpr, by its key in `KernelSource.functions`."""

    key: str


Argument: TypeAlias = (
    "TensorArgument | DescriptorArgument | DtypeArgument | FunctionArgument"
    " | int | float | bool | str | tuple[Any, ...] | None"
)


def _leaves(
    name: str, argument: Argument, fields: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Argument]]:
    if isinstance(argument, tuple):
        for part, item in zip(fields.get(name) or range(len(argument)), argument, strict=True):
            yield from _leaves(f"{name}.{part}", item, fields)
    elif isinstance(argument, DescriptorArgument):
        yield name, argument.base
        for _ in range(2):  # as parts of the descriptor, and as separate arguments
            yield from ((f"{name}.shape.{i}", n) for i, n in enumerate(argument.shape))
            yield from ((f"{name}.stride.{i}", n) for i, n in enumerate(argument.strides))
            yield from ((f"{name}.{flag}", False) for flag in ("padding", "roundF32ToTF32"))
    else:
        yield name, argument


def as_written(leaf: str) -> str:
    """What the kernel calls a part of an argument: `sizes.0` is `sizes[0]`."""
    return re.sub(r"\.(\d+)", r"[\1]", leaf)


@dataclass(frozen=True)
class Counter:
    """A variable that holds the number of a tile from a statement of a loop's body on.

    Attributes:
        name: of the variable.
        line: 1-based, in the function's text, of the first statement that may read the number.
    """

    name: str
    line: int


@dataclass(frozen=True, eq=False)
class TileLoop:
    """A loop of a kernel in which each program takes tiles, one after another, by a number.

    Over the whole launch the number takes each value from 0 to `tiles - 1` once.

    Attributes:
        line: 1-based, in the kernel's text, of the loop.
        count: how many tiles there are, as an expression that the loop's body can read.
        counters: the variables that hold the number; the first one is named to people.
        program: int32[tiles]; number -> the program that takes it.
        turn: int32[tiles]; number -> how many the program has taken before.
        most_turns: tiles of each program that are traced; None = all.
        base: the first of the `count` numbers, as an expression.
        starts: the first numbers of the runs that are renumbered each in itself, as if its first
            one were 0 and its length `num_pids`.
        read_from: the tensors that say how many there are; such runs end with a group, and have
            at most `mapping.LONGEST` numbers.
    """

    line: int
    count: str
    counters: tuple[Counter, ...]
    program: Int32Array
    turn: Int32Array
    most_turns: int | None = None
    base: str = "0"
    starts: tuple[int, ...] = (0,)
    read_from: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that people see."""
        return self.counters[0].name

    @property
    def tiles(self) -> int:
        """How many numbers there are."""
        return len(self.program)


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
        storages: what the tensor arguments are views of, by number, then what addresses among the
            arguments and in the contents of integers lead to.
        count: how often this very launch was made, by all processes.
        computed: whether the kernel was really executed when it was recorded.
        ordinal: position among the recorded launches of the application.
        configs: what `triton.autotune` chooses from: constexprs and options by name.
        tuned: the same of each that could be taken without a GPU, with heuristics and the `grid`.
        loop: whose tiles are renumbered; None = the programs are.
        ttir: path of the text of what Triton made of it; None if that is to be compiled.
        varying: arguments whose values are not known, since it stands for launches with others.
        fields: of named tuples among the arguments, their items' names, a nested one's after a dot.
        fixed: arguments at whose other values another kernel is compiled, which was not checked.
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
    configs: tuple[Mapping[str, Any], ...] = ()
    tuned: tuple[Mapping[str, Any], ...] = ()
    loop: TileLoop | None = None
    ttir: str | None = None
    varying: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()

    def tensors(self) -> Iterator[tuple[str, TensorArgument]]:
        """The tensors of the arguments, by name; also those in tuples."""
        for name, argument in self.arguments.items():
            for leaf, value in _leaves(name, argument, {}):
                if isinstance(value, TensorArgument):
                    yield as_written(leaf), value

    @property
    def element_types(self) -> dict[int, str]:
        """The dtype of the first tensor in each storage that tensors lie in."""
        return {tensor.storage: tensor.dtype for _, tensor in reversed([*self.tensors()])}

    def leaves(self, *, compiled_in: bool = False) -> Iterator[tuple[str, Argument]]:
        """The scalars and pointers that arguments are flattened to, in Triton's order and names;
        constexprs only with `compiled_in`."""
        for name, argument in self.arguments.items():
            if compiled_in or name not in self.constexprs:
                yield from _leaves(name, argument, self.fields)

    def element(self, storage: int, place: int) -> str:
        """The element that the byte at a place of a storage belongs to, as `out[3, 5]`."""
        for name, tensor in self.tensors():
            if tensor.storage == storage and (index := tensor.index(place)) is not None:
                return f"`{name}{list(index) or ''}`"
        return f"byte {place} of its memory, between elements"

    @property
    def place(self) -> str:
        """`package/module.py:line` of an installed package's source, else `file.py:line`.

        Of a kernel that `torch.compile` generated, what it computes, and of which tensors.
        """
        entry = self.source.entry
        if not self.source.file:
            operation = re.sub(r"^triton_\w+?_fused_|_\d+$", "", self.kernel)
            return f"{operation}: {', '.join(tensor.words for _, tensor in self.tensors())}"
        _, packages, inside = entry.file.rpartition("-packages/")
        return f"{inside if packages else Path(entry.file).name}:{entry.first_line}"

    @property
    def programs(self) -> int:
        """Number of programs launched."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def numbers(self) -> Grid:
        """What a swizzle renumbers: the grid, or the tiles of the loop."""
        return (self.loop.tiles, 1, 1) if self.loop else self.grid

    @property
    def tiles(self) -> int:
        """How many numbers a swizzle permutes."""
        return self.loop.tiles if self.loop else self.programs

    @property
    def config(self) -> int | None:
        """Which of its configurations it was launched with; None without one that fits."""
        bound = {**self.arguments, **self.options}
        fitting = (all(bound.get(name) == value for name, value in config.items())
                   for config in self.configs)  # fmt: skip
        return next((number for number, fits in enumerate(fitting) if fits), None)

    def name_configs(self, configs: Iterable[int | None]) -> str:
        """Configurations by number, with what they have not in common with all others."""
        labels = [" ".join(f"{name}={value}" for name, value in config.items()
                         if any(other.get(name) != value for other in self.configs))
                for config in self.configs]  # fmt: skip
        return " and ".join("an unlisted one" if at is None else f"number {at + 1} ({labels[at]})"
                            for at in configs)  # fmt: skip

    def with_config(self, values: Mapping[str, Any]) -> "Launch":
        """The launch with one of `tuned`."""
        arguments = {name: values.get(name, value) for name, value in self.arguments.items()}
        options = {**self.options, **values}
        for name in ("grid", *arguments):
            options.pop(name, None)
        return replace(self, grid=tuple(values["grid"]), arguments=arguments, options=options,
                       tuned=(), ttir=None, loop=None, count=1)  # fmt: skip

    @property
    def constants(self) -> dict[str, int]:
        """The integer arguments and constexprs by name, as the swizzle language sees them; a truth
        value is 0 or 1."""
        given = self.arguments.items()
        return {name: int(value) for name, value in given if isinstance(value, int)}


NOT_RECORDED = "a launch of it could not be recorded"
"""In `Launch.varying`: anything may differ."""


@dataclass(frozen=True)
class Capture:
    """What one run of the application left behind.

    Attributes:
        launches: the distinct launches in order of first appearance.
        ended_by: why recording ended: `exit` (the application did) or `limit` (of time).
        exit_code: the application's, None if it was ended by us.
        seconds: wall time of the recording.
        notes: sentences for the report, e.g. that launches were recorded and not computed.
        last_lines: the end of what the application printed.
        folder: where the records lie.
        cautions: what may be missing of the application, for beside the verdict.
        gpu_seconds: what the first of each launch took on the GPU, by ordinal, if that was timed.
    """

    launches: tuple[Launch, ...]
    ended_by: Literal["exit", "limit"]
    exit_code: int | None
    seconds: float
    notes: tuple[str, ...]
    last_lines: tuple[str, ...]
    folder: Path
    cautions: tuple[str, ...] = ()
    gpu_seconds: Mapping[int, float] = field(default_factory=dict)


_ARGUMENTS = (DescriptorArgument, DtypeArgument, FunctionArgument, TensorArgument)


def save_launch(launch: Launch, path: str | os.PathLike[str]) -> None:
    """Write a launch as JSON; paths are kept relative to the file's folder.

    Raises:
        TypeError: an argument or option is of a kind that a launch cannot carry.
    """
    path = Path(path)
    stored = _with_paths(launch, lambda file: os.path.relpath(file, path.parent))
    partial = path.with_name(path.name + ".partial")
    partial.write_text(dumps(encode(stored), indent=1), encoding="utf-8")
    partial.replace(path)


def load_launch(path: str | os.PathLike[str]) -> Launch:
    """Read what `save_launch` wrote; paths come back absolute.

    Raises:
        UsageError: the file is missing or is not a launch.
    """
    path = Path(path)
    try:
        launch = decode(Launch, loads(path.read_bytes()), nouns=_ARGUMENTS)
    except (OSError, RecordError) as error:
        raise UsageError(f"{path} is not a recorded launch: {error}") from error
    return _with_paths(launch, lambda file: os.path.normpath(path.parent.resolve() / file))


def _with_paths(launch: Launch, move: Callable[[str], str]) -> Launch:
    """The launch with its files elsewhere."""
    storages = {
        number: replace(storage, contents=storage.contents and move(storage.contents))
        for number, storage in launch.storages.items()
    }
    return replace(launch, ttir=launch.ttir and move(launch.ttir), storages=storages)


def as_text(launch: Launch) -> str:
    """All of a launch that decides what its programs do, contents by their digests."""
    held = launch.storages.items()
    digests = {number: storage.contents and _digest(storage.contents) for number, storage in held}
    storages = {number: replace(storage, contents=None) for number, storage in held}
    alike = replace(
        launch, storages=storages, count=1, computed=False, ordinal=0, ttir=None, loop=None
    )
    loop = {
        name: hashlib.blake2b(v.tobytes()).hexdigest() if isinstance(v, np.ndarray) else v
        for name, v in (vars(launch.loop) if launch.loop else {}).items()
    }
    return repr((dumps(encode(alike)), sorted(digests.items()), loop))


def _digest(path: str) -> str:
    state = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()
