# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Inline PTX as functions in LLVM's words, which the rest of the room knows.

Source: PTX ISA, "Instruction Set". What has no rule here stays assembly.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from intelliperf_swizzle.frontends.cpp.code.memory_operands import size_of

ASSEMBLY = "nvvm.asm."
"""The names of these functions begin so."""
_TYPES = {"f16": "half", "f16x2": "<2 x half>", "f32": "float", "f64": "double"}
_TYPES |= {f"{letter}{bits}": f"i{bits}" for letter in "bsu" for bits in (8, 16, 32, 64)}
_TYPES |= {"bf16": "i16", "bf16x2": "<2 x i16>"}
_SUFFIXES = {"half": "f16", "<2 x half>": "v2f16", "float": "f32", "double": "f64"}
_SUFFIXES |= {"i16": "bf16", "<2 x i16>": "bf16x2"}
_WIDE = {"i16": ("float", "f32"), "<2 x i16>": ("<2 x float>", "v2f32")}
"""What 16-bit floats with the exponent of 32-bit ones are computed as."""
_FLOAT, _INTEGER = r"(?:\.ftz)?\.(?P<to>f16x2|f16|f32|f64)", r"\.(?P<to>[bsu](?:16|32|64))"
_CACHED = r"(?:\.(?:nc|ca|cg|cs|cv|lu|wb|wt))*(?:\.v(?P<count>[24]))?\.(?P<to>[bsuf](?:8|16|32|64))"
_COMPARE = r"(?P<op>eq|ne|lt|le|gt|ge)(?P<order>u?)"
_SHORT, _NEAR = r"\.(?P<to>bf16x2|bf16)", "call {to} @nvvm.near.{suffix}({wide} %s)"
_WIDER = tuple(f"call {{wide}} @nvvm.wide.{{suffix}}({{of}} {{{letter}}})" for letter in "abc")
_CASTS = {
    (True, True): "addrspacecast", (True, False): "ptrtoint", (False, True): "inttoptr",
    (False, False): "bitcast",
}  # fmt: skip
"""From a pointer or not, to one or not."""
_WHOLE = {"z": "trunc", "n": "rint", "m": "floor", "p": "ceil"}
_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"mov\.(?P<to>[bsuf]\d+)", ()),
    (rf"(?P<op>add|sub|mul)(?:\.rn)?{_FLOAT}", ("f{op} {to} {a}, {b}",)),
    (rf"fma\.rn{_FLOAT}", ("call {to} @llvm.fma.{suffix}({to} {a}, {to} {b}, {to} {c})",)),
    (rf"(?P<op>add|sub|mul)(?:\.rn)?{_SHORT}",
     (*_WIDER[:2], "f{op} {wide} {x}, {y}", _NEAR % "{z}")),
    (rf"(?P<op>min|max){_SHORT}",
     (*_WIDER[:2], "call {wide} @llvm.{op}num.{wides}({wide} {x}, {wide} {y})", _NEAR % "{z}")),
    (rf"fma\.rn{_SHORT}",
     (*_WIDER, "call {wide} @llvm.fma.{wides}({wide} {x}, {wide} {y}, {wide} {z})", _NEAR % "{u}")),
    (rf"neg{_SHORT}", (_WIDER[0], "fneg {wide} {x}", _NEAR % "{y}")),
    (rf"setp\.{_COMPARE}\.(?P<of>bf16)", (*_WIDER[:2], "fcmp {order}{op} {wide} {x}, {y}")),
    (r"cvt\.(?P<to>f32)\.(?P<of>bf16)", ("call float @nvvm.wide.bf16(i16 {a})",)),
    (r"cvt\.rn\.(?P<to>bf16)\.(?P<of>f32)", ("call i16 @nvvm.near.bf16(float {a})",)),
    (r"cvt\.rn\.(?P<to>bf16x2)\.(?P<of>f32)",
     ("insertelement <2 x float> poison, float {b}, i32 0",
      "insertelement <2 x float> {x}, float {a}, i32 1",
      "call <2 x i16> @nvvm.near.bf16x2(<2 x float> {y})")),
    (rf"neg{_FLOAT}", ("fneg {to} {a}",)),
    (rf"abs{_FLOAT}", ("call {to} @llvm.fabs.{suffix}({to} {a})",)),
    (rf"(?P<op>min|max){_FLOAT}", ("call {to} @llvm.{op}num.{suffix}({to} {a}, {to} {b})",)),
    (rf"(?P<op>add|sub|and|or|xor|mul(?=\.lo))(?:\.lo)?{_INTEGER}", ("{op} {to} {a}, {b}",)),
    (rf"mad\.lo{_INTEGER}", ("mul {to} {a}, {b}", "add {to} {x}, {c}")),
    (r"cvt\.(?P<to>f32|f64)\.(?P<of>f16|(?<=f64\.)f32)", ("fpext {of} {a} to {to}",)),
    (r"cvt\.rn\.(?P<to>f16)\.(?P<of>f32)", ("fptrunc {of} {a} to {to}",)),
    (r"cvt\.rn\.(?P<to>f16x2)\.(?P<of>f32)",
     ("insertelement <2 x float> poison, float {b}, i32 0",
      "insertelement <2 x float> {x}, float {a}, i32 1", "fptrunc <2 x float> {y} to {to}")),
    (r"cvt\.rn\.(?P<to>f16)\.(?P<of>(?P<op>s|u)(?:16|32))", ("{op}itofp {of} {a} to {to}",)),
    (r"cvt\.r(?P<whole>[znmp])i\.(?P<to>(?P<op>s|u)(?:16|32|64))\.(?P<of>f16)",
     ("fpext half {a} to float", "call float @llvm.{whole}.f32(float {x})",
      "fpto{op}i float {y} to {to}")),
    (r"cvt\.rn\.(?P<to>f16)\.(?P<of>f64)", ("fptrunc {of} {a} to {to}",)),
    (r"cvt\.r(?P<whole>[znmp])i\.(?P<to>f16)\.f16", ("call half @llvm.{whole}.f16(half {a})",)),
    (rf"(?P<op>min|max)\.NaN{_FLOAT}", ("call {to} @llvm.{op}imum.{suffix}({to} {a}, {to} {b})",)),
    (r"dp4a\.(?P<sign>[su])32\.(?P=sign)32",
     ("{longer} <4 x i8> {a:<4 x i8>} to <4 x i32>", "{longer} <4 x i8> {b:<4 x i8>} to <4 x i32>",
      "mul <4 x i32> {x}, {y}", "call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> {z})",
      "add i32 {u}, {c}")),
    (rf"setp\.{_COMPARE}\.(?P<of>f16|f32|f64)", ("fcmp {order}{op} {of} {a}, {b}",)),
    (rf"set\.{_COMPARE}\.(?P<to>f16)\.f16",
     ("fcmp {order}{op} {to} {a}, {b}", "uitofp i1 {x} to {to}")),
    (rf"set\.{_COMPARE}\.(?P<to>f16x2)\.f16x2",
     ("fcmp {order}{op} {to} {a}, {b}", "uitofp <2 x i1> {x} to {to}")),
    (r"shf\.(?P<op>[lr])\.wrap\.(?P<to>b32)",
     ("call i32 @llvm.fsh{op}.i32(i32 {b}, i32 {a}, i32 {c})",)),
    (r"prmt\.(?P<to>b32)", ("call i32 @nvvm.prmt(i32 {a}, i32 {b}, i32 {c})",)),
    (r"bfind\.shiftamt\.(?P<to>u32)",
     ("call i32 @llvm.ctlz.i32(i32 {a}, i1 false)", "icmp eq i32 {a}, 0",
      "select i1 {y}, i32 -1, i32 {x}")),
    (r"selp\.(?P<to>\w+)", ("select i1 {c:i1}, {to} {a}, {to} {b}",)),
    (r"(?P<op>rcp|rsqrt|sqrt|lg2|sin|cos)\.approx(?:\.ftz)?\.(?P<to>f32)",
     ("call float @nvvm.{op}.approx.ftz.f(float {a})",)),
    (r"ex2\.approx(?:\.ftz)?\.(?P<to>f32)", ("call float @nvvm.ex2.approx.ftz.f32(float {a})",)),
    (r"rsqrt\.approx\.ftz\.(?P<to>f64)", ("call double @nvvm.rsqrt.approx.d(double {a})",)),
    (r"shfl\.sync\.(?P<op>idx|up|down|bfly)\.(?P<to>b32)",
     ("call i32 @nvvm.shfl.sync.{op}.i32(i32 {d}, i32 {a}, i32 {b}, i32 {c})",)),
    (rf"ld\.global{_CACHED}",
     ("load {kept}{to}, ptr addrspace(1) {a:ptr addrspace(1)}, align {bytes}",)),
    (rf"st\.global{_CACHED}",
     ("store {kept}{to} {b}, ptr addrspace(1) {a:ptr addrspace(1)}, align {bytes}",)),
)  # fmt: skip
"""Instructions, and LLVM's that do the same: `to` is the type of the result, `of` of operands if it
is another one, and `{x}` and `{y}` what the lines yield."""
_PIECES = {
    "{ mad.lo.cc.u32 $0, $2, $3, $4; madc.hi.u32 $1, $2, $3, 0; }": "mad.wide",
    "{ .reg .u32 start; .reg .u64 extended; mov.u32 start, %reserved_smem_offset_1; "
    "cvt.u64.u32 extended, start; cvta.shared.u64 $0, extended; }": "reserved",
}
"""Assembly of libdevice and of cooperative groups, and the functions that do the same."""


def function(
    name: str, text: str, result: str, kinds: Sequence[str], ties: str, *, kept: bool
) -> str | None:
    """A definition of a function that does what assembly does; None if that is not known.

    Args:
        name: of the function.
        text: of the assembly, with `$0` and so on for its operands.
        result: LLVM's type of what it yields; of several outputs, a structure.
        kinds: LLVM's types of its inputs.
        ties: LLVM's constraints.
        kept: whether it may not be left out if nothing uses what it yields.
    """
    outputs = [] if result == "void" else re.findall(r"<[^>]*>|\w+", result)
    inputs = [tie for tie in ties.split(",") if not tie.startswith(("=", "~"))]
    if len(inputs) != len(kinds) or "*" in ties:
        return None
    body = _Body("volatile " if kept else "")
    written = " ".join(re.sub(r"\\0[9A]", " ", text).split())
    passed = [f"{kind} %a{number}" for number, kind in enumerate(kinds)]
    for number, (kind, tie) in enumerate(zip(kinds, inputs, strict=True)):
        at = tie if tie.isdigit() else len(outputs) + number
        body.values[f"${at}"] = (f"%a{number}", kind)
    try:
        if written in _PIECES:
            value = body.let(f"call {result} @nvvm.{_PIECES[written]}({', '.join(passed)})")
        else:
            for statement in written.replace("WARP_SZ", "32").split(";"):
                body.add(statement.lstrip("{} ").rstrip())
            value = body.together(outputs, result)
    except (KeyError, ValueError):
        return None
    lines = "".join(f"  {line}\n" for line in (*body.lines, f"ret {result} {value}"))
    head = f"define internal {result} @{name}({', '.join(passed)}) alwaysinline convergent"
    return f"{head} {{\n{lines}}}\n"


def declarations(text: str, module: str) -> str:
    """Those of the functions that a text calls and a module does not have."""
    calls = re.findall(r"call (?:afn )?([^@\n]+) @((?:nvvm|llvm)\.[\w.]+)\(([^)]*)\)", text)
    rows = {name: (kind, re.sub(r" [%\w.-]+(?=,|$)", "", given)) for kind, name, given in calls}
    return "".join(
        f"declare {kind} @{name}({kinds})\n"
        for name, (kind, kinds) in rows.items()
        if f"@{name}(" not in module
    )


def _rule(opcode: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What an instruction says of itself, and LLVM's; raises ValueError if there is no rule."""
    for pattern, templates in _RULES:
        if found := re.fullmatch(pattern, opcode):
            return {key: value for key, value in found.groupdict().items() if value}, templates
    raise ValueError(opcode)


@dataclass(frozen=True)
class _Operand:
    """An operand, which is written as a value of the type that a rule asks for."""

    text: str
    kind: str
    read: Callable[[str, str], str]

    def __format__(self, kind: str) -> str:
        return self.read(self.text, kind or self.kind)


@dataclass
class _Body:
    """LLVM's instructions so far, and the value and type of each register; a word of accesses."""

    kept: str
    lines: list[str] = field(default_factory=list)
    values: dict[str, tuple[str, str]] = field(default_factory=dict)

    def let(self, text: str) -> str:
        """The name of what an instruction yields."""
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def add(self, statement: str) -> None:
        """An instruction; raises KeyError or ValueError if it has no rule."""
        if not statement or statement.startswith(".reg"):
            return
        if statement.startswith("@"):
            self._add_if(*statement[1:].split(maxsplit=1))
            return
        opcode, _, rest = statement.partition(" ")
        operands = [o.strip("[]") for o in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,]+", rest)]
        words, templates = _rule(opcode)
        kind = _TYPES[words.get("to", "b32")]
        kind = f"<{words['count']} x {kind}>" if "count" in words else kind
        of = _TYPES[words["of"]] if "of" in words else kind
        words = {"order": "o", **words, "to": kind, "of": of, "bytes": size_of(kind)}
        words |= {"kept": self.kept, "suffix": _SUFFIXES.get(of)}
        words["wide"], words["wides"] = _WIDE.get(of, ("", ""))
        words["whole"] = _WHOLE.get(words.get("whole", ""))
        words["longer"] = "zext" if words.get("sign") == "u" else "sext"
        given = operands if opcode.startswith("st.") else operands[1:]
        words |= {n: _Operand(text, of, self.read) for n, text in zip("abcd", given, strict=False)}
        if opcode.startswith("st."):
            self.lines.append(templates[0].format_map(words))
            return
        value = "" if templates else self.read(given[0], kind)
        for name, template in zip("xyzuv", templates, strict=False):
            value = words[name] = self.let(template.format_map(words))
        target, _, inside = operands[0].partition("|")
        if inside:  # of a shuffle: whether there is such a lane
            how = f"call i1 @nvvm.shfl.inside.{words['op']}(i32 {words['b']}, i32 {words['c']})"
            self.values[inside] = (self.let(how), "i1")
        self._write(target, value, "i1" if opcode.startswith("setp") else kind)

    def _add_if(self, predicate: str, statement: str) -> None:
        """An instruction that is executed where a predicate holds; no access to memory is one."""
        target = re.split(r"[\s,]+", statement)[1]
        before, kind = self.values[target]
        if statement.startswith(("ld.", "st.", "shfl.")):
            raise ValueError(statement)
        self.add(statement)
        after = self.read(target, kind)
        then, other = (before, after) if predicate.startswith("!") else (after, before)
        how = f"select i1 {self.read(predicate.lstrip('!'), 'i1')}, {kind} {then}, {kind} {other}"
        self.values[target] = (self.let(how), kind)

    def read(self, text: str, kind: str) -> str:
        """An operand as a value of a type; raises KeyError or ValueError if it is none."""
        if text.startswith("{"):
            parts = text.strip("{} ").replace(",", " ").split()
            part = f"i{8 * size_of(kind) // len(parts)}"
            value, own = "poison", f"<{len(parts)} x {part}>"
            for number, word in enumerate(parts):
                element = self.read(word, part)
                value = self.let(f"insertelement {own} {value}, {part} {element}, i32 {number}")
        elif text.startswith("%"):
            value, own = self.let(f"call {kind} @nvvm.read.ptx.sreg.{text[1:]}()"), kind
        elif re.fullmatch(r"-?\d+U?|0[xXfF][0-9a-fA-F]+U?", text):
            value = str(int(re.sub("0[fF]", "0x", text.rstrip("U"), count=1), 0))
            own = f"i{8 * size_of(kind)}"
        else:
            value, own = self.values[text]
        if own == kind:
            return value
        if size_of(own) != size_of(kind) or "i1" in (own, kind):
            raise ValueError(text)
        how = _CASTS[own.startswith("ptr"), kind.startswith("ptr")]
        return self.let(f"{how} {own} {value} to {kind}")

    def together(self, kinds: Sequence[str], result: str) -> str:
        """The outputs as one value; raises KeyError or ValueError if one is not written."""
        found = [self.read(f"${number}", kind) for number, kind in enumerate(kinds)]
        whole = found[0] if found else ""
        if len(found) > 1:
            whole = "poison"
            for number, (kind, element) in enumerate(zip(kinds, found, strict=True)):
                whole = self.let(f"insertvalue {result} {whole}, {kind} {element}, {number}")
        return whole

    def _write(self, text: str, value: str, kind: str) -> None:
        if not text.startswith("{"):
            self.values[text] = (value, kind)
            return
        parts = text.strip("{} ").replace(",", " ").split()
        if not kind.startswith(f"<{len(parts)} x "):
            whole = f"<{len(parts)} x i{8 * size_of(kind) // len(parts)}>"
            if size_of(whole) != size_of(kind):
                raise ValueError(text)
            value, kind = self.let(f"bitcast {kind} {value} to {whole}"), whole
        for number, name in enumerate(parts):
            element = self.let(f"extractelement {kind} {value}, i32 {number}")
            self.values[name] = (element, kind.split()[-1].strip(">"))
