# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What each operation of Triton's IR makes of known blocks, by its name.

Integer sums and conjunctions are kept apart; all else is computed on aligned arrays, lane by lane.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from intelliperf_swizzle.frontends.ssa import ORDERS
from intelliperf_swizzle.frontends.triton.ir.parse import Op
from intelliperf_swizzle.frontends.triton.walk.blocks import (
    Array,
    Block,
    Element,
    Programs,
    align,
    decode,
    encode,
    merge,
    rounded,
    sum_is_exact,
    terms_of,
)

Type = tuple[Element, tuple[int, ...]]
Operation = Callable[[Programs, Op, Sequence[Block], Type], "Block | Sequence[Block]"]
Function = Callable[..., Array]
"""Of aligned arrays."""
Combine = Callable[[Sequence[Block], Sequence[Block]], Sequence[Block]]
"""The region of a reduction or scan."""


# --- constants ----------------------------------------------------------------------------------


def constant(op: Op, kind: Type) -> Block:
    """An `arith.constant`."""
    element, shape = kind
    text = re.sub(r"^\{.*?\}\s*", "", op.text)
    if dense := re.search(r"dense<(.*)>$", text):
        text = dense[1]
    if text.startswith("["):
        numbers = [_number(word, element) for word in re.findall(r"[^\[\],\s]+", text)]
        return Block((np.array(numbers).reshape(1, *shape).astype(element.array),), element, shape)
    value = np.full((1,) * (1 + len(shape)), _number(text, element))
    return Block((value.astype(element.array),), element, shape)


def _number(text: str, element: Element) -> float | int | bool:
    if text in ("true", "false"):
        return text == "true"
    if "0x" in text and element.floating:
        raw = np.array([int(text, 16)], np.uint64).astype(f"u{element.bytes}")
        return float(decode(raw, element)[0])
    if element.floating:
        return float(rounded(np.array([float(text)], np.float64), element)[0])
    value = int(text, 0)
    return value - (1 << element.bits) if value >> (element.bits - 1) == 1 else value


# --- functions of lanes -------------------------------------------------------------------------


def _to_unsigned(array: Array) -> Array:
    return array if array.dtype == np.bool_ else array.view(f"u{array.dtype.itemsize}")


def as_unsigned(function: Function) -> Function:
    """The function on the same bits without a sign."""

    def on_bits(left: Array, right: Array) -> Array:
        found = function(_to_unsigned(left), _to_unsigned(right))
        return found if found.dtype == np.bool_ else np.asarray(found.view(left.dtype))

    return on_bits


def _divide(left: Array, right: Array) -> Array:
    """Rounds towards 0, as C does."""
    if left.size and right.size and left.min() >= 0 and right.min() > 0:
        return np.asarray(left // right)
    return np.asarray((left - np.fmod(left, right)) // right)


def _shift(function: Function) -> Function:
    """A shift by the width or more leaves nothing."""

    def shift(left: Array, right: Array) -> Array:
        if left.dtype == np.bool_:
            return left & ~right
        width = left.dtype.itemsize * 8
        return np.where(_to_unsigned(right) < width, function(left, right), left.dtype.type(0))

    return shift


def _high_bits(left: Array, right: Array) -> Array:
    """The upper half of an unsigned product."""
    wide = np.uint64 if left.dtype.itemsize <= 4 else np.dtype(object)
    product = _to_unsigned(left).astype(wide) * _to_unsigned(right).astype(wide)
    bits = left.dtype.itemsize * 8
    high = product >> wide(bits) if wide is np.uint64 else product >> bits
    return np.asarray(high).astype(f"u{left.dtype.itemsize}").view(left.dtype)


def _error_function(values: Array) -> Array:
    import torch

    found: Array = torch.erf(torch.from_numpy(np.ascontiguousarray(values))).numpy()
    return found


_ON_LANES: Mapping[str, Function] = {
    "arith.muli": np.multiply, "arith.divsi": _divide, "arith.remsi": np.fmod,
    "arith.divui": as_unsigned(np.floor_divide), "arith.remui": as_unsigned(np.remainder),
    "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.andi": np.bitwise_and,
    "arith.addi": np.add, "arith.subi": np.subtract,
    "arith.shli": _shift(np.left_shift), "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _shift(as_unsigned(np.right_shift)),
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
    "arith.minui": as_unsigned(np.minimum), "arith.maxui": as_unsigned(np.maximum),
    "arith.ceildivsi": lambda a, b: -_divide(-a, b), "arith.floordivsi": np.floor_divide,
    "tt.mulhiui": _high_bits, "math.absi": np.abs,
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "tt.precise_divf": np.divide, "arith.remf": np.fmod,
    "arith.negf": np.negative, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "tt.clampf": lambda value, low, high: np.fmin(np.fmax(value, low), high),
    "math.fma": lambda a, b, c: a * b + c, "math.exp": np.exp, "math.exp2": np.exp2,
    "math.log": np.log, "math.log2": np.log2, "math.sqrt": np.sqrt, "tt.precise_sqrt": np.sqrt,
    "math.rsqrt": lambda a: (1 / np.sqrt(a)).astype(a.dtype), "math.sin": np.sin,
    "math.cos": np.cos, "math.floor": np.floor, "math.ceil": np.ceil, "math.absf": np.abs,
    "math.erf": _error_function, "math.tanh": np.tanh, "math.log1p": np.log1p,
    "math.expm1": np.expm1, "math.powf": np.power, "math.tan": np.tan, "math.round": np.round,
    "math.trunc": np.trunc, "math.log10": np.log10, "math.atan2": np.arctan2,
}  # fmt: skip
_LIBDEVICE: Mapping[str, Function] = {
    "abs": np.abs, "fabs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt,
    "copysign": np.copysign, "cosh": np.cosh, "div_rn": np.divide,
    "exp10": lambda x: np.power(x.dtype.type(10), x), "fast_exp": np.exp, "fast_log": np.log,
    "fast_pow": np.power, "fast_sin": np.sin, "fast_cos": np.cos, "fast_tanh": np.tanh,
    "fast_divide": np.divide, "fmod": np.fmod, "hypot": np.hypot, "isfinited": np.isfinite,
    "finite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan, "llrint": np.rint,
    "nearbyint": np.rint, "rint": np.rint, "pow": np.power, "sinh": np.sinh, "fmax": np.fmax,
    "fmin": np.fmin,
    **{n: _ON_LANES[f"math.{n}"] for n in (
        "atan2", "ceil", "cos", "erf", "exp", "expm1", "floor", "fma", "log", "log10", "log1p",
        "log2", "rsqrt", "sin", "sqrt", "tan", "tanh", "trunc",
    )},
}  # fmt: skip


def on_lanes(p: Programs, function: Function, blocks: Sequence[Block], element: Element) -> Block:
    """A function of aligned arrays."""
    shape = max((block.shape for block in blocks), key=len)
    arrays = [align(block.data, len(shape)) for block in blocks]
    if len(arrays) > 1:
        p.check_size(int(np.prod(np.broadcast_shapes(*(a.shape for a in arrays)))))
    return Block((rounded(function(*arrays), element),), element, shape)


def libdevice(symbol: str) -> Operation | None:
    """A function of `libdevice` or `ocml` by its symbol; None if it is not known here."""
    name = re.sub(r"^__(nv|ocml)_|_f(16|32|64)$", "", symbol)
    found = _LIBDEVICE.get(name) or _LIBDEVICE.get(name.removesuffix("f").removesuffix("d"))
    return found and (lambda p, op, b, kind: on_lanes(p, found, b, kind[0]))


def _arithmetic(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """A sum of integers, a conjunction, or a multiple of a sum term by term; else on lanes."""
    first, element = b[0], kind[0]
    if op.name in ("arith.addi", "arith.subi") and first.shape and not first.bits:
        right = terms_of(b[1], len(first.shape))
        right = [np.negative(term) for term in right] if op.name == "arith.subi" else right
        return Block(merge([*first.terms, *right]), element, first.shape)
    if op.name == "arith.andi" and first.bits and first.shape:
        return Block(merge([*first.terms, *b[1].terms], bits=True), element, first.shape)
    if op.name == "arith.muli" and first.shape:
        for many, one in ((first, b[1]), (b[1], first)):
            if len(many.terms) > 1 and one.data.size == 1:
                factor = align(one.data, len(many.shape))
                return Block([term * factor for term in many.terms], element, many.shape)
    return on_lanes(p, _ON_LANES[op.name], b, element)


def _compare(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """`slt`, `uge`, `eq` of integers; `olt`, `une`, `ord` of floats: without NaN, or with it."""
    predicate = op.text.split(",")[0].strip()
    if op.name == "arith.cmpi":
        order = ORDERS[predicate[-2:]]
        unsigned = predicate[0] == "u" and len(predicate) == 3
        return on_lanes(p, as_unsigned(order) if unsigned else order, b, kind[0])

    def function(left: Array, right: Array) -> Array:
        unordered = np.isnan(left) | np.isnan(right)
        if predicate in ("ord", "uno"):
            return ~unordered if predicate == "ord" else unordered
        if predicate in ("true", "false"):
            return np.full(unordered.shape, predicate == "true")
        found: Array = ORDERS[predicate[1:]](left, right)
        return found | unordered if predicate[0] == "u" else found & ~unordered

    return on_lanes(p, function, b, kind[0])


def _select(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    condition, left, right = b
    shape = left.shape
    if condition.data.size == 1:
        return left if condition.data.reshape(-1)[0] else right
    pick = align(condition.data, len(shape))
    pick = pick.reshape(len(pick), *(1,) * len(shape)) if not condition.shape else pick
    arrays = [align(block.data, len(shape)) for block in (left, right)]
    p.check_size(int(np.prod(np.broadcast_shapes(pick.shape, *(a.shape for a in arrays)))))
    return Block((np.where(pick, *arrays),), kind[0], shape)


# --- conversions, addresses ---------------------------------------------------------------------


def _extend(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """A wider or narrower integer; a sum that does not overflow is cast term by term."""
    [block], element, signed = b, kind[0], op.name not in ("arith.extui", "arith.index_castui")
    if len(block.terms) > 1 and not block.bits and signed and sum_is_exact(block.terms):
        return Block([term.astype(element.array) for term in block.terms], element, block.shape)
    data = block.data if signed else _to_unsigned(block.data)
    if block.bits and signed:
        data = -data.astype(element.array)
    elif element.bits == 1:
        data = data & 1
    return Block((data.astype(element.array),), element, block.shape)


def _convert(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """Between integers and floats, and between floats."""
    [block], element = b, kind[0]
    data = block.data
    if op.name == "arith.uitofp":
        data = _to_unsigned(data).astype(np.float64)
    elif op.name == "arith.fptoui":
        data = data.astype(np.float64).astype(f"u{element.array.itemsize}").view(element.array)
    elif op.name == "arith.sitofp":
        data = (-data.astype(np.int8) if block.bits else data).astype(np.float64)
    return Block((rounded(data, element),), element, block.shape)


def _bitcast(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    [block], element = b, kind[0]
    raw = block.data if block.element.array.kind == "i" else encode(block.data, block.element)
    raw = np.ascontiguousarray(raw)
    if element.pointee or element.array.kind == "i" or element.bits == 1:
        return Block((raw.view(element.array),), element, block.shape)
    return Block((decode(raw.view(f"u{element.bytes}"), element),), element, block.shape)


def _add_offset(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """Addresses, kept as sums."""
    pointer, offset = b
    rank = len(pointer.shape)
    offsets = terms_of(offset, rank)
    if not sum_is_exact(offsets):
        offsets = [align(offset.data, rank)]
    terms = [term.astype(np.int64) * pointer.element.target.bytes for term in offsets]
    return Block(merge([*terms, *pointer.terms]), pointer.element, pointer.shape)


# --- other places for lanes ---------------------------------------------------------------------


def _change(block: Block, shape: Sequence[int], change: Callable[[Array], Array]) -> Block:
    return Block([change(term) for term in block.terms], block.element, shape)


def _broadcast(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """Extents of 1 made larger, or a scalar for every lane, without copying."""
    return _change(b[0], kind[1], lambda term: align(term, len(kind[1])))


def _transpose(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    found = re.search(r"order = array<i32: ([\d, ]+)>", op.text)
    assert found, op.text
    axes = (0, *(int(axis) + 1 for axis in found[1].split(",")))
    return _change(b[0], kind[1], lambda term: np.transpose(term, axes))


def _reshape(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    """The same lanes in C order under another shape."""
    [block], (_, shape) = b, kind
    if all(term[0].size == 1 for term in block.terms):
        return _change(block, shape, lambda term: term.reshape(len(term), *(1,) * len(shape)))
    if [extent for extent in shape if extent > 1] == [e for e in block.shape if e > 1]:
        return _change(block, shape, lambda term: _with_ones(term, block.shape, shape))
    full = p.full(block)
    return Block((full.reshape(len(full), *shape),), block.element, shape)


def _with_ones(term: Array, old: Sequence[int], new: Sequence[int]) -> Array:
    """Extents of 1 put in and taken out."""
    kept = iter([held for held, extent in zip(term.shape[1:], old, strict=True) if extent > 1])
    return term.reshape(len(term), *(1 if extent == 1 else next(kept) for extent in new))


def _full(p: Programs, blocks: Sequence[Block]) -> list[Array]:
    """All lanes of blocks, of as many programs each."""
    arrays = [p.full(block) for block in blocks]
    count = max(len(array) for array in arrays)
    return [np.broadcast_to(array, (count, *array.shape[1:])) for array in arrays]


def _split(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> list[Block]:
    full = p.full(b[0])
    return [Block((full[..., half],), *kind) for half in range(2)]


def _gather(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    values, places = _full(p, b)
    found = np.take_along_axis(values, places.astype(np.int64), axis=op.attr("axis") + 1)
    return Block((found,), *kind)


def _histogram(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    values, *lanes = _full(p, b)
    bins = kind[1][0]
    counts = np.zeros((len(values), bins), kind[0].array)
    for row, numbers in enumerate(values):
        chosen = numbers[lanes[0][row]] if lanes else numbers.reshape(-1)
        chosen = chosen[(chosen >= 0) & (chosen < bins)]
        counts[row] = np.bincount(chosen, minlength=bins)
    return Block((counts,), *kind)


def _dot(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    added = b[2]
    dtype = added.element.array if added.element.name != "f16" else np.dtype(np.float32)
    left, right = (np.ascontiguousarray(p.full(side)).astype(dtype, copy=False) for side in b[:2])
    found = np.matmul(left, right) + added.data
    return Block((rounded(found, added.element),), added.element, added.shape)


# --- reductions and scans -----------------------------------------------------------------------

_IN_ANY_ORDER = (
    *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
)


def reduction(combine: Combine, single: str) -> Operation:
    """A `tt.reduce` or `tt.scan` by its region; `single` names a lone operation there."""
    made = _ON_LANES.get(single)
    ufunc = made if made in _IN_ANY_ORDER else None
    return lambda p, op, b, _: (_reduce if op.name == "tt.reduce" else _scan)(
        _full(p, b), b, op, combine, ufunc if len(b) == 1 else None
    )


def _reduce(
    arrays: list[Array], blocks: Sequence[Block], op: Op, combine: Combine, ufunc: np.ufunc | None
) -> list[Block]:
    """Combines the lanes along an axis: halves with halves."""
    at = op.attr("axis") + 1
    shape = tuple(extent for axis, extent in enumerate(blocks[0].shape, 1) if axis != at)
    if ufunc is not None:
        found = ufunc.reduce(arrays[0], axis=at, dtype=arrays[0].dtype)
        return [Block((rounded(found, blocks[0].element),), blocks[0].element, shape)]
    while (extent := arrays[0].shape[at]) > 1:
        halves = [np.split(array, (extent // 2, extent // 2 * 2), at) for array in arrays]
        first, second, rest = zip(*halves, strict=True)
        combined = combine(_like(first, blocks), _like(second, blocks))
        arrays = [
            np.concatenate((np.broadcast_to(new.data, old.shape), left), at)
            for new, old, left in zip(combined, first, rest, strict=True)
        ]
    kept = [np.take(array, 0, at) for array in arrays]
    return [Block((k,), b.element, shape) for k, b in zip(kept, blocks, strict=True)]


def _scan(
    arrays: list[Array], blocks: Sequence[Block], op: Op, combine: Combine, ufunc: np.ufunc | None
) -> list[Block]:
    """What a reduction makes of the lanes up to each one, in strides of powers of two."""
    at, reverse = op.attr("axis") + 1, "reverse = true" in op.text
    if reverse:
        arrays = [np.flip(array, at) for array in arrays]
    if ufunc is not None:
        found = ufunc.accumulate(arrays[0], axis=at, dtype=arrays[0].dtype)
        arrays = [rounded(found, blocks[0].element)]
    else:
        extent, stride = arrays[0].shape[at], 1
        while stride < extent:
            before = [np.take(array, range(extent - stride), at) for array in arrays]
            after = [np.take(array, range(stride, extent), at) for array in arrays]
            combined = combine(_like(before, blocks), _like(after, blocks))
            arrays = [
                np.concatenate((np.take(old, range(stride), at), new.data), at)
                for old, new in zip(arrays, combined, strict=True)
            ]
            stride *= 2
    if reverse:
        arrays = [np.flip(array, at) for array in arrays]
    return [Block((a,), b.element, b.shape) for a, b in zip(arrays, blocks, strict=True)]


def _like(arrays: Sequence[Array], blocks: Sequence[Block]) -> list[Block]:
    pairs = zip(map(np.ascontiguousarray, arrays), blocks, strict=True)
    return [Block((array,), block.element, array.shape[1:]) for array, block in pairs]


# --- all of them --------------------------------------------------------------------------------


def _program_id(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    return Block((p.coordinates["xyz".index(op.text[0])],), *kind)


def _extent(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    return Block((np.array([p.grid["xyz".index(op.text[0])]], np.int32),), *kind)


def _range(p: Programs, op: Op, b: Sequence[Block], kind: Type) -> Block:
    return Block((np.arange(op.attr("start"), op.attr("end"), dtype=np.int32)[None],), *kind)


OPERATIONS: Mapping[str, Operation] = {
    **dict.fromkeys(_ON_LANES, _arithmetic),
    **dict.fromkeys(("arith.cmpi", "arith.cmpf"), _compare),
    "arith.select": _select,
    **dict.fromkeys(
        ("arith.extsi", "arith.trunci", "arith.index_cast", "arith.extui", "arith.index_castui"),
        _extend,
    ),
    **dict.fromkeys(
        ("arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.truncf",
         "arith.extf", "tt.fp_to_fp"), _convert,
    ),
    **dict.fromkeys(("arith.bitcast", "tt.bitcast"), _bitcast),
    "tt.get_program_id": _program_id, "tt.get_num_programs": _extent, "tt.make_range": _range,
    "ub.poison": lambda p, op, b, kind: Block(
        (np.zeros((1,) * (1 + len(kind[1])), kind[0].array),), *kind
    ),
    "tt.addptr": _add_offset, "tt.splat": _broadcast, "tt.broadcast": _broadcast,
    "tt.expand_dims": _reshape, "tt.unsplat": _reshape, "tt.reshape": _reshape,
    "tt.trans": _transpose, "tt.split": _split, "tt.gather": _gather,
    "tt.cat": lambda p, op, b, kind: Block((np.concatenate(_full(p, b), axis=1),), *kind),
    "tt.join": lambda p, op, b, kind: Block((np.stack(_full(p, b), axis=-1),), *kind),
    "tt.histogram": _histogram, "tt.dot": _dot,
    "llvm.freeze": lambda p, op, b, kind: Block(b[0].terms, *kind),
}  # fmt: skip
"""Operations without effects; what is not here is not known."""
