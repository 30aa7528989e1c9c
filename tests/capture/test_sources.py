# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
# ruff: noqa: N803, N806
"""What the names in a kernel mean, read from live jit functions."""

from __future__ import annotations

import enum
import inspect
import math
import os
import sys
import types
from pathlib import Path

import conditional
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from aggregates import doubled, planned
from conditional import hands_on, made_by_a_function, one_of_two
from triton.language import load as read
from triton.language.standard import zeros_like

from intelliperf_swizzle.frontends.triton.capture.sources import (
    UnreadableKernelError,
    is_decided,
    read_source,
)
from intelliperf_swizzle.frontends.triton.ir import loops
from intelliperf_swizzle.frontends.triton.ir.render import live_functions
from intelliperf_swizzle.frontends.triton.source.reads import find_reads

SHIFT = 7
WIDTHS = (1, 2.5, [np.int64(3), None])
WRAPPED = tl.constexpr(16)
WRAPPED_DTYPE = tl.constexpr(tl.float16)
POINTER = tl.pointer_type(tl.int8)
ACCUMULATE_IN = tl.float32
HALF = torch.float16
NOT_A_CONSTANT = object()
settings = types.SimpleNamespace(deep=types.SimpleNamespace(block=64, unused=1), other=2)


CHAIN = tl.constexpr(int(os.environ.get("CHAIN", "0")))
TWICE = tl.constexpr(2)
if os.environ.get("CHAIN"):
    TWICE = tl.constexpr(4)


class Order(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


def min(a, b):
    """Shadows the builtin."""
    return a


@triton.jit
def even(n):
    return True if n == 0 else odd(n - 1)


@triton.jit
def odd(n):
    return False if n == 0 else even(n - 1)


@triton.jit
def many_names(x, n: tl.int32, dtype: tl.constexpr = ACCUMULATE_IN, BLOCK: tl.constexpr = WRAPPED):
    SHIFT_LOCALLY = SHIFT + len(WIDTHS) + math.floor(n)
    for places in tl.static_range(Order.COLUMNS):
        read(x + places * settings.deep.block + min(places, WRAPPED), POINTER, WRAPPED_DTYPE)
    zeros_like(HALF, NOT_A_CONSTANT, [places + 1 for places in range(SHIFT_LOCALLY)], abs(n))
    return even(n), undefined_name  # noqa: F821


def closed_over(BLOCK, step):
    @triton.jit
    def closure(x):
        tl.store(x + BLOCK, step(BLOCK))

    return closure


class Holder:
    @staticmethod
    @triton.jit
    def held(x):
        tl.store(x, SHIFT)


def test_every_kind_of_name() -> None:
    source, _ = read_source(many_names)
    names = dict(source.entry.names)
    assert names.pop("NOT_A_CONSTANT")[0] == "unknown"
    assert names.pop("min")[0] == "unknown", "a plain function is not for a kernel"
    kind, key = names.pop("even")
    assert (kind, source.functions[key].name) == ("function", "even")
    assert names == {
        "ACCUMULATE_IN": ("dtype", "fp32"),
        "HALF": ("attribute", "torch", "float16"),
        "Order": ("namespace", {"COLUMNS": ("constant", 1)}),
        "POINTER": ("pointer", "int8"),
        "SHIFT": ("constant", 7),
        "WIDTHS": ("constant", (1, 2.5, [3, None])),
        "WRAPPED": ("constexpr", 16),
        "WRAPPED_DTYPE": ("dtype", "fp16"),
        "math": ("module", "math"),
        "read": ("attribute", "triton.language.core", "load"),
        "settings": ("namespace", {"deep": ("namespace", {"block": ("constant", 64)})}),
        "tl": ("module", "triton.language"),
        "zeros_like": ("attribute", "triton.language.standard", "zeros_like"),
    }


def test_functions_that_call_each_other_are_read_once(tmp_path) -> None:
    source, keys = read_source(many_names, [("F", even), ("G", odd)])
    assert sorted(function.name for function in source.functions.values()) == [
        "even",
        "many_names",
        "odd",
    ]
    assert source.functions[keys[id(odd.fn)]].names == {"even": ("function", keys[id(even.fn)])}
    functions = live_functions(source, tmp_path)
    assert functions[keys[id(odd.fn)]].fn.__globals__["even"] is functions[keys[id(even.fn)]]


def test_two_closures_of_one_text_have_two_keys() -> None:
    first, second = closed_over(8, even), closed_over(16, odd)
    source, keys = read_source(first, [("F", second)])
    assert keys[id(first.fn)] != keys[id(second.fn)]
    assert source.entry.names["BLOCK"] == ("constant", 8)
    assert source.functions[keys[id(second.fn)]].names["BLOCK"] == ("constant", 16)
    assert source.entry.indent == "    "
    assert source.entry.text.startswith("@triton.jit\ndef closure(x):\n    tl.store")
    lines, first_line = inspect.getsourcelines(first.fn)
    assert source.entry.first_line == first_line
    assert source.entry.text == "".join(line.removeprefix("    ") for line in lines)


def test_a_static_method_is_read_with_its_decorators() -> None:
    source, _ = read_source(Holder.held)
    assert source.entry.text.startswith("@staticmethod\n@triton.jit\ndef held")
    assert source.entry.names == {"SHIFT": ("constant", 7), "tl": ("module", "triton.language")}


def test_methods_of_aggregates_are_functions_that_may_read_the_program_id(tmp_path) -> None:
    source, _ = read_source(planned)
    reads = {key: len(find_reads(function)) for key, function in source.functions.items()}
    assert {key for key, count in reads.items() if count} == {"aggregates.Plan.first"}
    functions = live_functions(source, tmp_path)
    plan = functions[source.kernel].fn.__globals__["Plan"]
    first = functions["aggregates.Plan.first"]
    assert plan.__triton_aggregate__
    assert vars(plan)["first"] is first
    assert first.fn.__globals__["Plan"] is plan
    width = functions[source.kernel].fn.__globals__["Width"]
    assert plan(width(tl.tensor(None, tl.int32))).type.fields[0][1].base_cls is width


def test_an_aggregate_that_plain_python_makes_is_not_known() -> None:
    source, _ = read_source(doubled)
    assert source.entry.names["Doubled"][0] == "unknown"


def test_what_has_no_text_is_refused() -> None:
    class Jit:
        """A jit function that Triton itself refuses to make; ours must name it all the same."""

        __module__ = "triton.runtime.jit"

        def __init__(self, fn):
            self.fn = fn

    with pytest.raises(UnreadableKernelError, match="`<lambda>` is not written as a `def`"):
        read_source(Jit(lambda x: x))
    scope: dict[str, object] = {}
    exec("def made(x): pass", scope)
    with pytest.raises(UnreadableKernelError, match="the source of `made` is in no file"):
        read_source(Jit(scope["made"]))


@triton.jit
def plain(x):
    tl.store(x, 1)


put = plain if os.environ.get("CHAIN") else even


@triton.jit
def calls(x):
    hands_on(x)


@triton.jit
def calls_one_of_two(x):
    one_of_two(x)


@triton.jit
def calls_through_its_module(x):
    conditional.one_of_two(x)


@triton.jit
def calls_what_a_function_made(x):
    made_by_a_function(x)


@triton.jit
def chained(x):
    tl.store(x + WRAPPED, CHAIN)
    tl.store(x + put(1), TWICE)
    plain(x)


def made(BLOCK):
    @triton.jit
    def kernel(x):
        tl.store(x + BLOCK, WRAPPED)

    return kernel


def test_what_no_text_decides_is_known_with_its_value() -> None:
    """Literals and definitions are decided; the environment, a condition and a closure are not."""
    source, _ = read_source(chained)
    place = f"{source.entry.file}:{source.entry.first_line}"
    assert source.computed == {"CHAIN": 0, "TWICE": 2, "put": [place, source.entry.names["put"][1]]}
    assert read_source(made(tl.constexpr(3)))[0].computed == {"BLOCK": 3}


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (calls, "hands_on"),
        (calls_one_of_two, "one_of_two"),
        (calls_through_its_module, "conditional.one_of_two"),
        (calls_what_a_function_made, "inner"),
    ],
)
def test_a_helper_that_a_module_on_the_way_chooses_is_named(kernel: object, name: str) -> None:
    assert name in read_source(kernel)[0].computed


@pytest.mark.parametrize(
    ("made", "decided"),
    [
        ("NAME = 16", True),
        ("NAME = 'some word'", True),
        ("NAME = tl.pointer_type(tl.float32)", True),
        ("NAME: tl.constexpr = triton.language.constexpr(\n    1 << 4\n)", True),
        ("NAME = -float('inf')  # of os", True),
        ("NAME = 1 / math.log(2)", True),
        ("A, NAME = 2, 3\ndef host():\n    NAME = 4", True),
        ("NAME = os.environ.get('NAME')", False),
        ("NAME = triton.runtime.driver", False),
        ("NAME = OTHER + 1", False),
        ("NAME = (1 if\n    os.environ else 2)", False),
        ("NAME = 1\nNAME += 1", False),
        ("NAME = 1\nfor NAME in range(sms()): pass", False),
        ("NAME = 1\ndef host():\n    global NAME\n    NAME = sms()", False),
        ("if sms() > 100:\n    NAME = 1", False),
    ],
)
def test_what_is_made_of_literals_and_types_is_decided(
    tmp_path: Path, made: str, decided: bool
) -> None:
    (tmp_path / "module.py").write_text(f"{made}\n")
    assert is_decided(str(tmp_path / "module.py"), "NAME", "constexpr") is decided


DOT = "tl.dot(x, x)"
EITHER = "if sms() > 100:\n    def NAME(x): return {}\nelse:\n    def NAME(x): return {}"


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("def NAME(x): pass", True),
        ("from ops import other as NAME", True),
        ("from ops import *", True),
        ("if sms() > 100:\n    from ops import NAME\nelse:\n    from slow import NAME", False),
        ("def NAME(x): pass\nif sms() > 100:\n    def NAME(x): return x", False),
        (EITHER.format("tldevice.fast_expf(x.to(tl.float32))", "tl.exp(x.to(tl.float32))"), True),
        (EITHER.format(f"tl.inline_asm_elementwise(ASM, args=[{DOT}])", DOT), True),
        (EITHER.format("tl.inline_asm_elementwise(ASM, args=[x])", DOT), False),
        (EITHER.format("tl.exp(x)", "x + tl.exp(x)"), False),
        (EITHER.format("tl.exp(put(x))", "tl.exp(x)"), False),
        ("NAME = triton.jit(body)", False),
    ],
)
def test_what_is_defined_or_imported_under_no_condition_is_decided(
    tmp_path: Path, text: str, decided: bool
) -> None:
    (tmp_path / "module.py").write_text(f"{text}\n")
    assert is_decided(str(tmp_path / "module.py"), "NAME", "function") is decided


def test_what_our_own_modules_set_is_no_global_of_the_users(tmp_path: Path) -> None:
    """`ir.loops` sets an attribute `step`."""
    assert loops.__name__ in sys.modules
    (tmp_path / "module.py").write_text("def step(x): pass\n")
    assert is_decided(str(tmp_path / "module.py"), "step", "function")


@pytest.mark.parametrize(
    ("setter", "decided"),
    [
        ("module.NAME = 3", False),
        ("module.NAME += 1", False),
        ("for module.NAME in range(3): pass", False),
        ("module.NAME: int = 3", False),
        ("setattr(\n    module,\n    'NAME',\n    3)", False),
        ("vars(module).update(NAME=3)", False),
        ("module.__dict__['NAME'] = 3", False),
        ("mock.patch('module.NAME', 3)", False),
        ("setattr(module, late, 3)", False),
        ("mock.setattr(module, late, 3)", False),
        ("object.__setattr__(module, late, 3)", False),
        ("globals()[late] = 3", False),
        ("module.__dict__[late] = 3", False),
        ("module.__dict__ |= {late: 3}", False),
        ("vars(module).update(late)", False),
        ("vars(module).update(**late)", False),
        ("vars(module).update({late: 3})", False),
        ("held = vars(module)\n    held[late] = 3", False),
        ("held = vars(module)\n    held['NAME'] = 3", False),
        ("exec(late)", False),
        ("exec('NAME = 3', vars(module))", False),
        ("exec(late, {})", True),
        ("setattr(self, late, 3)", True),
        ("super().__setattr__(late, 3)", True),
        ("self.__dict__[late] = vars(self)[late] = 3", True),
        ("print(vars(late)[late], globals())", True),
        ("setattr(module, 'OTHER', late)", True),
        ("globals().setdefault('OTHER', late)", True),
        ("late = {}\n    late[module] = 3\n    late.update(self)", True),
        ("self.NAME = 3", True),
        ("print(module.NAME == 3, 'NAME')", True),
        ("pass  # module.NAME = 3", True),
        ("text = 'module.NAME = 3'", True),
    ],
)
def test_what_another_module_sets_is_not_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setter: str, decided: bool
) -> None:
    (tmp_path / "module.py").write_text("NAME = 16\n")
    (tmp_path / "setting.py").write_text(f"def late(self, module, mock, late):\n    {setter}\n")
    setting = types.ModuleType("setting")
    setting.__file__ = str(tmp_path / "setting.py")
    monkeypatch.setitem(sys.modules, "setting", setting)
    assert is_decided(str(tmp_path / "module.py"), "NAME", "constexpr") is decided


@pytest.mark.parametrize(
    ("setter", "decided"),
    [
        ("import module\nsetattr(module, late, 3)", False),
        ("from package import module\nvars(module)[late] = 3", False),
        ("import sys\nsetattr(sys.modules[late], late, 3)", False),
        ("import a, b\nfor module in (a, b):\n    setattr(module, late, 3)", False),
        ("import importlib\nm = importlib.import_module(late)\nsetattr(m, late, 3)", False),
        ("def changed(config, late):\n    setattr(config, late, 3)", True),
        ("import a\ndef put(m, late):\n    setattr(m, late, 3)\nput(a, late)", False),
        ("import a\ndef put(m, late):\n    setattr(m, late, 3)\nput(a.config, late)", True),
        ("import torch\nlayer = torch.nn.Linear(1, 1)\nsetattr(layer, late, 3)", True),
        ("globals()[late] = 3", True),
        ("def passed(m, name, f):\n    setattr(m, name, f)", False),
        ("class Held:\n    def __init__(self, m):\n        setattr(m, late, 3)", False),
        ("def named(m, name, f):\n    setattr(m, name, f)", True),
    ],
)
def test_a_function_is_not_decided_where_names_of_modules_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setter: str, decided: bool
) -> None:
    """Also where another file passes the module, but not an attribute of it or what it imports."""
    (tmp_path / "module.py").write_text("def NAME(x): pass\n")
    passing = "import module, setting\nsetting.passed(module, late, f)\nsetting.Held(m=module)\n"
    passing += "from module import kernel\nsetting.named(kernel, module.name, f)\n"
    for name, text in (("setting", setter), ("passing", passing)):
        (tmp_path / f"{name}.py").write_text(f"{text}\n")
        made = types.SimpleNamespace(__file__=str(tmp_path / f"{name}.py"), kernel=max)
        monkeypatch.setitem(sys.modules, name, made)
    assert is_decided(str(tmp_path / "module.py"), "NAME", "function") is decided


@pytest.mark.parametrize(
    ("text", "decided"),
    [("def NAME(x): pass", True), ("if sms() > 100:\n    def NAME(x): pass", False)],
)
def test_what_all_of_a_module_brings_is_decided_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, decided: bool
) -> None:
    (tmp_path / "module.py").write_text("from bringing import *\n")
    (tmp_path / "bringing.py").write_text(f"{text}\n")
    bringing = types.SimpleNamespace(__file__=str(tmp_path / "bringing.py"), **{"NAME": None})
    monkeypatch.setitem(sys.modules, "bringing", bringing)
    assert is_decided(str(tmp_path / "module.py"), "NAME", "function") is decided
