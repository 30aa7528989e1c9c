# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Many programs at once: the kernel's Python runs once, on values that are arrays of programs.

Without arithmetic (`math=False`) floats are unknown and so is what is computed from them; integers
that decide nothing are not loaded. Where programs take different ways, the run goes on with those
that agree and the others are run again from the start. Where an unknown value decides an address,
a mask or a branch, the launch cannot be run in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter

from intelliperf_swizzle.interpreter.arithmetic import Counts, counting
from intelliperf_swizzle.interpreter.blocks import (
    Array,
    Block,
    aligned,
    array_of,
    is_known,
    merged,
    origin_of,
    shape_of,
    sum_is_exact,
    terms_of,
)
from intelliperf_swizzle.interpreter.memory import Memory
from intelliperf_swizzle.interpreter.mend import bfloat16_as_float32
from intelliperf_swizzle.interpreter.revive import LiveLaunch
from intelliperf_swizzle.interpreter.sequential import patched_language
from intelliperf_swizzle.records import Access, Grid, Int64Array

TensorHandle = triton_interpreter.TensorHandle

MOST_PROGRAMS = 16384
"""Programs of one batch: enough that Python's share vanishes, few enough for the memory limit."""
MOST_NUMBERS = 1 << 25
"""Numbers in one array (256 MB of addresses); a batch that needs more is cut into pieces."""
VAIN_POLLS = 3
"""Polls of the same word after which a program is taken to wait, and the awaited value guessed."""
GUESSES = (1, 0, -1, 2, 3, 4)
"""What a waiting program may wait for, most likely first; each is offered twice."""


class NotBatchableError(Exception):
    """An unknown value decides what a program does.

    Attributes:
        reason: which decision, as a phrase.
        storages: numbers of the storages from which the value was loaded.
    """

    def __init__(self, reason: str, storages: frozenset[int] = frozenset()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.storages = storages


class _RefusalError(BaseException):
    """A NotBatchableError on its way out; no Exception, so that no layer of Triton's wraps it."""

    def __init__(self, reason: str, storages: frozenset[int] = frozenset()) -> None:
        super().__init__(reason)
        self.refusal = NotBatchableError(reason, storages)


class _RestartError(BaseException):
    """The batch is run again."""


class _TooWideError(BaseException):
    """The batch is cut into pieces."""


class Recorder(Protocol):
    """Who wants to know of every access of a batch."""

    def begin(self, programs: Int64Array) -> None:
        """A batch begins."""

    def access(
        self,
        kind: Access,
        addresses: Sequence[Array],
        mask: Sequence[Array],
        item_bytes: int,
        active: npt.NDArray[np.bool_],
    ) -> int:
        """The active programs access the sum of `addresses` where the conjunction of `mask` holds.

        Terms have shape `(programs or 1, *extents or 1)`. Returns the access's number in the batch.
        """

    def end(self, active: npt.NDArray[np.bool_], value_loads: Mapping[int, int]) -> None:
        """The batch is over: keep what the active programs did, forget the others.

        `value_loads`: number of an access -> bit set of storages, for the loads whose values
        were really read.
        """


class Discard:
    """A recorder that keeps nothing."""

    def begin(self, programs: Int64Array) -> None:
        """Nothing to prepare."""

    def access(self, *_: Any) -> int:
        """Nothing to keep."""
        return 0

    def end(self, *_: Any) -> None:
        """Nothing to keep."""


class BatchedRun:
    """What was noticed while a launch ran in batches.

    Attributes:
        waits: whether a program waited for another (then the waiting was taken to succeed).
        control: bit set of storages and scalar arguments whose values decided something; bit
            `1 + place` for the storage at `place` in `Memory.numbers`, the scalars' as in
            `scalars`.
        scalars: the bit of each scalar argument, by name.
        batches: how often the kernel's Python ran.
        arithmetic: int64[programs of the launch, 3]; see `interpreter.arithmetic`.
    """

    def __init__(self, programs: int) -> None:
        self.waits = False
        self.control = 0
        self.scalars: dict[str, int] = {}
        self.batches = 0
        self.arithmetic = np.zeros((programs, 3), np.int64)


def run_batched(live: LiveLaunch, recorder: Recorder, *, math: bool = False) -> BatchedRun:
    """Run all programs of a launch in batches.

    With `math`, every value is computed and memory holds the results, provided that no program
    reads what another one writes; it is for the caller to know that.

    Raises:
        NotBatchableError: run them one by one instead.
        Exception: whatever the kernel raises.
    """
    return run_batched_programs(
        live, recorder, np.arange(live.launch.programs, dtype=np.int64), math=math
    )


def run_batched_programs(
    live: LiveLaunch,
    recorder: Recorder,
    programs: Int64Array,
    *,
    math: bool = False,
    make_builder: Callable[..., BatchedBuilder] | None = None,
) -> BatchedRun:
    """As `run_batched`, but only the given programs (linear indices, int64[n]).

    `make_builder` makes the builder, with the arguments of `BatchedBuilder`, its default.
    """
    noticed = BatchedRun(live.launch.programs)
    make = make_builder or BatchedBuilder
    builder = make(live.launch.grid, live.memory, recorder, noticed, math=math)
    pieces = [programs[i : i + MOST_PROGRAMS] for i in range(0, len(programs), MOST_PROGRAMS)]
    with _batched_language(live, builder), np.errstate(all="ignore"):
        arguments = live.arguments()
        for name, argument in arguments.items():
            if isinstance(argument, tl.tensor) and not argument.dtype.is_ptr():
                bit = 2 << len(live.memory.numbers) + len(noticed.scalars)
                noticed.scalars[name] = bit
                argument.handle = Block((argument.handle.data,), argument.dtype, (), bit)
        pending = pieces[::-1]
        while pending:
            batch = pending.pop()
            noticed.batches += 1
            builder.begin(batch)
            try:
                live.function(**arguments)
            except _RefusalError as error:
                raise error.refusal from None
            except _RestartError:
                pending.append(batch)
                continue
            except _TooWideError:
                if len(batch) == 1:
                    raise NotBatchableError("one program alone needs too much memory") from None
                pending.extend(np.array_split(batch, min(8, len(batch)))[::-1])
                continue
            pending.extend(builder.end())
    return noticed


@contextmanager
def _batched_language(live: LiveLaunch, builder: BatchedBuilder) -> Iterator[None]:
    """The interpreter with the batched builder in place of its own."""
    with ExitStack() as stack:
        stack.enter_context(counting(builder, builder.computed))
        stack.enter_context(_set(triton_interpreter, "interpreter_builder", builder))
        stack.enter_context(_set(triton_interpreter.interpreter_semantic, "builder", builder))
        stack.enter_context(_set(triton_interpreter.ReduceOps, "apply", builder.reduce))
        stack.enter_context(_set(triton_interpreter.ScanOps, "apply", builder.scan))
        stack.enter_context(_set(tl.block_type, "__init__", _remembered_type()))
        stack.enter_context(_set(tl.tensor, "__init__", _remembered_tensor()))
        stack.enter_context(patched_language())
        for function in live.functions.values():
            module = function.fn.__globals__
            stack.enter_context(_set_items(module, builder.builtins()))
        for owner in (tl, tl.core):
            stack.enter_context(_set(owner, "range", builder.range))
            stack.enter_context(_set(owner, "static_range", builder.range))
        stack.enter_context(_set(tl.tensor, "__index__", lambda self: builder.index(self.handle)))
        stack.enter_context(_set(tl.tensor, "__bool__", lambda self: builder.truth(self.handle)))
        stack.enter_context(_set(tl.tensor, "T", property(_transposed)))
        yield


def _remembered_type() -> Callable[..., None]:
    """`block_type.__init__` that works out each type once: an eighth of a long loop's time."""
    original = tl.block_type.__init__
    made: dict[Any, dict[str, Any]] = {}

    def init(self: Any, element_ty: Any, shape: Sequence[Any]) -> None:
        key = (element_ty.name, *(getattr(extent, "value", extent) for extent in shape))
        if key not in made:
            original(self, element_ty, shape)
            made[key] = vars(self).copy()
        vars(self).update(made[key])
        self.element_ty = element_ty

    return init


def _remembered_tensor() -> Callable[..., None]:
    """`tensor.__init__` that works out shape and size of each type once."""
    original = tl.tensor.__init__
    made: dict[str, dict[str, Any]] = {}

    def init(self: Any, handle: Any, type: Any) -> None:
        if type.name not in made:
            original(self, handle, type)
            made[type.name] = vars(self).copy()
        vars(self).update(made[type.name])
        self.handle, self.type, self.dtype = handle, type, type.scalar

    return init


_ABSENT = object()


@contextmanager
def _set(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if original is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


@contextmanager
def _set_items(namespace: dict[str, Any], values: Mapping[str, Any]) -> Iterator[None]:
    originals = {name: namespace.get(name, _ABSENT) for name in values}
    namespace.update(values)
    try:
        yield
    finally:
        for name, original in originals.items():
            if original is _ABSENT:
                del namespace[name]
            else:
                namespace[name] = original


def _transposed(tensor: Any) -> Any:
    handle = tensor.handle
    shape = list(shape_of(handle))
    shape[-1], shape[-2] = shape[-2], shape[-1]
    block = Block(
        [np.swapaxes(term, -1, -2) for term in handle.terms],
        handle.dtype, shape, handle.origin, handle.known,
    )  # fmt: skip
    return tl.tensor(block, tl.block_type(tensor.dtype, shape))


def _holds_bits(handle: Any) -> bool:
    """Whether the array is of bits; comparisons keep the Triton dtype of their operands."""
    terms = handle.terms if isinstance(handle, Block) else (handle.data,)
    return bool(terms[0].dtype == np.bool_)


def _is_single(shape: Sequence[int]) -> bool:
    return all(extent == 1 for extent in shape)


def _is_floating(dtype: Any) -> bool:
    return bool(dtype.is_floating())


class BatchedBuilder(triton_interpreter.InterpreterBuilder):  # type: ignore[misc]
    """Triton's operations on blocks of many programs."""

    def __init__(
        self,
        grid: Grid,
        memory: Memory,
        recorder: Recorder,
        noticed: BatchedRun,
        *,
        math: bool,
    ) -> None:
        super().__init__()
        self.options = triton_interpreter.interpreter_builder.options
        self.codegen_fns = triton_interpreter.interpreter_builder.codegen_fns
        self.set_grid_dim(*grid)
        self.grid_idx = (0, 0, 0)
        self._memory = memory
        self._recorder = recorder
        self._noticed = noticed
        self._math = math
        self._needed = 0
        self._result_dtypes: dict[Any, Any] = {}

    # --- a batch -------------------------------------------------------------------------------

    def begin(self, programs: Int64Array) -> None:
        """Start a batch of programs."""
        x, y, _ = self.grid_dim
        self._programs = programs
        self._coordinates = tuple(
            axis.astype(np.int32) for axis in (programs % x, programs // x % y, programs // (x * y))
        )
        self._active = np.ones(len(programs), np.bool_)
        self._all_active = True
        self._left_out: list[Int64Array] = []
        self._value_loads: dict[int, int] = {}
        self._pending: list[Callable[[npt.NDArray[np.bool_]], None]] = []
        self._written = 0
        self._poll: tuple[bytes, bytes] | None = None
        self._polls = 0
        self._arithmetic = np.zeros(3, np.int64)
        self._recorder.begin(programs)

    def end(self) -> list[Int64Array]:
        """Finish a batch; returns the groups of programs that must be run again."""
        for store in self._pending:
            store(self._active)
        self._recorder.end(self._active, self._value_loads)
        self._noticed.arithmetic[self._programs[self._active]] = self._arithmetic
        return self._left_out

    def computed(self, counts: Counts) -> None:
        """Each program of the batch computes so much; those that leave it begin anew."""
        self._arithmetic += counts

    def _decide(self, values: Array) -> Any:
        """One value for all: the most frequent; programs with another one are left out."""
        seen, counts = np.unique(values[self._active], return_counts=True)
        chosen = seen[np.argmax(counts)]
        for value in seen[seen != chosen]:
            self._left_out.append(self._programs[self._active & (values == value)])
        self._active = self._active & (values == chosen)
        self._all_active = False
        return chosen

    def _uniform(self, handle: Any, what: str) -> Any:
        """The scalar that decides for all programs."""
        values = self._deciding(handle, what).data.reshape(-1)
        if len(values) == 1:
            return values[0]
        chosen = values[self._active.argmax()]
        if (values == chosen).all() or (values[self._active] == chosen).all():
            return chosen
        return self._decide(values)

    def _deciding(self, handle: Any, what: str) -> Any:
        """Note that a value decides something; it must be known."""
        origin = origin_of(handle)
        if not is_known(handle):
            self._require(origin, what)
        self._noticed.control |= origin
        return handle

    def _require(self, origin: int, what: str) -> None:
        """Restart with the values of integer storages loaded, if that is all that is missing."""
        places = [p for p in range(len(self._memory.numbers)) if origin >> p + 1 & 1]
        storages = frozenset(self._memory.numbers[place] for place in places)
        recorded = all(self._memory.has_contents(number) for number in storages)
        if origin & _ARITHMETIC or not recorded or origin | self._needed == self._needed:
            raise _RefusalError(f"{what} depends on computed values", storages)
        self._needed |= origin
        raise _RestartError

    def truth(self, handle: Any) -> bool:
        """`bool(tensor)`: of a scalar its value, of a block True, as the interpreter has it."""
        if not _is_single(shape_of(handle)):
            return True
        return bool(self._uniform(handle, "a branch"))

    def index(self, handle: Any) -> int:
        """`int(tensor)`."""
        return int(self._uniform(handle, "a loop bound"))

    def range(self, start: Any, stop: Any = None, step: Any = None, **_: Any) -> Iterator[Any]:
        """`range` whose bounds may differ between programs."""
        if stop is None:
            start, stop = 0, start
        bounds = [self._bound(bound) for bound in (start, stop, 1 if step is None else step)]
        if all(len(bound) == 1 for bound in bounds):
            yield from range(*(int(bound[0]) for bound in bounds))
            return
        first, last, stride = bounds
        trips = np.maximum(0, -((first - last) // stride))
        trips = np.broadcast_to(trips, self._programs.shape)
        trip_count = trips[self._active.argmax()]
        if not (trips[self._active] == trip_count).all():
            trip_count = self._decide(trips)
        for trip in range(int(trip_count)):
            value = (first + trip * stride).astype(np.int32)
            if len(value) == 1:
                yield int(value[0])
            else:
                yield tl.tensor(Block((value,), tl.int32, ()), tl.int32)

    def _bound(self, bound: Any) -> Int64Array:
        if isinstance(bound, tl.tensor):
            values = self._deciding(bound.handle, "a loop bound").data.reshape(-1)
            return np.asarray(values, np.int64)
        return np.array([int(getattr(bound, "value", bound))], np.int64)

    def builtins(self) -> dict[str, Any]:
        """Python's builtins as Triton means them in a kernel."""
        return {
            "range": self.range,
            "min": lambda *values: _folded(tl.minimum, min, values),
            "max": lambda *values: _folded(tl.maximum, max, values),
        }

    # --- making blocks -------------------------------------------------------------------------

    def create_get_program_id(self, axis: int) -> Block:
        """One number per program."""
        return Block((self._coordinates[axis],), tl.int32, ())

    def create_make_range(self, ret_ty: Any, start: int, stop: int) -> Block:
        """The same for all programs."""
        return Block((np.arange(start, stop, dtype=np.int32)[None],), tl.int32, (stop - start,))

    def _unknown(self, dtype: Any, shape: Sequence[int], *operands: Any) -> Block:
        origin = 0
        for operand in operands:
            origin |= origin_of(operand)
        if self._math:
            raise _RefusalError("an operation is not available on many programs at once")
        scalar = dtype.scalar
        zero = np.zeros((1,) * (1 + len(shape)), triton_interpreter._get_np_dtype(scalar))
        return Block((zero,), scalar, shape, origin, known=False)

    # --- shapes --------------------------------------------------------------------------------

    def _reshaped(
        self, handle: Any, shape: Sequence[int], change: Callable[[Array], Array]
    ) -> Block:
        rank = len(shape_of(handle))
        terms = [change(term) for term in terms_of(handle, rank)]
        return Block(terms, handle.dtype, shape, origin_of(handle), is_known(handle))

    def create_splat(self, ret_ty: Any, arg: Any) -> Block:
        """A scalar for every lane."""
        shape = tuple(ret_ty.shape)
        return self._reshaped(arg, shape, lambda term: aligned(term, len(shape)))

    def create_unsplat(self, arg: Any) -> Block:
        """The only lane of a block."""
        return self._reshaped(arg, (), lambda term: term.reshape(len(term), -1)[:, 0])

    def create_expand_dims(self, arg: Any, axis: int) -> Block:
        """One more extent of 1."""
        shape = list(shape_of(arg))
        axis += len(shape) + 1 if axis < 0 else 0
        shape.insert(axis, 1)
        return self._reshaped(arg, shape, lambda term: np.expand_dims(term, axis + 1))

    def create_broadcast(self, arg: Any, shape: Sequence[int]) -> Block:
        """Extents of 1 made larger, without copying."""
        return self._reshaped(arg, shape, lambda term: aligned(term, len(shape)))

    def create_trans(self, arg: Any, perm: Sequence[int]) -> Block:
        """Permuted axes."""
        shape = shape_of(arg)
        axes = (0, *(axis + 1 for axis in perm))
        return self._reshaped(
            arg, [shape[axis] for axis in perm], lambda term: np.transpose(term, axes)
        )

    def create_reshape(self, arg: Any, shape: Sequence[int], *_: Any) -> Block:
        """The same lanes in C order under another shape."""
        if not is_known(arg) or array_of(arg, len(shape_of(arg)))[0].size == 1:
            return self._reshaped(
                arg, shape, lambda term: term.reshape(len(term), *(1,) * len(shape))
            )
        full = self._full(arg)
        reshaped = full.reshape(len(full), *shape)
        return Block((reshaped,), arg.dtype.scalar, shape, origin_of(arg))

    def _full(self, handle: Any) -> Array:
        """All lanes of all programs (or of one, where they are the same)."""
        shape = shape_of(handle)
        array = array_of(handle, len(shape))
        self._check_size(len(array) * int(np.prod(shape)))
        return np.broadcast_to(array, (len(array), *shape))

    def _check_size(self, numbers: int) -> None:
        if numbers > MOST_NUMBERS and len(self._programs) > 1:
            raise _TooWideError

    def create_cat(self, lhs: Any, rhs: Any) -> Block:
        """Two 1-D blocks one after the other."""
        shape = (shape_of(lhs)[0] + shape_of(rhs)[0],)
        return self._stacked(lhs, rhs, shape, lambda pair: np.concatenate(pair, axis=1))

    def create_join(self, lhs: Any, rhs: Any) -> Block:
        """Two blocks along a new last axis."""
        shape = (*shape_of(lhs), 2)
        return self._stacked(lhs, rhs, shape, lambda pair: np.stack(pair, axis=-1))

    def _stacked(
        self, lhs: Any, rhs: Any, shape: Sequence[int], stack: Callable[[list[Array]], Array]
    ) -> Block:
        if not (is_known(lhs) and is_known(rhs)):
            return self._unknown(lhs.dtype, shape, lhs, rhs)
        pair = [self._full(lhs), self._full(rhs)]
        count = max(len(array) for array in pair)
        pair = [np.broadcast_to(array, (count, *array.shape[1:])) for array in pair]
        return Block((stack(pair),), lhs.dtype.scalar, shape, origin_of(lhs) | origin_of(rhs))

    def create_split(self, val: Any) -> tuple[Block, Block]:
        """The two halves along the last axis."""
        shape = shape_of(val)[:-1]
        if not is_known(val):
            return self._unknown(val.dtype, shape, val), self._unknown(val.dtype, shape, val)
        full = self._full(val)
        dtype, origin = val.dtype.scalar, origin_of(val)
        return (
            Block((full[..., 0],), dtype, shape, origin),
            Block((full[..., 1],), dtype, shape, origin),
        )

    # --- arithmetic ----------------------------------------------------------------------------

    def create_add(self, lhs: Any, rhs: Any) -> Block:
        """Integer sums are kept apart."""
        if self._keeps_terms(lhs, rhs):
            return self._sum(lhs, rhs, terms_of)
        return self._elementwise("create_add", (lhs, rhs), ())

    def create_sub(self, lhs: Any, rhs: Any) -> Block:
        """Integer differences are kept apart."""
        if self._keeps_terms(lhs, rhs):
            return self._sum(lhs, rhs, lambda h, rank: [np.negative(t) for t in terms_of(h, rank)])
        return self._elementwise("create_sub", (lhs, rhs), ())

    def create_mul(self, lhs: Any, rhs: Any) -> Block:
        """A sum times a number is the sum of the products."""
        if self._keeps_terms(lhs, rhs):
            for many, one in ((lhs, rhs), (rhs, lhs)):
                factor = array_of(one, len(shape_of(many)))
                if factor.size == 1 and len(many.terms if isinstance(many, Block) else ()) > 1:
                    terms = [term * factor for term in many.terms]
                    return Block(
                        terms, many.dtype.scalar, many.shape, origin_of(lhs) | origin_of(rhs)
                    )
        return self._elementwise("create_mul", (lhs, rhs), ())

    def create_and(self, lhs: Any, rhs: Any) -> Block:
        """Conjunctions of masks are kept apart."""
        if self._keeps_terms(lhs, rhs, bits=True):
            rank = len(shape_of(lhs))
            terms = merged(terms_of(lhs, rank) + terms_of(rhs, rank), bits=True)
            origin = origin_of(lhs) | origin_of(rhs)
            return Block(terms, lhs.dtype.scalar, shape_of(lhs), origin)
        return self._elementwise("create_and", (lhs, rhs), ())

    def create_int_cast(self, src: Any, dst_type: Any, is_signed: bool) -> Block:
        """A sum that does not overflow is cast term by term."""
        target = dst_type.scalar
        several = isinstance(src, Block) and len(src.terms) > 1
        if several and not _holds_bits(src) and sum_is_exact(src.terms):
            dtype = triton_interpreter._get_np_dtype(target)
            terms = [term.astype(dtype) for term in src.terms]
            return Block(terms, target, src.shape, src.origin)
        return self._elementwise("create_int_cast", (src,), (dst_type, is_signed))

    def _keeps_terms(self, lhs: Any, rhs: Any, *, bits: bool = False) -> bool:
        return (
            is_known(lhs)
            and is_known(rhs)
            and len(shape_of(lhs)) > 0
            and shape_of(lhs) == shape_of(rhs)
            and _holds_bits(lhs) == _holds_bits(rhs) == bits
            and not _is_floating(lhs.dtype.scalar)
        )

    def _sum(self, lhs: Any, rhs: Any, right_terms: Callable[[Any, int], list[Array]]) -> Block:
        rank = len(shape_of(lhs))
        terms = merged(terms_of(lhs, rank) + right_terms(rhs, rank))
        return Block(terms, lhs.dtype.scalar, shape_of(lhs), origin_of(lhs) | origin_of(rhs))

    def create_addptr(self, ptr: Any, offset: Any) -> Block:
        """Addresses, kept as sums."""
        shape = shape_of(ptr)
        rank = len(shape)
        if not (is_known(ptr) and is_known(offset)):
            return self._unknown_pointer(ptr, shape, offset)
        element_bytes = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
        offsets = terms_of(offset, rank)
        if not sum_is_exact(offsets):
            offsets = [array_of(offset, rank)]
        terms = [term.astype(np.int64) * element_bytes for term in offsets]
        terms += [term.view(np.int64) for term in terms_of(ptr, rank)]
        joined = [term.view(np.uint64) for term in merged(terms)]
        return Block(joined, ptr.dtype, shape, origin_of(ptr) | origin_of(offset))

    def _unknown_pointer(self, ptr: Any, shape: Sequence[int], *operands: Any) -> Block:
        unknown = self._unknown(tl.uint64, shape, ptr, *operands)
        unknown.dtype = ptr.dtype
        return unknown

    def _elementwise(self, name: str, operands: Sequence[Any], rest: Sequence[Any]) -> Block:
        """Triton's own operation on aligned arrays."""
        native = getattr(triton_interpreter.InterpreterBuilder, name)
        shape = max((shape_of(operand) for operand in operands), key=len)
        origin = 0
        for operand in operands:
            origin |= origin_of(operand)
        if not all(is_known(operand) for operand in operands):
            dtype = self._result_dtype(native, name, operands, rest)
            return self._unknown(dtype, shape, *operands)
        arrays = [array_of(operand, len(shape)) for operand in operands]
        handles = [
            TensorHandle(array, operand.dtype)
            for array, operand in zip(arrays, operands, strict=True)
        ]
        answer = native(self, *handles, *rest)
        self._check_size(answer.data.size)
        return Block((answer.data,), answer.dtype, shape, origin)

    def _result_dtype(
        self, native: Any, name: str, operands: Sequence[Any], rest: Sequence[Any]
    ) -> Any:
        key = (name, *(str(operand.dtype) for operand in operands), *(str(r) for r in rest))
        if key not in self._result_dtypes:
            ones = [
                TensorHandle(
                    np.ones(1, triton_interpreter._get_np_dtype(operand.dtype)), operand.dtype
                )
                for operand in operands
            ]
            self._result_dtypes[key] = native(self, *ones, *rest).dtype
        return self._result_dtypes[key]

    def create_libdevice(self, name: str, operands: list[Any]) -> Block:
        """A function of libdevice; unknown if one of its operands is, whatever its name."""
        if all(is_known(operand) for operand in operands):
            rank = len(shape_of(operands[0]))
            handles = [TensorHandle(array_of(o, rank), o.dtype) for o in operands]
            values = super().create_libdevice(name, handles)
            origin = 0
            for operand in operands:
                origin |= origin_of(operand)
            return Block((values.data,), values.dtype, shape_of(operands[0]), origin)
        return self._unknown(operands[0].dtype, shape_of(operands[0]), *operands)

    def create_dot(self, a: Any, b: Any, d: Any, *_: Any) -> Block:
        """Matrix products: of interest only where values are computed."""
        if not (self._math and is_known(a) and is_known(b) and is_known(d)):
            return self._unknown(d.dtype, shape_of(d), a, b, d)
        accumulator = self._full(d)
        product = np.matmul(
            self._factor(a, accumulator.dtype), self._factor(b, accumulator.dtype),
            dtype=accumulator.dtype,
        )  # fmt: skip
        return Block((product + accumulator,), d.dtype.scalar, shape_of(d))

    def _factor(self, handle: Any, accumulator: Any) -> Array:
        values, dtype = np.ascontiguousarray(self._full(handle)), handle.dtype.scalar
        if dtype == tl.bfloat16:
            return bfloat16_as_float32(values)
        if _is_floating(dtype) and dtype.primitive_bitwidth == 8:
            half = triton_interpreter._convert_float(values, dtype, tl.float16, None)
            values = half.view(np.float16).reshape(values.shape)
        return values.astype(accumulator, copy=False)

    def create_dot_scaled(self, *operands: Any) -> Block:
        """Unknown: its scaling is not worth a second implementation."""
        accumulator = operands[-1]
        return self._unknown(tl.float32, shape_of(accumulator), *operands)

    def create_gather(self, src: Any, indices: Any, axis: int) -> Block:
        """Lanes of one block chosen by another."""
        if not (is_known(src) and is_known(indices)):
            return self._unknown(src.dtype, shape_of(indices), src, indices)
        full = [self._full(src), self._full(indices)]
        count = max(len(array) for array in full)
        source, places = (np.broadcast_to(array, (count, *array.shape[1:])) for array in full)
        gathered = np.take_along_axis(source, places, axis=axis % (source.ndim - 1) + 1)
        origin = origin_of(src) | origin_of(indices)
        return Block((gathered,), src.dtype.scalar, shape_of(indices), origin)

    def create_histogram(self, data: Any, bins: int, mask: Any = None) -> Block:
        """Unknown: decides nothing in practice."""
        return self._unknown(tl.int32, (bins,), data, mask)

    def create_inline_asm(
        self, asm: Any, constraints: Any, values: Any, types: Any, *_: Any
    ) -> Any:
        """Unknown: nobody here can run it."""
        shape = max((shape_of(value) for value in values), key=len, default=())
        unknown = [self._unknown(dtype, shape, *values) for dtype in types]
        return _SeveralResults(unknown)

    def create_extern_elementwise(
        self, lib_name: str, lib_path: str, symbol: str, args: Any, ret_type: Any, is_pure: bool
    ) -> Block:
        """Unknown: nobody here can run it."""
        shape = max((shape_of(arg) for arg in args), key=len, default=())
        return self._unknown(ret_type, shape, *args)

    # --- reductions ----------------------------------------------------------------------------

    @property
    def reduce(self) -> Any:
        """What replaces `ReduceOps.apply`."""
        return lambda operation, operands: self._reduced(operation, operands)

    @property
    def scan(self) -> Any:
        """What replaces `ScanOps.apply`."""
        return lambda operation, operands: self._scanned(operation, operands)

    def _reduced(self, operation: Any, operands: Any) -> Any:
        if isinstance(operands, tuple):
            return tuple(self._reduced_each(operation, operands, each) for each in operands)
        return self._reduced_each(operation, (operands,), operands)

    def _reduced_each(self, operation: Any, operands: Sequence[Any], each: Any) -> Any:
        handles = [operand.handle for operand in operands]
        axis = _axis(operation.axis, len(shape_of(each.handle)))
        shape = _reduced_shape(shape_of(each.handle), axis, operation.keep_dims)
        known: dict[Any, Callable[..., Any]] = {
            tl.standard._sum_combine: np.sum,
            tl.standard._elementwise_max: np.nanmax,
            tl.standard._elementwise_min: np.nanmin,
        }
        function = known.get(operation.combine_fn)
        if function is None or not all(is_known(handle) for handle in handles):
            block = self._unknown(each.handle.dtype, shape, *handles)
        else:
            full = self._full(each.handle)
            axes = tuple(range(1, full.ndim)) if axis is None else axis + 1
            values = np.asarray(function(full, axis=axes)).astype(full.dtype)
            values = values.reshape(len(full), *shape)
            block = Block((values,), each.handle.dtype, shape, origin_of(each.handle))
        return tl.tensor(block, tl.block_type(each.dtype, list(shape)) if shape else each.dtype)

    def _scanned(self, operation: Any, operands: Any) -> Any:
        if isinstance(operands, tuple):
            return tuple(self._scanned_each(operation, operands, each) for each in operands)
        return self._scanned_each(operation, (operands,), operands)

    def _scanned_each(self, operation: Any, operands: Sequence[Any], each: Any) -> Any:
        handle = each.handle
        summed = operation.combine_fn is tl.standard._sum_combine and not operation.reverse
        if not summed or not is_known(handle):
            handles = [operand.handle for operand in operands]
            block = self._unknown(handle.dtype, shape_of(handle), *handles)
        else:
            full = self._full(handle)
            along = (_axis(operation.axis, full.ndim - 1) or 0) + 1
            values = np.cumsum(full, axis=along).astype(full.dtype)
            block = Block((values,), handle.dtype, shape_of(handle), origin_of(handle))
        return tl.tensor(block, each.type)

    # --- memory --------------------------------------------------------------------------------

    def create_load(self, ptr: Any, *_: Any) -> Block:
        """An unmasked load."""
        return self._load(ptr, None, None)

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *_: Any) -> Block:
        """A load."""
        return self._load(ptrs, mask, other)

    def create_store(self, ptr: Any, val: Any, *_: Any) -> None:
        """An unmasked store."""
        self._store(ptr, val, None)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *_: Any) -> None:
        """A store."""
        self._store(ptrs, value, mask)

    def _touch(self, kind: Access, ptr: Any, mask: Any) -> int:
        rank = len(shape_of(ptr))
        self._deciding(ptr, "an address")
        if mask is not None:
            self._deciding(mask, "a mask")
        addresses = [term.view(np.int64) for term in terms_of(ptr, rank)]
        masks = [] if mask is None else terms_of(mask, rank)
        item_bytes = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
        return self._recorder.access(kind, addresses, masks, item_bytes, self._active)

    def _load(self, ptr: Any, mask: Any, other: Any) -> Block:
        dtype, shape = ptr.get_element_ty(), shape_of(ptr)
        repeated = self._repeated(ptr, mask, dtype)
        if repeated is not None:
            return repeated
        number = self._touch(Access.READ, ptr, mask)
        block = self._value(number, ptr, mask, other)
        if _is_single(shape):
            self._poll = self._poll_of(ptr, mask)
            self._poll_block, self._poll_number, self._polls = block, number, 0
        else:
            self._poll = None
        return block

    def _value(self, number: int, ptr: Any, mask: Any, other: Any) -> Block:
        """What a load brings: its values, where they are wanted and can be had."""
        dtype, shape = ptr.get_element_ty(), shape_of(ptr)
        floating = _is_floating(dtype)
        origin = self._storages(ptr, mask)
        wanted = _is_single(shape) or (origin and origin & self._needed == origin)
        if self._math or (wanted and not floating):
            block = self._loaded(ptr, mask, other)
            if block.known:
                self._value_loads[number] = block.origin
            return block
        unknown = self._unknown(dtype, shape, other)
        unknown.origin |= origin | (_ARITHMETIC if floating else 0)
        return unknown

    def _storages(self, ptr: Any, mask: Any) -> int:
        """Bit set of the storages that the active lanes of the active programs lie in."""
        terms = [term.view(np.int64) for term in terms_of(ptr, len(shape_of(ptr)))]
        low, high = (sum(int(extreme(term)) for term in terms) for extreme in (np.min, np.max))
        common = self._common_storage(low, high)
        if common:
            return common
        lanes = self._lanes_of(ptr, mask)
        if not len(lanes):
            return 0
        common = self._common_storage(int(lanes.min()), int(lanes.max()))
        if common:
            return common
        places = np.unique(np.searchsorted(self._memory.begin, lanes, side="right") - 1)
        return sum(2 << int(place) for place in places if place >= 0)

    def _common_storage(self, low: int, high: int) -> int:
        """Bit of the storage that both addresses, and so all between them, lie in; else 0."""
        first = int(np.searchsorted(self._memory.begin, low, side="right")) - 1
        return 2 << first if first >= 0 and high < self._memory.end[first] else 0

    def _lanes_of(self, ptr: Any, mask: Any) -> Int64Array:
        """Addresses of all active lanes of the active programs."""
        rank = len(shape_of(ptr))
        arrays = [array_of(ptr, rank).view(np.int64)]
        if mask is not None:
            arrays.append(array_of(mask, rank))
        arrays.append(aligned(self._active, rank))
        common = np.broadcast_shapes(*(array.shape for array in arrays))
        self._check_size(int(np.prod(common)))
        lanes, *conditions = (np.broadcast_to(array, common) for array in arrays)
        return lanes[np.logical_and.reduce(conditions)]

    def _loaded(self, ptr: Any, mask: Any, other: Any) -> Block:
        """The real values."""
        origin = self._storages(ptr, mask)
        numbers = [n for place, n in enumerate(self._memory.numbers) if origin >> place + 1 & 1]
        dtype, shape = ptr.get_element_ty(), shape_of(ptr)
        if not self._math and not all(self._memory.has_contents(number) for number in numbers):
            unknown = self._unknown(dtype, shape)
            unknown.origin = origin
            return unknown
        if self._math and origin & self._written:
            raise _RefusalError("a program reads what it wrote")
        rank = len(shape)
        np_dtype = triton_interpreter._get_np_dtype(dtype)
        inputs = [array_of(ptr, rank)]
        inputs.append(
            np.ones((1,) * (rank + 1), np.bool_) if mask is None else array_of(mask, rank)
        )
        if other is not None and not is_known(other):
            return self._unknown(dtype, shape, other)
        inputs.append(
            np.zeros((1,) * (rank + 1), np_dtype) if other is None else array_of(other, rank)
        )
        common = np.broadcast_shapes(*(array.shape for array in inputs))
        self._check_size(int(np.prod(common)))
        addresses, active, others = (
            np.ascontiguousarray(np.broadcast_to(array, common)) for array in inputs
        )
        host, inside = self._memory.locate(addresses, active)
        values = triton_interpreter._interpreter.load(host, inside, others, np_dtype)
        return Block((values,), dtype, shape, origin | origin_of(other))

    def _poll_of(self, ptr: Any, mask: Any) -> tuple[bytes, bytes]:
        rank = len(shape_of(ptr))
        lanes = b"" if mask is None else array_of(mask, rank).tobytes()
        return array_of(ptr, rank).tobytes(), lanes

    def _repeated(self, ptr: Any, mask: Any, dtype: Any) -> Block | None:
        """A repeated load of one word is no access; after some, the awaited value is guessed."""
        single = _is_single(shape_of(ptr)) and is_known(ptr) and (mask is None or is_known(mask))
        if self._poll is None or not single or self._poll_of(ptr, mask) != self._poll:
            return None
        self._polls += 1
        if self._polls <= VAIN_POLLS or _is_floating(dtype):
            return self._poll_block
        if self._math:
            raise _RefusalError("a program waits for another")
        self._value_loads.pop(self._poll_number, None)
        self._noticed.waits = True
        guess = (self._polls - VAIN_POLLS - 1) // 2
        if guess >= len(GUESSES):
            raise _RefusalError("a program waits for a value that could not be guessed")
        value = np.full((1,) * (1 + len(shape_of(ptr))), GUESSES[guess])
        guessed = value.astype(triton_interpreter._get_np_dtype(dtype))
        return Block((guessed,), dtype, shape_of(ptr))

    def _store(self, ptr: Any, value: Any, mask: Any) -> None:
        self._poll = None
        self._touch(Access.WRITE, ptr, mask)
        if self._math:
            self._postpone(ptr, value, mask, triton_interpreter._interpreter.store)

    def _postpone(self, ptr: Any, value: Any, mask: Any, write: Callable[..., Any]) -> None:
        """Write at the end of the batch, for the programs that are then still active."""
        self._written |= self._storages(ptr, mask)
        rank = len(shape_of(ptr))
        inputs = [array_of(ptr, rank), array_of(value, rank)]
        inputs.append(
            np.ones((1,) * (rank + 1), np.bool_) if mask is None else array_of(mask, rank)
        )
        common = (len(self._programs), *(shape_of(ptr) or ()))
        self._check_size(int(np.prod(common)))

        def write_active(active: npt.NDArray[np.bool_]) -> None:
            addresses, values, lanes = (
                np.ascontiguousarray(np.broadcast_to(array, common)[active]) for array in inputs
            )
            host, inside = self._memory.locate(addresses, lanes)
            write(host, values, inside)

        self._pending.append(write_active)

    def create_atomic_rmw(self, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, *_: Any) -> Block:
        """An atomic update; what it returns depends on the order of the programs."""
        self._poll = None
        self._touch(Access.ATOMIC, ptr, mask)
        if self._math:
            native = triton_interpreter._interpreter
            code = self.ir_rmw_op_to_interpreter_rmw_op[op]
            order = self.ir_sem_to_interpreter_sem[sem]
            self._postpone(
                ptr, val, mask,
                lambda host, values, inside: native.atomic_rmw(code, host, values, inside, order),
            )  # fmt: skip
        zero = np.zeros(
            (1,) * (1 + len(shape_of(ptr))), triton_interpreter._get_np_dtype(val.dtype)
        )
        origin = self._storages(ptr, mask) | _ARITHMETIC
        return Block((zero,), val.dtype.scalar, shape_of(ptr), origin, known=False)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, *_: Any) -> Block:
        """A compare-and-swap is a lock: it is taken to succeed at once."""
        if self._math:
            raise _RefusalError("a program takes a lock")
        self._poll = None
        self._touch(Access.ATOMIC, ptr, None)
        self._noticed.waits = True
        return Block(
            terms_of(cmp, len(shape_of(ptr))), cmp.dtype.scalar, shape_of(ptr), origin_of(cmp),
            is_known(cmp),
        )  # fmt: skip

    def create_atomic_poll(self, ptr: Any, expected: Any, *_: Any) -> Block:
        """Waiting is taken to succeed."""
        if self._math:
            raise _RefusalError("a program waits for another")
        self._poll = None
        self._touch(Access.READ, ptr, None)
        self._noticed.waits = True
        rank = len(shape_of(ptr))
        return Block((np.ones((1,) * (rank + 1), np.bool_),), tl.int1, shape_of(ptr))

    # --- descriptors and block pointers --------------------------------------------------------

    def create_make_tensor_descriptor(
        self,
        base: Any,
        shape: Any,
        strides: Any,
        block_shape: Any,
        is_signed: Any,
        padding: Any = 0,
    ) -> Any:
        """A descriptor; its alignment rules are the compiler's to check."""
        return triton_interpreter.TensorDescHandle(base, shape, strides, block_shape, padding)

    def create_descriptor_load(self, desc: Any, indices: Any, *_: Any) -> Block:
        """A tile, zero outside the tensor."""
        pointer, mask = self._tile(desc, indices, range(len(desc.block_shape)))
        return self._load(pointer, mask, None)

    def create_descriptor_store(self, desc: Any, value: Any, indices: Any) -> None:
        """A tile, cut off at the tensor's border."""
        pointer, mask = self._tile(desc, indices, range(len(desc.block_shape)))
        self._store(pointer, value, mask)

    def create_descriptor_gather(self, desc: Any, x_offsets: Any, y_offset: Any, _: Any) -> Block:
        """Rows one by one, as the interpreter does."""
        dtype = desc.base.dtype.element_ty
        rows = [
            self.create_descriptor_load(desc, [row, y_offset]) for row in self._lanes(x_offsets)
        ]
        shape = (len(rows), desc.block_shape[-1])
        if not self._math:
            return self._unknown(dtype, shape, *rows)
        values = [np.broadcast_to(row.data, (len(self._programs), 1, shape[1])) for row in rows]
        return Block((np.concatenate(values, axis=1),), dtype, shape)

    def create_descriptor_scatter(
        self, desc: Any, value: Any, x_offsets: Any, y_offset: Any
    ) -> None:
        """Rows one by one, as the interpreter does."""
        for number, row in enumerate(self._lanes(x_offsets)):
            values = value
            if self._math:
                full = self._full(value)
                values = Block((full[:, number : number + 1],), value.dtype, (1, full.shape[2]))
            self.create_descriptor_store(desc, values, [row, y_offset])

    def _lanes(self, handle: Any) -> list[Block]:
        full = self._full(self._deciding(handle, "an address"))
        return [
            Block((full[:, lane],), handle.dtype.scalar, (), origin_of(handle))
            for lane in range(full.shape[1])
        ]

    def create_make_block_ptr(
        self, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
    ) -> Any:
        """A block pointer (Triton 3.6)."""
        return triton_interpreter.BlockPointerHandle(
            base, shape, strides, list(offsets), block_shape, order
        )

    def create_advance(self, ptr: Any, offsets: Any) -> Any:
        """A block pointer further on (Triton 3.6)."""
        moved = [self.create_add(a, b) for a, b in zip(ptr.offsets, offsets, strict=True)]
        return self.create_make_block_ptr(
            ptr.base, ptr.shape, ptr.strides, moved, ptr.block_shape, ptr.order
        )

    def create_tensor_pointer_load(self, ptr: Any, boundary_check: Any, *_: Any) -> Block:
        """A tile of a block pointer (Triton 3.6)."""
        pointer, mask = self._tile(ptr, ptr.offsets, boundary_check)
        return self._load(pointer, mask, None)

    def create_tensor_pointer_store(
        self, ptr: Any, value: Any, boundary_check: Any, *_: Any
    ) -> None:
        """A tile of a block pointer (Triton 3.6)."""
        pointer, mask = self._tile(ptr, ptr.offsets, boundary_check)
        self._store(pointer, value, mask)

    def _tile(self, tile: Any, offsets: Any, checked: Sequence[int]) -> tuple[Block, Block]:
        """Addresses and mask of a tile, one term per axis."""
        extents = tuple(int(getattr(extent, "value", extent)) for extent in tile.block_shape)
        rank, origin = len(extents), origin_of(tile.base)
        item_bytes = max(1, tile.base.get_element_ty().primitive_bitwidth // 8)
        addresses = [term.view(np.int64) for term in terms_of(tile.base, rank)]
        inside = [np.ones((1,) * (rank + 1), np.bool_)]
        for axis, extent in enumerate(extents):
            handles = (offsets[axis], tile.strides[axis], tile.shape[axis])
            for handle in handles:
                self._deciding(handle, "an address")
                origin |= origin_of(handle)
            offset, stride, limit = (array_of(h, rank).astype(np.int64) for h in handles)
            lanes = np.arange(extent).reshape(1, *(extent if a == axis else 1 for a in range(rank)))
            position = offset + lanes
            addresses.append(position * (stride * item_bytes))
            if axis in checked:
                inside.append((position >= 0) & (position < limit))
        pointer = [term.view(np.uint64) for term in merged(addresses)]
        return (
            Block(pointer, tile.base.dtype, extents, origin),
            Block(merged(inside, bits=True), tl.int1, extents, origin),
        )

    # --- no effect -----------------------------------------------------------------------------

    def create_assert(self, condition: Any, message: str) -> None:
        """The recording run has seen it hold."""

    def create_assume(self, condition: Any) -> None:
        """A hint to the compiler."""

    def create_print(self, *_: Any) -> None:
        """Nobody reads it."""


_ARITHMETIC = 1
"""Bit of an origin: the value cannot be had without arithmetic, or depends on an order."""


class _SeveralResults:
    """What inline assembly returns: an operation with results."""

    def __init__(self, results: Sequence[Block]) -> None:
        self._results = results

    def get_result(self, number: int) -> Block:
        """One of them."""
        return self._results[number]


def _folded(triton_function: Any, python_function: Any, values: Sequence[Any]) -> Any:
    if len(values) < 2 or not any(isinstance(value, tl.tensor) for value in values):
        return python_function(*values)
    folded = values[0]
    for value in values[1:]:
        folded = triton_function(folded, value)
    return folded


def _axis(axis: Any, rank: int) -> int | None:
    """An axis as a number from 0 on; None stays for all of them."""
    axis = getattr(axis, "value", axis)
    return None if axis is None else int(axis) % rank


def _reduced_shape(shape: Sequence[int], axis: int | None, keep_dims: bool) -> tuple[int, ...]:
    if axis is None:
        return (1,) * len(shape) if keep_dims else ()
    kept = [1 if a == axis else extent for a, extent in enumerate(shape) if keep_dims or a != axis]
    return tuple(kept)


_UNARY = (
    "fp_to_fp bitcast int_to_ptr ptr_to_int si_to_fp ui_to_fp fp_to_si fp_to_ui fp_ext fp_trunc "
    "fneg fabs cos exp exp2 iabs floor ceil log log2 precise_sqrt sqrt sin erf rsqrt"
)
_BINARY = (
    "fadd fsub fmul fdiv frem precise_divf approx_divf sdiv udiv srem urem shl lshr ashr xor or "
    "minsi minui minimumf minnumf maxsi maxui maximumf maxnumf umulhi "
    "icmpSLE icmpSLT icmpSGE icmpSGT icmpULE icmpULT icmpUGE icmpUGT icmpEQ icmpNE "
    "fcmpOLT fcmpOGT fcmpOLE fcmpOGE fcmpOEQ fcmpONE fcmpULT fcmpUGT fcmpULE fcmpUGE fcmpUEQ "
    "fcmpUNE"
)
_TERNARY = "clampf select fma"


def _add_elementwise(names: str, arity: int) -> None:
    for name in names.split():
        method = f"create_{name}"
        if hasattr(triton_interpreter.InterpreterBuilder, method):
            setattr(BatchedBuilder, method, _elementwise_method(method, arity))


def _elementwise_method(name: str, arity: int) -> Any:
    def method(self: Any, *operands: Any) -> Block:
        block: Block = self._elementwise(name, operands[:arity], operands[arity:])
        return block

    return method


_add_elementwise(_UNARY, 1)
_add_elementwise(_BINARY, 2)
_add_elementwise(_TERNARY, 3)
