# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""CUDA's device code as if it had been written for AMD: the rest of the room knows one machine.

Both have the same address spaces but for what is passed by value and what a thread keeps, and each
intrinsic of NVIDIA's that has an equal here is a small function that calls it (`nvvm.py`). One
that has none stays without a definition, and what uses it is refused by its name.
"""

import re
from collections.abc import Mapping

from intelliperf_swizzle.frontends.cpp.code import llvm, nvvm
from intelliperf_swizzle.frontends.cpp.code.inline_ptx import ASSEMBLY, declarations, function
from intelliperf_swizzle.frontends.cpp.code.memory_operands import size_of

_ALLOCA = re.compile(r"(?m)^( +)%([\w.$-]+) = alloca ([^\n]*?)(, !dbg [^\n]*)?$")
"""What is added has a name, so that the numbers of values stay in order."""
_CONSTANT = re.compile(
    r'(?m)^@([\w.$]+|"[^"]+") = ((?:private |internal |linkonce_odr |weak_odr |dso_local |hidden '
    r"|(?:local_)?unnamed_addr )*)constant "
)
_KERNEL = re.compile(
    r"(?ms)^(define [^\n]*?\bamdgpu_kernel [^\n]*\{[^\n]*\n(?:[^\s:]+:[^\n]*\n)?)(.*?^\}$)"
)
_BY_VALUE = re.compile(r"ptr ((?:\w+ )*)byval\((.*?)\) align (\d+) %([\w.$-]+)(?=[,)])")
_REFLECT = re.compile(r"(?:tail )?call i32 @__nvvm_reflect\(ptr [^@\n]*@([\w.$]+)[^\n,]*")
_ASSEMBLY = re.compile(
    r'call ((?:[a-z]+ )*?)(\w+|<[^>]*>|\{[^}]*\}) asm (sideeffect )?"([^"]*)", "([^"]*)"'
    r"\(([^\n)]*)\)"
)
_REDUCTION = re.compile(
    r"(?ms)^define [^\n]*?(%\S+) @(__internal_trig_reduction_slowpathd)\(double [^\n]*\n.*?^\}$"
)
_REDUCED = r"""define internal \1 @\2(double %a) alwaysinline {
  %turns = fmul double %a, 0x3FE45F306DC9C883
  %whole = call double @llvm.rint.f64(double %turns)
  %quadrant = fptosi double %whole to i32
  %product = fmul double %whole, 0x3FF921FB54442D18
  %rest = fsub double %a, %product
  %one = insertvalue \1 poison, double %rest, 0
  %r = insertvalue \1 %one, i32 %quadrant, 1
  ret \1 %r
}"""
"""What libdevice's sine and cosine of large doubles call, in assembly: close enough for values."""
_OUTSIDE = ("vprintf", "__assertfail", "malloc", "free")
"""What CUDA's runtime on the GPU has, and libc has by the same names."""

STANDS_FOR = "gfx942"
"""The GPU for which the code is optimised."""


def unknown(function: str) -> str | None:
    """Why a function without a definition cannot be followed, if it is one of NVIDIA's."""
    if not function.startswith("nvvm."):
        return None
    name = function.removeprefix("nvvm.")
    return f"it uses `{name if name in _OUTSIDE else f'llvm.{function}'}`, which is not known here"


def retarget(bitcode: bytes, arch: str) -> bytes:
    """A module of clang's for an NVIDIA GPU, before optimisation, as one for an AMD GPU.

    Args:
        bitcode: of the module.
        arch: `sm_90`, which libdevice asks for.
    """
    module = llvm.parse(bitcode)
    layout = llvm.binding().create_target_data(module.data_layout)
    sizes = {f"%{struct.name}": int(layout.get_abi_size(struct)) for struct in module.struct_types}
    text = re.sub(r"(?m)^ +call void @llvm\.lifetime\.[^\n]*\n", "", str(module))
    text = llvm.MODULE_HEAD + re.sub(r"(?m)^target [^\n]*\n", "", text)
    text = re.sub(r' ?"target-(?:cpu|features)"="[^"]*"', "", text)
    text = text.replace(" ptx_kernel ", " amdgpu_kernel ")
    text = _REDUCTION.sub(_REDUCED, _reflect(text, arch))
    text = re.sub(r"@llvm\.nvvm\.", "@nvvm.", text)
    text = _call(text)
    text = re.sub(rf"@({'|'.join(_OUTSIDE)})\(", r"@nvvm.\1(", text)
    text = _constants_moved(text)
    text = _ALLOCA.sub(
        r"\1%own.\2 = alloca \3, addrspace(5)\4" "\n"
        r"\1%\2 = addrspacecast ptr addrspace(5) %own.\2 to ptr\4", text
    )  # fmt: skip
    text = _KERNEL.sub(lambda found: _with_copies(found, sizes), text)
    whole = llvm.parse(text)
    whole.link_in(llvm.parse(llvm.MODULE_HEAD + nvvm.definitions()))
    return bytes(whole.as_bitcode())


def _reflect(text: str, arch: str) -> str:
    """What libdevice asks the compiler. Source: LLVM, NVPTXUsage.html, `__nvvm_reflect`."""
    asked = dict(re.findall(r'(?m)^@([\w.$]+) = [^\n]*c"(__CUDA_\w+)\\00"', text))
    flush = re.search(r'!"nvvm-reflect-ftz", i32 1\}', text) is not None
    known = {"__CUDA_ARCH": 10 * int(re.sub(r"\D", "", arch) or 0), "__CUDA_FTZ": int(flush)}
    return _REFLECT.sub(lambda found: f"add i32 0, {known.get(asked.get(found[1], ''), 0)}", text)


def _call(text: str) -> str:
    """Calls in place of assembly that is known."""
    made: dict[tuple[str, ...], tuple[str, str | None]] = {}

    def call(found: re.Match[str]) -> str:
        flags, result, effect, assembly, constraints, arguments = found.groups()
        if "(" in arguments:  # an expression, or a pointer that is not generic
            return found[0]
        kinds = re.findall(r"(?:^|, )(<[^>]*>|\w+)", arguments)
        key, name = (result, effect, assembly, constraints, *kinds), f"{ASSEMBLY}{len(made)}"
        if key not in made:
            known = function(name, assembly, result, kinds, constraints, kept=bool(effect))
            made[key] = (name, known)
        name, known = made[key]
        return f"call {flags}{result} @{name}({arguments})" if known else found[0]

    text = _ASSEMBLY.sub(call, text)
    functions = "".join(body for _, body in made.values() if body)
    return text + declarations(functions, text) + functions


def _constants_moved(text: str) -> str:
    """Constants, which have no address space here, in that of constants."""
    names = {found[1] for found in _CONSTANT.finditer(text)}
    if not names:
        return text
    text = _CONSTANT.sub(r"@\1 = \2addrspace(4) constant ", text)

    def cast(found: re.Match[str]) -> str:
        if found[2] not in names:
            return found[0]
        return f"ptr {found[1]}addrspacecast (ptr addrspace(4) @{found[2]} to ptr)"

    return re.sub(r'\bptr ((?:\w+(?:\(\d+\))? |align \d+ )*)@([\w.$]+|"[^"]+")', cast, text)


def _with_copies(found: re.Match[str], sizes: Mapping[str, int]) -> str:
    """A kernel whose arguments by value are references, from which it copies."""
    head, body = found.groups()
    copies = []
    for _, kind, alignment, name in _BY_VALUE.findall(head):
        at, size = f"align {alignment}", sizes.get(kind.replace('"', "")) or size_of(kind)
        copies += [
            f"  %own.{name} = alloca {kind}, {at}, addrspace(5)\n",
            f"  %copy.{name} = addrspacecast ptr addrspace(5) %own.{name} to ptr\n",
            f"  call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) {at} %own.{name}, "
            f"ptr addrspace(4) {at} %{name}, i64 {size}, i1 false)\n",
        ]
        body = re.sub(rf"%{re.escape(name)}(?![\w.$-])", f"%copy.{name}", body)
    head = _BY_VALUE.sub(r"ptr addrspace(4) \1byref(\2) align \3 %\4", head)
    return head + "".join(copies) + body
