# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What decides whether programs depend on each other, and is other in a run that nobody recorded.

An application of these kinds reads `TURNED` from its environment: `ON` is false as it is recorded,
most often, and true in the other run. A decider guards the lines of an effect by a condition that
`ON` sets in some way, or has several programs write one place if `ON` is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TURNED = "TURNED"
"""The variable of the other run."""


@dataclass(frozen=True)
class Decider:
    """One way.

    Attributes:
        given: parameter -> what `main.py` passes for it; a name in capitals is a constexpr. What
            begins with an underscore is no parameter.
        condition: under which the effect happens; empty for one that chooses the place.
        first: lines of the kernel before the effect; they set `slot` if the place is chosen.
        header: lines of `kernels.py`, which knows `ON`, too.
        decorator: of the kernel, inside a tuner.
        main: line of `main.py` before a launch.
        hook: of the tuner's configuration of a number, in terms of `SPLIT`; empty = no tuner.
        contents: tensors that hold something else, or overlap another one, in the other run.
        actions: lines of the effect; any of `ACTIONS` if the place is chosen and these are empty.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""
    first: Sequence[str] = ()
    header: str = ""
    decorator: str = ""
    main: str = ""
    hook: str = ""
    contents: Sequence[str] = ()
    actions: Sequence[Sequence[str]] = ()


_ONE = "torch.zeros(1, dtype={}, device=D)"
_WORD = "torch.zeros(8 * programs + 64, dtype=torch.int32, device=D)"
_ALL = "torch.arange(programs + 8, device=D)"
_HOOKED = {"hooked": _ONE.format("torch.int32")}


def _place(slot: str, given: Mapping[str, str], *first: str) -> Decider:
    contents = [name for name in given if name == "index"]
    return Decider({"word": _WORD, **given}, first=(*first, f"slot = {slot}"), contents=contents)


DECIDERS: Mapping[str, Decider] = {
    # --- whether --------------------------------------------------------------------------------
    "constexpr flag": Decider({"FLAG": "ON"}, "FLAG"),
    "constexpr number": Decider({"STAGE": "2 + ON"}, "STAGE > 2"),
    "constexpr word": Decider({"WORD": '"late" if ON else "early"'}, 'WORD == "late"'),
    "constexpr None": Decider({"LEVEL": "1 if ON else None"}, "LEVEL is not None"),
    "tensor or None": Decider(
        {"extra": f"{_ONE.format('torch.int32')} if ON else None"}, "extra is not None"
    ),
    "None or tensor": Decider(
        {"extra": f"None if ON else {_ONE.format('torch.int32')}"}, "extra is None"
    ),
    "constexpr of a module": Decider(condition="FORKED", header="FORKED = tl.constexpr(ON)"),
    "constexpr set by the application": Decider(
        condition="FORKED", header="FORKED = tl.constexpr(False)",
        main="kernels.FORKED = kernels.tl.constexpr(ON)",
    ),
    "dtype": Decider(
        {"kind": _ONE.format("torch.float16 if ON else torch.float32")},
        "kind.dtype.element_ty == tl.float16",
    ),
    "argument": Decider({"turned": "5 + ON"}, "turned > 5"),
    "argument of one": Decider({"turned": "1 if ON else 3"}, "turned == 1"),
    "argument of sixteen": Decider({"turned": "16 if ON else 17"}, "turned % 16 == 0"),
    "bool argument": Decider({"turned": "ON"}, "turned"),
    "heuristic": Decider(
        {"turned": "5 + ON"}, "HEURISTIC",
        decorator='@triton.heuristics({"HEURISTIC": lambda given: given["turned"] > 5})',
    ),
    "contents": Decider(
        {"keep": "torch.full((programs + 8,), int(ON), dtype=torch.int32, device=D)"},
        "tl.load(keep + tile) > 0", contents=("keep",),
    ),
    "hook of a configuration": Decider(
        _HOOKED, "tl.load(hooked) > 0", hook='given["hooked"].fill_(SPLIT - 1)'
    ),
    "hook that looks around": Decider(
        _HOOKED, "tl.load(hooked) > 0", hook='given["hooked"].fill_(int(ON))',
        contents=("hooked",),
    ),
    # --- where ----------------------------------------------------------------------------------
    "stride of zero": _place("tile * step", {"step": "0 if ON else 4"}),
    "equal strides": _place(
        "pm * step + pn * pace", {"step": "2 if ON else 2 * cols", "pace": "2"}, "pn = tile % nn",
        "pm = tile // nn",
    ),
    "number modulo an argument": _place("tile % cap", {"cap": "2 if ON else programs"}),
    "number modulo a constexpr": _place("tile % CAP", {"CAP": "2 if ON else 4096"}),
    "number by an argument": _place("tile // part", {"part": "2 if ON else 1"}),
    "number by a constexpr": _place("tile // PART", {"PART": "2 if ON else 1"}),
    "bound of the number": _place(
        "tl.minimum(tile, cap - 1)", {"cap": "2 if ON else programs"}
    ),
    "assumed": _place(
        "tile % cap", {"cap": "2 if ON else programs"}, "tl.assume(cap > 0)", "tl.assume(tile >= 0)"
    ),
    "assumed step": _place("tile * step", {"step": "0 if ON else 4"}, "tl.assume(step >= 0)"),
    "place by contents": _place(
        "tl.load(index + tile)", {"index": f"{_ALL} // (2 if ON else 1)"}
    ),
    "views that overlap": Decider(
        {"word": _WORD, "other": "word[1 if ON else programs + 8 :]"}, contents=("other",),
        actions=(("tl.store(other + tile, tl.load(word + tile) + 1)",),),
    ),
    "view with strides": Decider(
        {"_base": _WORD, "wide": "_base.as_strided((programs, 4), (2 if ON else 4, 1))",
         "step": "wide.stride(0)"},
        actions=(("four = tl.arange(0, 4)", "tl.store(wide + tile * step + four, tile + four)"),),
    ),
    "mask by contents": Decider(
        {"word": _WORD, "keep": f"{_ALL}.lt(programs + 8 if ON else 1).to(torch.int32)"},
        contents=("keep",),
        actions=(
            ("tl.store(word + tile % {k}, tile + 1, mask=tl.load(keep + tile) > 0)",),
            ("tl.atomic_xchg(word + tile % {k}, tile + 1, mask=tl.load(keep + tile) > 0)",),
        ),
    ),
}  # fmt: skip
"""By name."""

_ROWS = (
    ("some = tl.arange(0, 16)",
     "tl.store(word + tile * step + some, tile + some, mask=some < length)"),
)  # fmt: skip
_BESIDE = "word if {} else word.clone()"
_LONG = "torch.zeros(16 * programs, dtype=torch.int32, device=D)"
VIEWS: Mapping[str, Decider] = {
    "one tensor for two": Decider(
        {"word": _WORD, "other": _BESIDE.format("ON")}, contents=("other",),
        actions=(
            ("tl.store(other + tile, tl.load(word + tile + 1) + 1)",),
            ("tl.store(other + tile, tl.load(word + tile % {k}) + 1)",),
        ),
    ),
    "two tensors for one": Decider(
        {"word": _WORD, "other": _BESIDE.format("not ON")}, contents=("other",),
        actions=(("tl.store(other + tile, tl.load(word + tile + {k}) + 1)",),),
    ),
    "distance of rows": Decider(
        {"word": _LONG, "length": "4", "step": "2 if ON else 4"}, actions=_ROWS
    ),
    "distance of padded rows": Decider(
        {"word": _LONG, "length": "6", "step": "4 if ON else 8"}, actions=_ROWS
    ),
    "length of rows": Decider(
        {"word": _LONG, "length": "8 if ON else 4", "step": "4"}, actions=_ROWS
    ),
    "length of padded rows": Decider(
        {"word": _LONG, "length": "16 if ON else 4", "step": "8"}, actions=_ROWS
    ),
    "distance of columns": _place(
        "pn * span + pm", {"span": "0 if ON else rows"}, "pn = tile % nn", "pm = tile // nn"
    ),
    "wide distance": _place("tile.to(tl.int64) * step", {"step": "0 if ON else 4"}),
    "unrolled": Decider(
        {"word": _LONG, "COUNT": "8 if ON else 4"},
        actions=(
            ("for k in tl.static_range(COUNT):", "    tl.store(word + tile * 4 + k, tile + k)"),
        ),
    ),
    "constexpr set by a computed name": Decider(
        condition="FORKED", header="FORKED = tl.constexpr(False)",
        main='setattr(kernels, "".join(("FOR", "KED")), kernels.tl.constexpr(ON))',
    ),
    "item of a tuple": _place("tile * PAIR[0] + PAIR[1]", {"PAIR": "(0, 1) if ON else (4, 1)"}),
}  # fmt: skip
"""The same, most of it of tensors as views: where they lie, and how far apart their rows are."""

ACTIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "last store at a place": ("order", ("tl.store(word + slot, tile + 1)",)),
    "running value at a place": (
        "order", ("tl.store(word + slot, (tl.load(word + slot) * 3 + tile) % 1021)",)
    ),
    "what another left at a place": (
        "order", ("v = v + tl.load(word + slot)", "tl.store(word + slot, tile + 5)")
    ),
    "last exchange at a place": ("atomics", ("tl.atomic_xchg(word + slot, tile + 1)",)),
    "sum at a place": ("free", ("tl.atomic_add(word + slot, tile + 1)",)),
}  # fmt: skip
"""What a program does at its place: family of the effect, lines."""


def turned_on(value: int) -> str:
    """The line of `main.py` and `kernels.py` that sets `ON`: true in the run of that number."""
    return f'ON = os.environ.get("{TURNED}", "0") == "{value}"'
