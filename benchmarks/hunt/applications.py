# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Random Triton applications: a kernel over tiles, what its programs do to each other, launches.

Every value is a small integer, so sums are exact and equal results are equal bytes. An application
is two or three files: `kernels.py` holds `kernel`, the one to be renumbered, and its helpers;
`main.py` launches it and hashes what all launches left; `others.py` holds kernels that use the same
functions.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from hunt.deciders import ACTIONS, DECIDERS, TURNED, VIEWS, Decider, turned_on

HEADER = "import triton\nimport triton.language as tl\n"


@dataclass(frozen=True)
class Launch:
    """One launch of `kernel`.

    Attributes:
        grid: one to three extents.
        constants: its integer arguments, constexprs too.
    """

    grid: tuple[int, ...]
    constants: Mapping[str, int]


@dataclass(frozen=True)
class Application:
    """A program that launches Triton kernels and checks itself.

    With `OTHER` in its environment `main.py` launches at other sizes, with `SPLIT` a tuned kernel
    has the configuration of that number alone, and with `TURNED` what decides is other.

    Attributes:
        seed: what it was made from.
        traits: what is in it, for the table.
        effect: what its programs do to each other: `none` or a key of `EFFECTS`.
        family: of the effect.
        files: name -> text.
        launches: of `kernel`, in order.
        renumbered: the functions of `kernels.py` that a swizzle of `kernel` changes.
        variants: what is put into the environment for runs that the tool has not seen.
        others: launches of those.
        contents: parameters that hold something else where `TURNED` is set.
        race: the result is the same in every order of whole programs, and undefined on a GPU.
    """

    seed: int
    traits: tuple[str, ...]
    effect: str
    family: str
    files: Mapping[str, str]
    launches: tuple[Launch, ...]
    renumbered: tuple[str, ...]
    variants: tuple[Mapping[str, str], ...] = ()
    others: tuple[Launch, ...] = ()
    contents: Sequence[str] = ()
    race: bool = False


@dataclass(frozen=True)
class Effect:
    """What a program does besides its tile.

    Attributes:
        family: `order`, `atomics`, `wait` or `free` (no order of programs changes the result).
        lines: of the kernel, after `v` is loaded; `{s}` is a stride, `{k}` a small number.
        tensors: parameter -> how `main.py` makes it; `programs` is the number of programs. What
            begins with an underscore is no parameter: the kernel finds it by its address.
        race: the result is the same in every order of whole programs, and undefined on a GPU.
    """

    family: str
    lines: tuple[str, ...]
    tensors: Mapping[str, str]
    race: bool = False


def _words(extra: int = 8, dtype: str = "int32") -> str:
    return f"torch.zeros((programs + {extra}) * {{s}}, dtype=torch.{dtype}, device=D)"


def _waits(poll: str, publish: str, word: str = "flag + tile * {s}") -> Effect:
    """A program waits for the one before it; the first word is set by the host."""
    return Effect(
        "wait",
        (
            f"seen = {poll.format(word=word)}",
            "while seen == 0:",
            f"    seen = {poll.format(word=word)}",
            "v = v + seen",
            publish,
        ),
        {"flag": "torch.arange((programs + 8) * {s}, device=D).eq(0).to(torch.int32)"},
    )


_TABLE = (
    "torch.tensor([_memory.data_ptr() + 4 * {s} * {index} for i in range(programs + 8)], device=D)"
)
_BEHIND = "tl.load(table + {}).to(tl.pointer_type(tl.int32))"
_BUFFER = "torch.frombuffer(_bytes, dtype=torch.int32, offset=4 * ({}), count=programs + 8)"


def _table(index: str) -> Mapping[str, str]:
    """A tensor and a table of addresses in it."""
    return {"_memory": _words(), "table": _TABLE.replace("{index}", index)}


def _buffers(offset: str) -> Mapping[str, str]:
    """Two tensors over one piece of host memory, the second from a word on."""
    size = "bytearray(4 * (2 * programs + 32))"
    return {"_bytes": size, "word": _BUFFER.format("0"), "other": _BUFFER.format(offset)}


_ADD_FLAG = "tl.atomic_add(flag + (tile + 1) * {s}, seen + 1)"
_XCHG_FLAG = "tl.atomic_xchg(flag + (tile + 1) * {s}, seen + 1)"
_STORE_FLAG = "tl.store(flag + (tile + 1) * {s}, seen + 1)"

EFFECTS: Mapping[str, Effect] = {
    "none": Effect("free", (), {}),
    # --- order ------------------------------------------------------------------------------------
    "chained sum": Effect(
        "order",
        (
            "before = tl.load(word + tile * {s})",
            "tl.store(word + (tile + 1) * {s}, before + tile % 3 + 1)",
            "v = v + before",
        ),
        {"word": _words()},
    ),
    "running value": Effect(
        "order",
        ("tl.store(word + pn % {k}, (tl.load(word + pn % {k}) * 3 + tile) % 1021)",),
        {"word": _words()},
    ),
    "plain count": Effect(
        "order",
        ("tl.store(word + pn % {k}, tl.load(word + pn % {k}) + 1)",),
        {"word": _words()},
        race=True,
    ),
    "reads the tile before": Effect(
        "order",
        (
            "v = v + tl.load(word + (tile - 1) * {s}, mask=tile >= 1, other=0)",
            "tl.store(word + tile * {s}, tile + 5)",
        ),
        {"word": _words()},
    ),
    "reads the tile after": Effect(
        "order",
        (
            "v = v + tl.load(word + (tile + {k}) * {s})",
            "tl.store(word + tile * {s}, tile + 5)",
        ),
        {"word": _words()},
    ),
    "reads the output beside": Effect(
        "order",
        ("v = v + tl.load(y + at - BN, mask={beside}, other=0)",),
        {},
    ),
    "shifts in place": Effect(
        "order",
        (
            "four = tl.arange(0, 4)",
            "later = tl.load(word + tile * 4 + 4 + four)",
            "tl.store(word + tile * 4 + four, later + 1)",
        ),
        {"word": "torch.arange(4 * programs + 8, dtype=torch.int32, device=D)"},
    ),
    "two views of one tensor": Effect(
        "order",
        (
            "four = tl.arange(0, 4)",
            "tl.store(word + tile * 4 + four, tl.load(other + tile * 4 + four) + tile)",
        ),
        {
            "word": "torch.arange(4 * programs + 16, dtype=torch.int32, device=D)",
            "other": "word[4 * {k}:]",
        },
    ),
    "last writer": Effect(
        "order", ("tl.store(word + tile % {k} * {s}, tile + 1)",), {"word": _words()}
    ),
    "overlapping stores": Effect(
        "order",
        ("tl.store(word + tile * 2 + tl.arange(0, 4), tile + tl.arange(0, 4))",),
        {"word": "torch.zeros(2 * programs + 8, dtype=torch.int32, device=D)"},
    ),
    "first come": Effect(
        "order",
        ("if tl.load(word) == 0:", "    tl.store(word, tile + 1)"),
        {"word": _words()},
    ),
    "late readers": Effect(
        "order",
        (
            "if tile % {k} == 0:",
            "    tl.store(word + tile // {k} * {s}, tile + 1)",
            "if tile % {k} == {k} - 1:",
            "    v = v + tl.load(word + tile // {k} * {s})",
        ),
        {"word": _words()},
    ),
    "chain through a table": Effect(
        "order",
        (
            f"before = tl.load({_BEHIND.format('tile')})",
            f"tl.store({_BEHIND.format('tile + 1')}, before + tile % 3 + 1)",
            "v = v + before",
        ),
        _table("i"),
    ),
    "entries of a table are one word": Effect(
        "order", (f"tl.store({_BEHIND.format('tile')}, tile + 1)",), _table("(i % {k})")
    ),
    "chain at an address": Effect(
        "order",
        (
            "there = address.to(tl.pointer_type(tl.int32))",
            "tl.store(there + (tile + 1) * {s}, tl.load(there + tile * {s}) + tile % 3 + 1)",
        ),
        {"_memory": _words(), "address": "_memory.data_ptr()"},
    ),
    "tensors that overlap": Effect(
        "order", ("tl.store(other + tile, tl.load(word + tile) + 1)",), _buffers("1")
    ),
    "word of its own by a table": Effect(
        "free", (f"tl.store({_BEHIND.format('tile')}, tile + 1)",), _table("i")
    ),
    "words at an address": Effect(
        "free",
        (
            "there = address.to(tl.pointer_type(tl.int32))",
            "tl.store(there + tile * {s}, tile + 1)",
        ),
        {"_memory": _words(), "address": "_memory.data_ptr()"},
    ),
    "tensors side by side": Effect(
        "free",
        ("tl.store(other + tile, tl.load(word + tile) + 1)",),
        _buffers("programs + 8"),
    ),
    # --- atomics ----------------------------------------------------------------------------------
    "atomic_add": Effect("free", ("tl.atomic_add(word + pn % {k}, tile)",), {"word": _words()}),
    "atomic_add of floats": Effect(
        "free",
        ("tl.atomic_add(word + pn % {k} * {s}, tl.sum(tl.sum(v, 1), 0).to(tl.float32))",),
        {"word": _words(dtype="float32")},
    ),
    "atomic_max": Effect(
        "free", ("tl.atomic_max(word + pn % {k}, tile * 7 % 11)",), {"word": _words()}
    ),
    "atomic_min": Effect(
        "free", ("tl.atomic_min(word + pn % {k}, -(tile * 7 % 11))",), {"word": _words()}
    ),
    "atomic_or": Effect("free", ("tl.atomic_or(word, 1 << tile % 31)",), {"word": _words()}),
    "atomic_and": Effect("free", ("tl.atomic_and(word, tile)",), {"word": _words() + " - 1"}),
    "atomic_xor": Effect("free", ("tl.atomic_xor(word + pm % {k}, tile)",), {"word": _words()}),
    "atomic_cas on its own word": Effect(
        "free", ("tl.atomic_cas(word + tile, 0, tile + 1)",), {"word": _words()}
    ),
    "atomic_xchg on its own word": Effect(
        "free", ("tl.atomic_xchg(word + tile * {s}, tile + 1)",), {"word": _words()}
    ),
    "counts arrivals": Effect(
        "free",
        (
            "arrived = tl.atomic_add(count, 1)",
            "tl.store(word + arrived, 1)",
        ),
        {"word": _words(), "count": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "last one sums": Effect(
        "free",
        (
            "tl.store(word + tile, tile + 1)",
            "arrived = tl.atomic_add(count, 1)",
            "if arrived == tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2) - 1:",
            "    total = tl.sum(tl.load(word + tl.arange(0, 64)), 0)",
            "    tl.store(word + 64, total)",
        ),
        {
            "word": "torch.zeros(programs + 80, dtype=torch.int32, device=D)",
            "count": "torch.zeros(1, dtype=torch.int32, device=D)",
        },
    ),
    "atomic_xchg": Effect(
        "atomics", ("tl.atomic_xchg(word + tile % {k} * {s}, tile + 1)",), {"word": _words()}
    ),
    "small stores beside a sum": Effect(
        "atomics",
        (
            "tl.atomic_add(word, (tile * 0 + 1).to(tl.float32))",
            "tl.store(word + 1 + tile % {k} * {s}, (tile + 1).to(tl.float32) * 1e-8)",
        ),
        {"word": _words(dtype="float32")},
    ),
    "atomic_xchg answers": Effect(
        "atomics",
        ("tl.store(old + tile, tl.atomic_xchg(word + tile % {k}, tile + 1))",),
        {"word": _words(), "old": _words()},
    ),
    "atomic_cas": Effect(
        "atomics", ("tl.atomic_cas(word + tile % {k} * {s}, 0, tile + 1)",), {"word": _words()}
    ),
    "atomic_max answers": Effect(
        "atomics",
        ("v = v + tl.atomic_max(word + pn % {k}, tile % 5)",),
        {"word": _words()},
    ),
    "atomic_add meets atomic_max": Effect(
        "atomics",
        (
            "if tile % 2 == 0:",
            "    tl.atomic_add(word + pn % {k}, 3)",
            "else:",
            "    tl.atomic_max(word + pn % {k}, tile)",
        ),
        {"word": _words()},
    ),
    "signed and unsigned atomic_max": Effect(
        "atomics",
        (
            "if tile % 2 == 0:",
            "    tl.atomic_max(word + pn % {k}, tile % 5 + 1)",
            "else:",
            "    tl.atomic_max(other + pn % {k}, (tile * 0 - 2).to(tl.uint32))",
        ),
        {"word": _words(), "other": "word.view(torch.uint32)"},
    ),
    "atomic_add meets a store": Effect(
        "atomics",
        (
            "tl.atomic_add(word + pn % {k}, 1)",
            "if tile % 3 == 1:",
            "    tl.store(word + pn % {k}, tile)",
        ),
        {"word": _words()},
    ),
    "atomic_add meets a load": Effect(
        "atomics",
        ("v = v + tl.load(word + pn % {k} * {s})", "tl.atomic_add(word + pn % {k} * {s}, tile)"),
        {"word": _words()},
    ),
    # --- tickets ----------------------------------------------------------------------------------
    "ticket names a place": Effect(
        "tickets",
        ("ticket = tl.atomic_add(count, 1)", "tl.store(word + ticket, tile)"),
        {"word": _words(), "count": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "ticket is kept": Effect(
        "tickets",
        ("ticket = tl.atomic_add(count, 1)", "tl.store(word + tile, ticket)"),
        {"word": _words(), "count": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "small tickets": Effect(
        "tickets",
        (
            "ticket = tl.atomic_add(count, (tile * 0 + 1).to(tl.float32) * 1e-8)",
            "tl.store(count + 1 + tile, ticket)",
        ),
        {"count": _words(dtype="float32")},
    ),
    # --- waits ------------------------------------------------------------------------------------
    "polls by atomic_add": _waits("tl.atomic_add({word}, 0)", _XCHG_FLAG),
    "polls by atomic_or": _waits("tl.atomic_or({word}, 0)", _ADD_FLAG),
    "polls by atomic_max": _waits("tl.atomic_max({word}, 0)", _STORE_FLAG),
    "polls by atomic_cas": _waits("tl.atomic_cas({word}, 0, 0)", _XCHG_FLAG),
    "polls by volatile load": _waits("tl.load({word}, volatile=True)", _STORE_FLAG),
    "polls by load": _waits("tl.load({word})", _ADD_FLAG),
    "polls by load past the cache": _waits('tl.load({word}, cache_modifier=".cv")', _XCHG_FLAG),
    "last waits for first": Effect(
        "wait",
        (
            "if tile == 0:",
            "    tl.atomic_xchg(flag, 1)",
            "if tile == {k} + 1:",
            "    while tl.atomic_add(flag, 0) == 0:",
            "        pass",
        ),
        {"flag": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "waits for the row before": Effect(
        "wait",
        (
            "if pm > 0:",
            "    done = tl.atomic_add(flag + (pm - 1) * {s}, 0)",
            "    while done < nn:",
            "        done = tl.atomic_add(flag + (pm - 1) * {s}, 0)",
            "tl.atomic_add(flag + pm * {s}, 1)",
        ),
        {"flag": _words()},
    ),
    "takes its turn": Effect(
        "wait",
        (
            "while tl.atomic_cas(turn, tile, tile) != tile:",
            "    pass",
            "tl.store(word, (tl.load(word) * 3 + tile) % 1021)",
            "tl.atomic_xchg(turn, tile + 1)",
        ),
        {"word": _words(), "turn": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "lock around a running value": Effect(
        "wait",
        (
            "while tl.atomic_cas(lock, 0, 1) == 1:",
            "    pass",
            "tl.store(word, (tl.load(word) * 3 + tile) % 1021)",
            "tl.atomic_xchg(lock, 0)",
        ),
        {"word": _words(), "lock": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    # --- what looks dependent and is not ----------------------------------------------------------
    "lock around a sum": Effect(
        "free",
        (
            "while tl.atomic_cas(lock, 0, 1) == 1:",
            "    pass",
            "tl.store(word, tl.load(word) + tile)",
            "tl.atomic_xchg(lock, 0)",
        ),
        {"word": _words(), "lock": "torch.zeros(1, dtype=torch.int32, device=D)"},
    ),
    "equal stores": Effect("free", ("tl.store(word + tile % {k}, 7)",), {"word": _words()}),
    "in place": Effect(
        "free",
        (
            "eight = tl.arange(0, 8)",
            "tl.store(word + tile * 8 + eight, tl.load(word + tile * 8 + eight) * 3 + 1)",
        ),
        {"word": "torch.arange(8 * programs + 16, dtype=torch.int32, device=D)"},
    ),
    "its own words": Effect(
        "free",
        (
            "tl.store(word + tile, tile + 1)",
            "v = v + tl.load(word + tile)",
        ),
        {"word": _words()},
    ),
    "log by program": Effect(
        "free",
        ("tl.store(word + tile * 2 + tl.arange(0, 2), tile)",),
        {"word": "torch.zeros(2 * programs + 8, dtype=torch.int32, device=D)"},
    ),
    "loop of a length from memory": Effect(
        "free",
        (
            "for _ in range(tl.load(length + tile)):",
            "    v = v + 1",
        ),
        {"length": "torch.arange(programs + 8, dtype=torch.int32, device=D) % 4"},
    ),
}
"""Programs and each other, by name."""

_COMMON_FREE = (
    *["none"] * 9, "atomic_add", "atomic_max", "atomic_min", "atomic_or", "atomic_and",
    "atomic_xor", "atomic_add of floats", "atomic_cas on its own word",
    "atomic_xchg on its own word", "in place", "log by program", "loop of a length from memory",
)  # fmt: skip
LOOPS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "plain": ((), (), ()),
    "value before": (("bias = pid % 3",), (), ("v = v + bias",)),
    "branch before": (("bias = 0", "if pid == 0:", "    bias = 3"), (), ("v = v + bias",)),
    "carried": (("bias = 0",), (), ("v = v + bias", "bias = bias + tile % 3")),
    "reset": (
        ("bias = 0",), ("if RESET:", "    bias = 0"), ("bias = bias + tile % 3", "v = v + bias")
    ),
    "turns": (("turn = 0",), (), ("v = v + turn", "turn = turn + 1")),
    "second counter": (
        ("late = pid - tl.num_programs(0)",), ("late = late + tl.num_programs(0)",),
        ("v = v + late % 5",),
    ),
    "inclusive": ((), (), ()),
}  # fmt: skip
"""Loops over tiles: lines before the loop, first in its body, and after `v` is loaded."""
_SECOND = (
    "import importlib.util",
    'spec = importlib.util.spec_from_file_location("second", kernels.__file__)',
    "second = importlib.util.module_from_spec(spec)",
    "spec.loader.exec_module(second)",
)
_FAMILIES = ("order", "atomics", "tickets", "wait")
SHARED = ("helper elsewhere", "helper by module", "kernel as a function", "alias", "helper beside",
          "two from one text")  # fmt: skip
"""Who else uses the functions of `kernel`."""


APPEARS = "gate is a file that appears"
"""Trait of an application that is to be tried without and then with the file `late.txt`."""
RARE = 10_000_000
"""Seeds from here on give applications of the kinds of harm that are rare among the others."""
DECIDED = 2 * RARE
"""Seeds from here on give applications that have one of `DECIDERS`."""
VIEWED = 3 * RARE
"""Seeds from here on give applications that have one of `VIEWS`."""


def application(seed: int) -> Application:
    """The application of a seed."""
    source = random.Random(seed)
    kinds = ("shared", "wait", "tickets", "atomics", "late effect")
    rare = source.choices(kinds, (6, 3, 2, 3, 2))[0] if seed >= RARE else ""
    rare = "decided" if seed >= DECIDED else rare
    rare = "viewed" if seed >= VIEWED else rare
    return _Writer(source, rare).application(seed)


class _Writer:
    """Draws the parts, then writes the files."""

    def __init__(self, source: random.Random, rare: str) -> None:
        self.draw = source
        self.rare = rare
        deciders = {"decided": DECIDERS, "viewed": VIEWS}.get(rare, {})
        self.decider_name = source.choice([*deciders]) if deciders else ""
        self.decider = deciders.get(self.decider_name, Decider())
        self.turned_on = source.choice((1, 1, 1, 0)) if self.decider_name else 1
        self.effect_name, self.effect = self._decided() if self.decider_name else self._effect()
        self.axes = source.choice((1, 1, 1, 2, 2, 3))
        self.block = (source.choice((1, 2, 4, 8)), source.choice((2, 4, 8, 16)))
        self.ragged = source.random() < 0.4
        self.dtype = source.choice(("float32", "float32", "float16", "int32", "int8"))
        self.transposed = source.random() < 0.5 and self.effect_name != "reads the output beside"
        self.stride = source.choice((1, 1, 4, 32))
        self.few = source.choice((2, 3, 5))
        self.shared = source.choice(SHARED) if source.random() < 0.09 or rare == "shared" else ""
        if self.decider_name:
            self.shared = ""
        self.helper = bool(self.shared) or source.random() < 0.2
        if self.shared in ("kernel as a function", "alias", "two from one text"):
            self.helper = False
        self.work_list = (
            self.axes == 1 and not self.shared and self.effect.family != "wait"
            and source.random() < 0.12
        )  # fmt: skip
        self.persistent = (
            self.axes == 1 and not self.work_list and self.effect.family == "free"
            and not self.shared
            and self.effect_name != "last one sums" and source.random() < 0.25
        )  # fmt: skip
        self.loop = ""
        if self.persistent:
            self.loop = source.choice(("plain", "plain", *LOOPS))
        self.resets = source.random() < 0.5
        self.extra = (
            self.axes == 1 and not (self.work_list or self.persistent) and source.random() < 0.1
        )
        self.plan = source.choices(
            ("one", "few", "late effect", "late argument"), (50, 30, 17, 3)
        )[0]  # fmt: skip
        if rare not in ("", "decided", "viewed"):
            self.plan = rare if rare == "late effect" else "few"
        if self.plan == "late effect" and self.effect.family == "free":
            self.plan = "few"
        self.gate = ""
        if self.plan == "late effect" or (
            self.plan == "few" and self.effect.lines and source.random() < 0.3
        ):
            self.gate = source.choice(("scalar", "scalar", "int32", "float32", "pointer"))
        self.tuned = ""
        if not self.shared and self.plan in ("one", "few") and source.random() < 0.08:
            self.tuned = source.choice(("alike", "differing"))
        if self.decider.hook:
            self.tuned = "hooks"
        self.returns = self.extra and not self.effect.lines and source.random() < 0.5
        self.read = source.choice(("tl.program_id({})", "tl.program_id(axis={})"))
        self.rows = self._launch_rows()
        aside = random.Random(f"around {self.rows}")
        self.where = "" if self.shared or self.tuned else aside.choices(
            ("", "a thread", "two threads", "two modules"), (80, 8, 6, 6)
        )[0]  # fmt: skip
        self.late = self.gate == "scalar" and aside.random() < 0.3
        self.other_rows = [self._other_row(row) for row in self.rows[:3]]

    def _effect(self) -> tuple[str, Effect]:
        name = self._effect_name()
        return name, EFFECTS[name]

    def _effect_name(self) -> str:
        if self.rare == "shared" or (not self.rare and self.draw.random() < 0.62):
            return self.draw.choice(_COMMON_FREE)
        if not self.rare and self.draw.random() < 0.08:
            return self.draw.choice([n for n, e in EFFECTS.items() if e.family == "free"])
        family = self.rare if self.rare in _FAMILIES else self.draw.choice(_FAMILIES)
        return self.draw.choice([n for n, e in EFFECTS.items() if e.family == family])

    def _decided(self) -> tuple[str, Effect]:
        """An effect that the decider guards, or what its programs do at a place."""
        decider, draw = self.decider, self.draw
        if decider.condition:
            families = ("order", "order", "atomics", "tickets", "wait", "free")
            family = draw.choice(families)
            names = [n for n, e in EFFECTS.items() if e.family == family]
            name = draw.choice(_COMMON_FREE if family == "free" else names)
            effect = EFFECTS[name]
            inside = [f"if {decider.condition}:", *(f"    {line}" for line in effect.lines)]
            lines = inside if effect.lines else []
        else:
            name, (family, lines) = (
                self.decider_name,
                ("order", draw.choice(decider.actions or [()])),
            )
            if not decider.actions:
                name = draw.choice([*ACTIONS])
                family, lines = ACTIONS[name]
            effect = EFFECTS["none"]
        given = {**effect.tensors, **decider.given}
        return name, Effect(family, (*decider.first, *lines), given, effect.race)

    # --- launches ---------------------------------------------------------------------------------

    def _launch_rows(self) -> list[tuple[int, int, int, int, int]]:
        """`M, N, B, MODE, SEED` of each launch."""
        if self.plan == "late argument":
            size = self._size(1, 3)
            first = self.draw.randint(1, 5)
            return [(*size, 1, first + n) for n in range(self.draw.randint(34, 40))]
        if self.plan == "late effect":
            m, n, b = self._size(1, 2)
            wide = [(m, n + self.block[1] * (k + 1), b, 0, k) for k in range(17)]
            return [*wide[::-1], (m, n, b, 1, 99)]
        count = 1 if self.plan == "one" else self.draw.randint(2, 4)
        on = self.draw.randrange(count)
        rows = [(*self._size(1, 4), self.draw.randint(1, 9)) for _ in range(count)]
        if self.draw.random() < 0.3:  # launches that differ in contents at most
            rows = rows[:1] * count
        return [
            (m, n, b, int(not self.gate or row == on), seed)
            for row, (m, n, b, seed) in enumerate(rows)
        ]

    def _other_row(self, row: tuple[int, int, int, int, int]) -> tuple[int, int, int, int, int]:
        """Another size, most often with other sides to each other."""
        (bm, bn), (m, n, b, mode, seed) = self.block, row
        changed = self.draw.choice(
            ((m + bm, n), (m, n + bn), (n // bn * bm + bm, m // bm * bn + bn))
        )
        return max(1, changed[0]), max(1, changed[1]), b, mode, seed

    def _size(self, least: int, most: int) -> tuple[int, int, int]:
        (bm, bn), draw = self.block, self.draw
        most = min(most, 2) if self.axes == 3 else most
        m = bm * draw.randint(least, most) - (draw.randrange(bm) if self.ragged else 0)
        n = bn * draw.randint(max(2, least), most + 1) - (draw.randrange(bn) if self.ragged else 0)
        return m, n, draw.randint(2, 3) if self.axes == 3 else 1

    def _grid(self, m: int, n: int, b: int) -> tuple[int, ...]:
        rows, cols = -(-m // self.block[0]), -(-n // self.block[1])
        if self.axes == 1:
            tiles = rows * cols
            return (max(2, tiles * 2 // 3) if self.persistent else tiles + 3 * self.extra,)
        return (cols, rows) if self.axes == 2 else (cols, rows, b)

    # --- text -------------------------------------------------------------------------------------

    def application(self, seed: int) -> Application:
        files = {"kernels.py": self._kernels(), "main.py": self._main(seed)}
        if others := self._others():
            files["others.py"] = others
        constants = [dict(zip(("M", "N", "B", "MODE", "SEED"), row, strict=True))
                     for row in self.rows]  # fmt: skip
        blocks = {"BM": self.block[0], "BN": self.block[1]}
        return Application(
            seed,
            self._traits(),
            self.effect_name,
            self.effect.family,
            files,
            tuple(
                Launch(
                    self._grid(*row[:3]),
                    {**blocks, **given, **({"MODE": 1} if self._gate_tensor else {})},
                )
                for row, given in zip(self.rows, constants, strict=True)
            ),
            self._readers(),
            self._variants(),
            race=self.effect.race,
            contents=self.decider.contents,
        )

    def _variants(self) -> tuple[Mapping[str, str], ...]:
        tuned = [{"SPLIT": "2"}] if self.tuned else []
        if not self.decider_name:
            return ({"OTHER": "1"}, *tuned)
        beside: list[Mapping[str, str]] = [{}, {"OTHER": "1"}, *tuned]
        return ({"OTHER": "1"}, *tuned, *({TURNED: "1", **settings} for settings in beside))

    def _traits(self) -> tuple[str, ...]:
        named = {
            "ragged": self.ragged,
            "helper": self.helper,
            "work list": self.work_list,
            "persistent": self.persistent,
            "more programs than tiles": self.extra,
            f"loop: {self.loop}": self.loop,
            f"configurations: {self.tuned}": self.tuned,
            "early return": self.returns,
            f"gated by {self.gate}": self.gate,
            f"launched in {self.where}": self.where,
            APPEARS: self.late,
            f"decided by {self.decider_name}": self.decider_name,
        }
        chosen = [name for name, present in named.items() if present]
        shared = [f"shared: {self.shared}"] if self.shared else []
        return (f"{self.axes} axes", f"launches: {self.plan}", *chosen, *shared)

    def _readers(self) -> tuple[str, ...]:
        return tuple(f"number_{axis}" for axis in range(self.axes)) if self.helper else ("kernel",)

    def _parameters(self) -> list[str]:
        shown = [name for name in self.effect.tensors if not name.startswith("_")]
        tensors = ["x", "y", *shown, *(["work"] if self.work_list else [])]
        tensors += ["gate"] if self._gate_tensor else []
        return [*tensors, "M", "N", "B", "MODE", "SEED"]

    @property
    def _gate_tensor(self) -> bool:
        return self.gate in ("int32", "float32", "pointer")

    def _kernels(self) -> str:
        parts = [HEADER]
        if self.decider_name:
            parts.append(f"import os\n\n{turned_on(self.turned_on)}\n{self.decider.header}\n")
        if self.tuned:
            hook = self.decider.hook
            given = f", pre_hook=lambda given, SPLIT=number: {hook}" if hook else ""
            parts.append(
                f"import os\n\nCONFIGS = [triton.Config({{'SPLIT': number}}{given})"
                " for number in (1, 2)]\n"
                "if 'SPLIT' in os.environ:\n"
                "    CONFIGS = CONFIGS[int(os.environ['SPLIT']) - 1 :][:1]\n"
            )
        if self.helper:
            parts += [
                f"@triton.jit\ndef number_{axis}():\n    return {self.read.format(axis)}\n"
                for axis in range(self.axes)
            ]
        kernel = self._kernel()
        parts.append(kernel)
        if self.shared == "two from one text":
            parts.append("again = triton.jit(kernel.fn)\n")
        if self.shared == "alias":
            parts.append("tile_of = kernel\n")
            parts.append(self._caller("tile_of"))
        if self.shared == "helper beside":
            parts.append(self._scale("number_0"))
        return "\n\n".join(parts)

    def _kernel(self) -> str:
        compiled_in = ["BM", "BN", *self._constants(), *filter(str.isupper, self.decider.given)]
        every = dict.fromkeys([*self._parameters(), *compiled_in])
        signature = ", ".join(
            f"{name}: tl.constexpr" * (name in compiled_in) or name for name in every
        )
        lines = [f"def kernel({signature}):", *(f"    {line}" for line in self._body())]
        tuned = ['@triton.autotune(CONFIGS, key=["M"])'] if self.tuned else []
        tuned += filter(None, [self.decider.decorator])
        return "\n".join([*tuned, "@triton.jit", *lines]) + "\n"

    def _constants(self) -> list[str]:
        """Constexprs beside the sizes of a tile."""
        names = {
            "RESET": self.loop == "reset", "SPLIT": self.tuned, "HEURISTIC": self.decider.decorator
        }  # fmt: skip
        return [name for name, present in names.items() if present]

    def _body(self) -> list[str]:
        read = [
            f"number_{axis}()" if self.helper else self.read.format(axis)
            for axis in range(self.axes)
        ]
        lines = ["nn = (N + BN - 1) // BN"]
        if self.axes == 1:
            lines.append(f"pid = {read[0]}")
            tile = "tl.load(work + pid)" if self.work_list else "pid"
            split = ["pm = tile // nn", "pn = tile % nn"]
            if self.persistent:
                before, first, _ = LOOPS[self.loop]
                end = "(M + BM - 1) // BM * nn"
                if self.loop == "inclusive":
                    lines.append(f"last = {end} - 1")
                    end = "last + 1"
                loop = f"for tile in range(pid, {end}, tl.num_programs(0)):"
                inner = [*first, *split, *self._tile()]
                return [*lines, *before, loop, *(f"    {line}" for line in inner)]
            if self.returns:
                lines += ["if pid >= (M + BM - 1) // BM * nn:", "    return"]
            lines += [f"tile = {tile}", *split]
        else:
            lines += [f"pn = {read[0]}", f"pm = {read[1]}"]
            lines += ["tile = pm * nn + pn"]
            if self.axes == 3:
                lines += [f"pb = {read[2]}", "base = pb * M * N"]
                lines += ["tile = tile + pb * ((M + BM - 1) // BM) * nn"]
        return lines + self._tile()

    def _tile(self) -> list[str]:
        base = "base + " if self.axes == 3 else ""
        masked = self.ragged or (self.extra and not self.returns)
        inside = "inside" if masked else "None"
        effect = [
            line.format(
                s=self.stride, k=self.few, beside=f"{'inside & ' * masked}(rn >= BN)[None, :]"
            )
            for line in self.effect.lines
        ]
        if self.gate and effect:
            behind = "tl.load(tl.load(gate).to(tl.pointer_type(tl.int32))) > 0"
            on = {"scalar": "MODE > 0", "pointer": behind}.get(self.gate, "tl.load(gate) > 0")
            effect = [f"if {on}:", *(f"    {line}" for line in effect)]
        if self.tuned == "differing" and effect:
            effect = ["if SPLIT > 1:", *(f"    {line}" for line in effect)]
        if self.loop:
            after = LOOPS[self.loop][2]
            guarded = self.decider.condition and after and self.draw.random() < 0.5
            effect += (
                [f"if {self.decider.condition}:", *(f"    {line}" for line in after)]
                if guarded else after
            )  # fmt: skip
        to = f"{base}rn[None, :] * M + rm[:, None]" if self.transposed else "at"
        return [
            "rm = pm * BM + tl.arange(0, BM)",
            "rn = pn * BN + tl.arange(0, BN)",
            f"at = {base}rm[:, None] * N + rn[None, :]",
            *(["inside = (rm < M)[:, None] & (rn < N)[None, :]"] if masked else []),
            f"v = tl.load(x + at, mask={inside}) + SEED",
            *effect,
            f"tl.store(y + {to}, v, mask={inside})",
        ]

    def _others(self) -> str:
        if self.shared == "helper elsewhere":
            return HEADER + "from kernels import number_0 as mine\n\n\n" + self._scale("mine")
        if self.shared == "helper by module":
            return HEADER + "import kernels\n\n\n" + self._scale("kernels.number_0")
        if self.shared == "kernel as a function":
            return HEADER + "from kernels import kernel\n\n\n" + self._caller("kernel")
        return ""

    def _scale(self, number: str) -> str:
        """A kernel that reads its own number and the helper's."""
        mine = "tl.program_id(0)" if self.draw.random() < 0.9 else f"{number}()"
        return (
            "@triton.jit\ndef scale(source, target):\n"
            f"    i = {number}() * 4 + tl.arange(0, 4)\n"
            f"    o = {mine} * 4 + tl.arange(0, 4)\n"
            "    tl.store(target + o, tl.load(source + i) * 2)\n"
        )

    def _caller(self, kernel: str) -> str:
        """A kernel that has `kernel` compute its tile, and then reads that tile by its number."""
        names = self._parameters()
        corner = "pn * BN * M + pm * BM" if self.transposed else "pm * BM * N + pn * BN"
        numbers = [
            "    pid = tl.program_id(0)",
            "    pm, pn, pb = pid // tl.cdiv(N, BN), pid % tl.cdiv(N, BN), 0",
        ]
        if self.axes > 1:
            third = "tl.program_id(2)" if self.axes == 3 else "0"
            numbers = [f"    pn, pm, pb = tl.program_id(0), tl.program_id(1), {third}"]
        return "\n".join(
            [
                "@triton.jit",
                f"def both({', '.join(names)}, z, BM: tl.constexpr, BN: tl.constexpr):",
                f"    {kernel}({', '.join(names)}, BM, BN)",
                *numbers,
                "    tile = (pb * tl.cdiv(M, BM) + pm) * tl.cdiv(N, BN) + pn",
                f"    corner = tl.load(y + pb * M * N + {corner}, mask=pm * BM < M, other=0)",
                f"    tl.store(z + tile, {'corner + 1' if self.draw.random() < 0.9 else 'tile'})",
                "",
            ]
        )

    def _main(self, seed: int) -> str:
        imports = ["kernel", *(["again"] if self.shared == "two from one text" else [])]
        beside = {"alias": "both", "helper beside": "scale"}.get(self.shared)
        imports += [beside] if beside else []
        others = {
            "helper elsewhere": "scale",
            "helper by module": "scale",
            "kernel as a function": "both",
        }.get(self.shared)
        lines = [
            f'"""Application {seed}: {self.effect_name}; {", ".join(self._traits())}."""',
            "import hashlib",
            "import os",
            "from pathlib import Path",
            "",
            "import kernels",
            "import torch",
            f"from kernels import {', '.join(imports)}",
            *([f"from others import {others}"] if others else []),
            *(["import threading"] if "thread" in self.where else []),
            *(_SECOND if self.where == "two modules" else []),
            "",
            'D = os.environ.get("DEV", "cuda")',
            *([turned_on(self.turned_on)] if self.decider_name else []),
            f"BM, BN = {self.block[0]}, {self.block[1]}",
            "results = []",
            "ROWS = [",
            *(f"    {row}," for row in self.rows),
            "]",
            'if os.environ.get("OTHER"):',
            f"    ROWS = {self.other_rows}",
            "for M, N, B, MODE, SEED in ROWS:",
            *(['    MODE *= Path(__file__).with_name("late.txt").exists()'] if self.late else []),
            *(f"    {line}" for line in self._launch()),
            *self._other_launches(),
            "",
            "found = hashlib.sha256()",
            "for tensor in results:",
            "    found.update(tensor.cpu().numpy().tobytes())",
            "digest = found.hexdigest()[:16]",
            'expected = Path(__file__).with_name("expected.txt")',
            'assert not expected.exists() or expected.read_text() == digest, "APP WRONG"',
            'print("APP OK")',
        ]
        return "\n".join(lines) + "\n"

    def _launch(self) -> list[str]:
        grid = {
            1: "(rows * cols,)",
            2: "(cols, rows)",
            3: "(cols, rows, B)",
        }[self.axes]
        if self.persistent:
            grid = "(max(2, rows * cols * 2 // 3),)"
        elif self.extra:
            grid = "(rows * cols + 3,)"
        tensors = {
            "x": f"(torch.arange(B * M * N, device=D) % 61 - 30).to(torch.{self.dtype})",
            "y": "torch.zeros(B * M * N, dtype=torch.int32, device=D)",
            **{
                name: text.format(s=self.stride, k=self.few)
                for name, text in self.effect.tensors.items()
            },
        }
        if self.work_list:
            step = self.draw.choice((1, -1))
            tensors["work"] = "torch.arange(rows * cols, dtype=torch.int32, device=D)" + (
                ".flip(0)" if step < 0 else ""
            )
        if self.gate == "pointer":
            tensors["_flag"] = "torch.full((1,), MODE, dtype=torch.int32, device=D)"
            tensors["gate"] = "torch.tensor([_flag.data_ptr()], device=D)"
        elif self._gate_tensor:
            tensors["gate"] = f"torch.full((1,), MODE, dtype=torch.{self.gate}, device=D)"
        aside = {"x", "length", "work", "gate", "table", "address", "_flag", "_bytes"}
        aside |= {*self.decider.given} - {"word", "_base"}
        kept = [name for name in tensors if name not in aside]
        hidden = [name for name in tensors if name in ("_memory", "_flag")]
        given = [*self._parameters(), "BM", "BN", *(["RESET"] if self.loop == "reset" else [])]
        call = f"({', '.join(given)})"
        if self._gate_tensor:  # launches that differ in contents alone
            call = call.replace("MODE", "1")
        call = call.replace("RESET", str(self.resets))
        return [
            "rows, cols = -(-M // BM), -(-N // BN)",
            f"grid = {grid}",
            "programs = rows * cols * B + 3",
            *(f"{name} = {text}" for name, text in tensors.items()),
            f"kernels.reachable = [{', '.join(hidden)}]",
            *filter(None, [self.decider.main]),
            *self._calls(call),
            f"results += [{', '.join(f'{name}.clone()' for name in kept)}]",
            *self._repeated(call),
        ]

    def _calls(self, call: str) -> list[str]:
        """The launch itself, and from two threads at a time where programs have tiles alone."""
        if self.where == "two modules":
            return [f"(kernel if len(results) % 2 else second.kernel)[grid]{call}"]
        if not self.where:
            return [f"kernel[grid]{call}"]
        beside = call.replace("x, y", "x, y.clone()")
        both = self.where == "two threads" and not self.effect.lines
        return [
            f"thread = threading.Thread(target=lambda: kernel[grid]{call})",
            "thread.start()",
            *([f"kernel[grid]{beside}"] if both else []),
            "thread.join()",
        ]

    def _repeated(self, call: str) -> list[str]:
        if self.shared == "two from one text":
            return ["y.zero_()", f"again[grid]{call}", "results += [y]"]
        if self.shared in ("alias", "kernel as a function"):
            with_z = call.replace(", BM, BN)", ", z, BM, BN)")
            fresh = [
                f"{name} = {text.format(s=self.stride, k=self.few)}"
                for name, text in self.effect.tensors.items()
            ]
            return [
                "y = torch.zeros_like(y)",
                *fresh,
                "z = torch.zeros(programs, dtype=torch.int32, device=D)",
                f"both[grid]{with_z}",
                "results += [y, z]",
            ]
        return []

    def _other_launches(self) -> list[str]:
        if self.shared not in ("helper elsewhere", "helper by module", "helper beside"):
            return []
        count = self.draw.randint(10, 24)
        return [
            f"source = torch.arange({4 * count}, dtype=torch.int32, device=D)",
            "target = torch.zeros_like(source)",
            f"scale[({count},)](source, target)",
            "results += [target]",
        ]


def programs(launch: Launch) -> int:
    """How many programs a launch has."""
    return prod(launch.grid)
