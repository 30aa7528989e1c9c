# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Arithmetic on blocks: sums kept apart, all else as Triton does it on aligned arrays.

Each is a function of the batch and of what Triton hands to the `create_…` of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as triton_interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from intelliperf_swizzle.frontends.triton.interpreter.batch import Batch
from intelliperf_swizzle.frontends.triton.interpreter.blocks import (
    Array,
    Block,
    array_of,
    is_floating,
    is_known,
    merge,
    origin_of,
    shape_of,
    sum_is_exact,
    terms_of,
)
from intelliperf_swizzle.frontends.triton.interpreter.fixes import bfloat16_as_float32

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


# --- sums and conjunctions ----------------------------------------------------------------------


def add(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """Integer sums are kept apart."""
    if _keeps_terms(lhs, rhs):
        return _sum(lhs, rhs, terms_of(rhs, len(shape_of(lhs))))
    return _elementwise(batch, "create_add", (lhs, rhs), ())


def sub(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """Integer differences are kept apart."""
    if _keeps_terms(lhs, rhs):
        return _sum(lhs, rhs, [np.negative(term) for term in terms_of(rhs, len(shape_of(lhs)))])
    return _elementwise(batch, "create_sub", (lhs, rhs), ())


def mul(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """A sum times a number is the sum of the products."""
    if _keeps_terms(lhs, rhs):
        for many, one in ((lhs, rhs), (rhs, lhs)):
            factor = array_of(one, len(shape_of(many)))
            if factor.size == 1 and len(many.terms if isinstance(many, Block) else ()) > 1:
                terms = [term * factor for term in many.terms]
                return Block(terms, many.dtype.scalar, many.shape, origin_of(lhs) | origin_of(rhs))
    return _elementwise(batch, "create_mul", (lhs, rhs), ())


def and_(batch: Batch, lhs: TensorHandle, rhs: TensorHandle) -> Block:
    """Conjunctions of masks are kept apart."""
    if _keeps_terms(lhs, rhs, bits=True):
        rank = len(shape_of(lhs))
        terms = merge(terms_of(lhs, rank) + terms_of(rhs, rank), bits=True)
        return Block(terms, lhs.dtype.scalar, shape_of(lhs), origin_of(lhs) | origin_of(rhs))
    return _elementwise(batch, "create_and", (lhs, rhs), ())


def int_cast(batch: Batch, src: TensorHandle, dst_type: tl.dtype, is_signed: bool) -> Block:
    """A sum that does not overflow is cast term by term."""
    target = dst_type.scalar
    several = isinstance(src, Block) and len(src.terms) > 1
    if several and not _holds_bits(src) and sum_is_exact(src.terms):
        dtype = triton_interpreter._get_np_dtype(target)
        terms = [term.astype(dtype) for term in src.terms]
        return Block(terms, target, src.shape, src.origin)
    return _elementwise(batch, "create_int_cast", (src,), (dst_type, is_signed))


def addptr(batch: Batch, ptr: TensorHandle, offset: TensorHandle) -> Block:
    """Addresses, kept as sums."""
    shape = shape_of(ptr)
    rank = len(shape)
    if not (is_known(ptr) and is_known(offset)):
        unknown = batch.unknown(tl.uint64, shape, ptr, offset)
        unknown.dtype = ptr.dtype
        return unknown
    element_bytes = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
    offsets = terms_of(offset, rank)
    if not sum_is_exact(offsets):
        offsets = [array_of(offset, rank)]
    terms = [term.astype(np.int64) * element_bytes for term in offsets]
    terms += [term.view(np.int64) for term in terms_of(ptr, rank)]
    joined = [term.view(np.uint64) for term in merge(terms)]
    return Block(joined, ptr.dtype, shape, origin_of(ptr) | origin_of(offset))


def _keeps_terms(lhs: TensorHandle, rhs: TensorHandle, *, bits: bool = False) -> bool:
    return (
        is_known(lhs)
        and is_known(rhs)
        and len(shape_of(lhs)) > 0
        and shape_of(lhs) == shape_of(rhs)
        and _holds_bits(lhs) == _holds_bits(rhs) == bits
        and not is_floating(lhs.dtype.scalar)
    )


def _holds_bits(handle: TensorHandle) -> bool:
    """Whether the array is of bits; comparisons keep the Triton dtype of their operands."""
    terms = handle.terms if isinstance(handle, Block) else (handle.data,)
    return bool(terms[0].dtype == np.bool_)


def _sum(lhs: TensorHandle, rhs: TensorHandle, right_terms: Sequence[Array]) -> Block:
    terms = merge([*terms_of(lhs, len(shape_of(lhs))), *right_terms])
    return Block(terms, lhs.dtype.scalar, shape_of(lhs), origin_of(lhs) | origin_of(rhs))


# --- as Triton does it --------------------------------------------------------------------------


def _elementwise(
    batch: Batch, name: str, operands: Sequence[TensorHandle], rest: Sequence[object]
) -> Block:
    """Triton's own operation on aligned arrays."""
    native = getattr(InterpreterBuilder, name)
    shape = max((shape_of(operand) for operand in operands), key=len)
    origin = 0
    for operand in operands:
        origin |= origin_of(operand)
    if not all(is_known(operand) for operand in operands):
        dtype = _result_dtype(batch, name, operands, rest)
        return batch.unknown(dtype, shape, *operands)
    arrays = [array_of(operand, len(shape)) for operand in operands]
    handles = [
        TensorHandle(array, operand.dtype) for array, operand in zip(arrays, operands, strict=True)
    ]
    answer = native(batch, *handles, *rest)
    batch.check_size(answer.data.size)
    return Block((answer.data,), answer.dtype, shape, origin)


def _result_dtype(
    batch: Batch, name: str, operands: Sequence[TensorHandle], rest: Sequence[object]
) -> tl.dtype:
    key = (name, *(str(operand.dtype) for operand in operands), *(str(r) for r in rest))
    if key not in batch.result_dtypes:
        ones = [
            TensorHandle(np.ones(1, triton_interpreter._get_np_dtype(operand.dtype)), operand.dtype)
            for operand in operands
        ]
        batch.result_dtypes[key] = getattr(InterpreterBuilder, name)(batch, *ones, *rest).dtype
    return batch.result_dtypes[key]


def _native(name: str, arity: int) -> Callable[..., Block]:
    method = f"create_{name}"

    def operation(batch: Batch, *operands: TensorHandle) -> Block:
        return _elementwise(batch, method, operands[:arity], operands[arity:])

    return operation


def libdevice(batch: Batch, name: str, operands: Sequence[TensorHandle]) -> Block:
    """A function of libdevice; unknown if one of its operands is, whatever its name."""
    shape = shape_of(operands[0])
    if not all(is_known(operand) for operand in operands):
        return batch.unknown(operands[0].dtype, shape, *operands)
    handles = [TensorHandle(array_of(o, len(shape)), o.dtype) for o in operands]
    values = InterpreterBuilder.create_libdevice(batch, name, handles)
    origin = 0
    for operand in operands:
        origin |= origin_of(operand)
    return Block((values.data,), values.dtype, shape, origin)


# --- products, and what nobody here can compute -------------------------------------------------


def dot(batch: Batch, a: TensorHandle, b: TensorHandle, d: TensorHandle, *_: object) -> Block:
    """Matrix products: of interest only where values are computed."""
    if not (batch.math and is_known(a) and is_known(b) and is_known(d)):
        return batch.unknown(d.dtype, shape_of(d), a, b, d)
    accumulator = batch.full(d)
    dtype = accumulator.dtype
    product = np.matmul(_factor(batch, a, dtype), _factor(batch, b, dtype), dtype=dtype)
    return Block((product + accumulator,), d.dtype.scalar, shape_of(d))


def _factor(batch: Batch, handle: TensorHandle, accumulator: np.dtype[np.generic]) -> Array:
    values, dtype = np.ascontiguousarray(batch.full(handle)), handle.dtype.scalar
    if dtype == tl.bfloat16:
        return bfloat16_as_float32(values)
    if is_floating(dtype) and dtype.primitive_bitwidth == 8:
        half = triton_interpreter._convert_float(values, dtype, tl.float16, None)
        values = half.view(np.float16).reshape(values.shape)
    return values.astype(accumulator, copy=False)


def dot_scaled(batch: Batch, *operands: TensorHandle) -> Block:
    """Unknown: its scaling is not worth a second implementation."""
    return batch.unknown(tl.float32, shape_of(operands[-1]), *operands)


def histogram(
    batch: Batch, data: TensorHandle, bins: int, mask: TensorHandle | None = None
) -> Block:
    """Unknown: decides nothing in practice."""
    return batch.unknown(tl.int32, (bins,), data, mask)


class _SeveralResults:
    """What inline assembly returns: an operation with results."""

    def __init__(self, results: Sequence[Block]) -> None:
        self._results = results

    def get_result(self, number: int) -> Block:
        """One of them."""
        return self._results[number]


def inline_asm(
    batch: Batch,
    asm: str,
    constraints: str,
    values: Sequence[TensorHandle],
    types: Sequence[tl.dtype],
    *_: object,
) -> _SeveralResults:
    """Unknown: nobody here can run it."""
    shape = max((shape_of(value) for value in values), key=len, default=())
    return _SeveralResults([batch.unknown(dtype, shape, *values) for dtype in types])


def extern_elementwise(
    batch: Batch,
    lib_name: str,
    lib_path: str,
    symbol: str,
    args: Sequence[TensorHandle],
    ret_type: tl.dtype,
    is_pure: bool,
) -> Block:
    """Unknown: nobody here can run it."""
    shape = max((shape_of(arg) for arg in args), key=len, default=())
    return batch.unknown(ret_type, shape, *args)


def _operations() -> dict[str, Callable[..., object]]:
    found: dict[str, Callable[..., object]] = {
        name: _native(name, arity)
        for arity, names in enumerate((_UNARY, _BINARY, _TERNARY), 1)
        for name in names.split()
        if hasattr(InterpreterBuilder, f"create_{name}")
    }
    own = (add, sub, mul, int_cast, addptr, libdevice, dot, dot_scaled, histogram)
    found |= {operation.__name__: operation for operation in own}
    return found | {
        "and": and_,
        "inline_asm": inline_asm,
        "extern_elementwise": extern_elementwise,
    }


OPERATIONS: Mapping[str, Callable[..., object]] = _operations()
