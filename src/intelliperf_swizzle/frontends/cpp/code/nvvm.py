# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What NVIDIA's intrinsics do, expressed in AMD's and in LLVM's: text of a module.

`llvm.nvvm.X` is `nvvm.X` here. Source: LLVM, NVPTXUsage.html; PTX ISA (`shfl`, `vote`, `bar`).
"""

import re
from collections.abc import Iterator

from intelliperf_swizzle.frontends.cpp.code.inline_ptx import declarations

_FLOATS = (("f", "float", "f32"), ("ftz.f", "float", "f32"), ("d", "double", "f64"))
_WIDER = {"float": ("double", "f64", "i32"), "double": ("fp128", "f128", "i64")}
"""The float that holds what rounding loses, and the integer of the same size."""
_SHUFFLES = {
    "down": ("add i32 %lane, %by", "sle"),
    "up": ("sub i32 %lane, %by", "sge"),
    "bfly": ("xor i32 %lane, %by", "sle"),
    "idx": ("or i32 %first, %within", "sle"),
}
"""The lane that is asked for, and the test whether it is in the segment."""
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_DIRECTIONS = {
    "rm": ("ogt {0} %back, %exact", "{1} 1, {1} -1"),
    "rp": ("olt {0} %back, %exact", "{1} -1, {1} 1"),
    "rz": ("ogt {0} %far, %size", "{1} -1, {1} -1"),
}
"""When the nearest float is on the wrong side, and by how much its bits move if it is below zero or
not."""
_ATOMICS = {"i": {how: how for how in ("add", "and", "or", "xor")}, "f": {"add": "fadd"}}
_ATOMICS["i"] |= {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}
"""Of integers and of floats. Clang has one name for the largest of numbers with and without sign:
these stay unknown."""
_INTEGERS = (("i", "i32", "s"), ("ui", "i32", "u"), ("ll", "i64", "s"), ("ull", "i64", "u"))
_ROUNDINGS = {"rn": "rint", "rz": "trunc", "rm": "floor", "rp": "ceil"}


def definitions() -> str:
    """The definitions, for a module."""
    parts = (_places, _blocks, _atomics, _warps, _numbers, _bound, _conversions, _halves)
    text = "\n".join(text for part in (*parts, _short_floats) for text in part())
    return text + declarations(text, "".join(re.findall(r"(?m)^define .*", text)))


def _define(name: str, kind: str, parameters: str, *body: str) -> str:
    lines = "".join(f"  {line}\n" for line in body)
    returned = "ret void" if kind == "void" else f"ret {kind} %r"
    return (
        f"define linkonce_odr {kind} @nvvm.{name}({parameters}) alwaysinline convergent {{\n"
        f"{lines}  {returned}\n}}\n"
    )


def _places() -> Iterator[str]:
    """Where a thread is, and how many there are."""
    yield "@sw.reserved = linkonce_odr addrspace(3) global [1024 x i8] undef, align 16"
    address = "ptr addrspacecast (ptr addrspace(3) @sw.reserved to ptr)"
    yield _define("reserved", "i64", "", f"%r = ptrtoint {address} to i64")
    for axis, letter in enumerate("xyz"):
        for what, own in (("tid", "workitem"), ("ctaid", "workgroup")):
            name = f"read.ptx.sreg.{what}.{letter}"
            yield _define(name, "i32", "", f"%r = call i32 @llvm.amdgcn.{own}.id.{letter}()")
        for what, kind, at in (("nctaid", "i32", 4 * axis), ("ntid", "i16", 12 + 2 * axis)):
            yield _define(
                f"read.ptx.sreg.{what}.{letter}", "i32", "",
                "%implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()",
                f"%p = getelementptr i8, ptr addrspace(4) %implicit, i64 {at}",
                f"%own = load {kind}, ptr addrspace(4) %p", f"%wide = zext {kind} %own to i64",
                "%r = trunc i64 %wide to i32",
            )  # fmt: skip
    yield _define("read.ptx.sreg.warpsize", "i32", "", "%r = add i32 0, 32")
    yield _define(
        "read.ptx.sreg.laneid", "i32", "",
        "%low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)",
        "%r = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)",
    )  # fmt: skip


def _blocks() -> Iterator[str]:
    """What the threads of a block do together."""
    barrier = "call void @llvm.amdgcn.s.barrier()"
    yield _define("barrier.cta.sync.aligned.all", "void", "i32 %id", barrier)
    yield _define("barrier.cta.sync.all", "void", "i32 %id", barrier)
    yield _define("barrier0", "void", "", barrier)
    asserted = "ptr %what, ptr %file, i32 %line, ptr %function, i64 %bytes"
    yield _define("__assertfail", "void", asserted, "call void @llvm.trap()")
    yield "@sw.votes = linkonce_odr addrspace(3) global i32 undef, align 4"
    for name, vote, kind, result in (
        ("popc", "%p", "i32", "%r = add i32 %sum, 0"),
        ("and", "%not", "i1", "%r = icmp eq i32 %sum, 0"),
        ("or", "%p", "i1", "%r = icmp ne i32 %sum, 0"),
    ):
        yield _define(
            f"barrier.cta.red.{name}.aligned.all", kind, "i32 %id, i1 %p",
            barrier, "store i32 0, ptr addrspace(3) @sw.votes", barrier, "%not = xor i1 %p, true",
            f"%one = zext i1 {vote} to i32",
            "%old = atomicrmw add ptr addrspace(3) @sw.votes, i32 %one monotonic", barrier,
            "%sum = load i32, ptr addrspace(3) @sw.votes", result,
        )  # fmt: skip
    for name in ("membar.cta", "membar.gl", "membar.sys"):
        yield _define(name, "void", "", "fence seq_cst")
    yield _define("nanosleep", "void", "i32 %time")
    yield _define("vprintf", "i32", "ptr %format, ptr %arguments", "%r = add i32 0, 0")


def _atomics() -> Iterator[str]:
    """Those that are atomic for a block's threads, or for all GPUs and the host (`sys`)."""
    for scope, held in (("cta", 'syncscope("workgroup")'), ("sys", "")):
        for short in ("i16", "i32", "i64", "f32", "f64"):
            kind = {"f32": "float", "f64": "double"}.get(short, short)
            end = f"gen.{short[0]}.{scope}.{short}.p0"
            for name, how in _ATOMICS[short[0]].items():
                update = f"%r = atomicrmw {how} ptr %p, {kind} %a {held} monotonic"
                yield _define(f"atomic.{name}.{end}", kind, f"ptr %p, {kind} %a", update)
            if short == kind:
                given = f"ptr %p, {kind} %a, {kind} %b"
                exchange = f"%x = cmpxchg {given} {held} monotonic monotonic"
                answer = f"%r = extractvalue {{ {kind}, i1 }} %x, 0"
                yield _define(f"atomic.cas.{end}", kind, given, exchange, answer)


def _warps() -> Iterator[str]:
    """What the threads of a warp do together."""
    yield _define("bar.warp.sync", "void", "i32 %mask", "call void @llvm.amdgcn.wave.barrier()")
    for how, (lane, inside) in _SHUFFLES.items():
        asked = (
            "%lane = call i32 @nvvm.read.ptx.sreg.laneid()",
            "%by = and i32 %b, 31", "%high = lshr i32 %c, 8", "%segment = and i32 %high, 31",
            "%clamp = and i32 %c, 31", "%others = xor i32 %segment, 31",
            "%first = and i32 %lane, %segment", "%rest = and i32 %clamp, %others",
            "%last = or i32 %first, %rest", "%within = and i32 %by, %others", f"%asked = {lane}",
        )  # fmt: skip
        yield _define(
            f"shfl.inside.{how}", "i1", "i32 %b, i32 %c",
            *asked, f"%r = icmp {inside} i32 %asked, %last",
        )  # fmt: skip
        yield _define(
            f"shfl.sync.{how}.i32", "i32", "i32 %mask, i32 %value, i32 %b, i32 %c",
            *asked, f"%is = icmp {inside} i32 %asked, %last",
            "%from = select i1 %is, i32 %asked, i32 %lane", "%byte = shl i32 %from, 2",
            "%r = call i32 @llvm.amdgcn.ds.bpermute(i32 %byte, i32 %value)",
        )  # fmt: skip
        yield _define(
            f"shfl.sync.{how}.f32", "float", "i32 %mask, float %value, i32 %b, i32 %c",
            "%bits = bitcast float %value to i32",
            f"%got = call i32 @nvvm.shfl.sync.{how}.i32(i32 %mask, i32 %bits, i32 %b, i32 %c)",
            "%r = bitcast i32 %got to float",
        )  # fmt: skip
    votes = "%votes = call i64 @llvm.amdgcn.ballot.i64(i1 %own)"
    for name, parameters, kind, body in (
        ("ballot", ", i1 %own", "i32", (votes, "%r = trunc i64 %votes to i32")),
        ("any", ", i1 %own", "i1", (votes, "%r = icmp ne i64 %votes, 0")),
        ("all", ", i1 %p", "i1", ("%own = xor i1 %p, true", votes, "%r = icmp eq i64 %votes, 0")),
    ):
        yield _define(f"vote.{name}.sync", kind, f"i32 %mask{parameters}", *body)
    here = "%votes = call i64 @llvm.amdgcn.ballot.i64(i1 true)"
    yield _define("activemask", "i32", "", here, "%r = trunc i64 %votes to i32")


def _numbers() -> Iterator[str]:
    """Arithmetic that is rounded to nearest, and approximations. `ftz` flushes nothing here."""
    for suffix, kind, short in _FLOATS:
        two, three = f"{kind} %a, {kind} %b", f"{kind} %a, {kind} %b, {kind} %c"
        for name, opcode in _ARITHMETIC.items():
            yield _define(f"{name}.rn.{suffix}", kind, two, f"%r = {opcode} {kind} %a, %b")
        yield _define(f"rcp.rn.{suffix}", kind, f"{kind} %a", f"%r = fdiv {kind} 1.0, %a")
        for name in ("div.approx", "div.full"):
            yield _define(f"{name}.{suffix}", kind, two, f"%r = fdiv afn arcp {kind} %a, %b")
        if kind == "double":
            yield _define("rcp.approx.ftz.d", kind, f"{kind} %a", f"%r = fdiv afn {kind} 1.0, %a")
        yield _define(f"rcp.approx.{suffix}", kind, f"{kind} %a", f"%r = fdiv afn {kind} 1.0, %a")
        yield _define(
            f"rsqrt.approx.{suffix}", kind, f"{kind} %a",
            f"%s = call afn {kind} @llvm.sqrt.{short}({kind} %a)", f"%r = fdiv afn {kind} 1.0, %s",
        )  # fmt: skip
        for name, function in (
            ("sqrt.rn", "sqrt"), ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"),
            ("round", "rint"), ("fabs", "fabs"), ("fmin", "minnum"), ("fmax", "maxnum"),
            ("fma.rn", "fma"), ("ex2.approx", "exp2"), ("lg2.approx", "log2"),
            ("sin.approx", "sin"), ("cos.approx", "cos"), ("sqrt.approx", "sqrt"),
        ):  # fmt: skip
            long = name == "fabs" or (name, kind) == ("ex2.approx", "float")
            full = suffix[:-1] + short if long else suffix
            parameters = {"fma.rn": three, "fmin": two, "fmax": two}.get(name, f"{kind} %a")
            rough = "afn " if name.endswith(".approx") else ""
            call = f"%r = call {rough}{kind} @llvm.{function}.{short}({parameters})"
            yield _define(f"{name}.{full}", kind, parameters, call)


def _bound() -> Iterator[str]:
    """Clamped to 0 and 1, or rounded in a direction, by wider numbers: close enough for values."""
    for suffix, kind, short in _FLOATS:
        wide, long, bits = _WIDER[kind]
        yield _define(
            f"saturate.{suffix}", kind, f"{kind} %a",
            f"%low = call {kind} @llvm.maxnum.{short}({kind} %a, {kind} 0.0)",
            f"%r = call {kind} @llvm.minnum.{short}({kind} %low, {kind} 1.0)",
        )  # fmt: skip
        for name, opcode in (*_ARITHMETIC.items(), ("fma", "")):
            names = "abc" if name == "fma" else "ab"
            sums = [f"%ab = fmul {wide} %xa, %xb", f"%exact = fadd afn {wide} %ab, %xc"]
            for rounding, (beyond, steps) in _DIRECTIONS.items():
                yield _define(
                    f"{name}.{rounding}.{suffix}", kind,
                    ", ".join(f"{kind} %{operand}" for operand in names),
                    *(f"%x{operand} = fpext {kind} %{operand} to {wide}" for operand in names),
                    *(sums if name == "fma" else [f"%exact = {opcode} afn {wide} %xa, %xb"]),
                    f"%near = fptrunc {wide} %exact to {kind}",
                    f"%back = fpext {kind} %near to {wide}",
                    f"%far = call {wide} @llvm.fabs.{long}({wide} %back)",
                    f"%size = call {wide} @llvm.fabs.{long}({wide} %exact)",
                    f"%beyond = fcmp {beyond.format(wide)}",
                    f"%bits = bitcast {kind} %near to {bits}",
                    f"%negative = icmp slt {bits} %bits, 0",
                    f"%by = select i1 %negative, {steps.format(wide, bits)}",
                    f"%moved = add {bits} %bits, %by", f"%next = bitcast {bits} %moved to {kind}",
                    f"%r = select i1 %beyond, {kind} %next, {kind} %near",
                )  # fmt: skip


def _conversions() -> Iterator[str]:
    """Between floating-point numbers and integers."""
    for suffix, kind, short in _FLOATS:
        letter, flushed = suffix[-1], ".ftz" if suffix == "ftz.f" else ""
        for name, number, sign in _INTEGERS:
            for rounding, function in _ROUNDINGS.items():
                yield _define(
                    f"{letter}2{name}.{rounding}{flushed}", number, f"{kind} %a",
                    f"%whole = call {kind} @llvm.{function}.{short}({kind} %a)",
                    f"%r = fpto{sign}i {kind} %whole to {number}",
                )  # fmt: skip
            if not flushed:
                near = f"%r = {sign}itofp {number} %a to {kind}"
                yield _define(f"{name}2{letter}.rn", kind, f"{number} %a", near)
    yield _define("d2f.rn", "float", "double %a", "%r = fptrunc double %a to float")
    yield _define("d2f.rn.ftz", "float", "double %a", "%r = fptrunc double %a to float")


def _halves() -> Iterator[str]:
    """Of doubles and of products of integers; bytes that are picked; distances."""
    for part, by in (("lo", 0), ("hi", 32)):
        yield _define(
            f"d2i.{part}", "i32", "double %a", "%bits = bitcast double %a to i64",
            f"%part = lshr i64 %bits, {by}", "%r = trunc i64 %part to i32",
        )  # fmt: skip
    joined = ("%low = zext i32 %a to i64", "%wide = zext i32 %b to i64",
              "%high = shl i64 %wide, 32", "%bits = or i64 %low, %high")  # fmt: skip
    value = "%r = bitcast i64 %bits to double"
    yield _define("lohi.i2d", "double", "i32 %a, i32 %b", *joined, value)
    yield _define(  # four bits for each byte: which it is, and whether its sign is meant
        "prmt", "i32", "i32 %a, i32 %b, i32 %c", *joined, "%how = bitcast i32 %c to <8 x i4>",
        "%from = trunc <8 x i4> %how to <8 x i3>", "%at = zext <8 x i3> %from to <8 x i64>",
        "%by = shl <8 x i64> %at, splat (i64 3)",
        "%one = insertelement <8 x i64> poison, i64 %bits, i32 0",
        "%all = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer",
        "%moved = lshr <8 x i64> %all, %by", "%bytes = trunc <8 x i64> %moved to <8 x i8>",
        "%is = icmp slt <8 x i4> %how, zeroinitializer",
        "%signs = ashr <8 x i8> %bytes, splat (i8 7)",
        "%picked = select <8 x i1> %is, <8 x i8> %signs, <8 x i8> %bytes",
        "%long = bitcast <8 x i8> %picked to i64", "%r = trunc i64 %long to i32",
    )  # fmt: skip
    for name, number, sign in _INTEGERS[:2]:
        ends = (f"%{m} = call i32 @llvm.{sign}{m}.i32(i32 %a, i32 %b)" for m in ("max", "min"))
        total = (*ends, "%far = sub i32 %max, %min", "%r = add i32 %far, %c")
        yield _define(f"sad.{name}", number, "i32 %a, i32 %b, i32 %c", *total)
    for name, number, sign in _INTEGERS:
        extend, wide = "sext" if sign == "s" else "zext", "i64" if number == "i32" else "i128"
        yield _define(
            f"mulhi.{name}", number, f"{number} %a, {number} %b",
            f"%x = {extend} {number} %a to {wide}", f"%y = {extend} {number} %b to {wide}",
            f"%z = mul {wide} %x, %y", f"%high = lshr {wide} %z, {number[1:]}",
            f"%r = trunc {wide} %high to {number}",
        )  # fmt: skip
    pair = "{ i32, i32 }"
    yield _define(
        "mad.wide", pair, "i32 %a, i32 %b, i32 %c",
        "%x = zext i32 %a to i64", "%y = zext i32 %b to i64", "%z = zext i32 %c to i64",
        "%xy = mul i64 %x, %y", "%sum = add i64 %xy, %z", "%low = trunc i64 %sum to i32",
        "%shifted = lshr i64 %sum, 32", "%high = trunc i64 %shifted to i32",
        f"%one = insertvalue {pair} poison, i32 %low, 0",
        f"%r = insertvalue {pair} %one, i32 %high, 1",
    )  # fmt: skip


def _short_floats() -> Iterator[str]:
    """Floats of 16 bits with the exponent of 32-bit ones, in integers: as these, and back."""
    for suffix, lanes in (("bf16", 1), ("bf16x2", 2)):
        short, wide, bits, truth = (
            kind if lanes == 1 else f"<2 x {kind}>" for kind in ("i16", "float", "i32", "i1")
        )
        half, one, almost, nan = (
            str(number) if lanes == 1 else f"<i32 {number}, i32 {number}>"
            for number in (16, 1, 32767, 2143289344)
        )
        yield _define(
            f"wide.{suffix}", wide, f"{short} %a", f"%long = zext {short} %a to {bits}",
            f"%bits = shl {bits} %long, {half}", f"%r = bitcast {bits} %bits to {wide}",
        )  # fmt: skip
        yield _define(
            f"near.{suffix}", short, f"{wide} %a", f"%bits = bitcast {wide} %a to {bits}",
            f"%high = lshr {bits} %bits, {half}", f"%odd = and {bits} %high, {one}",
            f"%half = add {bits} %odd, {almost}", f"%sum = add {bits} %bits, %half",
            f"%is = fcmp uno {wide} %a, %a",
            f"%all = select {truth} %is, {bits} {nan}, {bits} %sum",
            f"%up = lshr {bits} %all, {half}", f"%r = trunc {bits} %up to {short}",
        )  # fmt: skip
