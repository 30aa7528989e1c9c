# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A launch on disk is the launch."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.records import (
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    KernelSource,
    Launch,
    SourceFunction,
    Storage,
    TensorArgument,
)
from intelliperf_swizzle.records.launches import load_launch, save_launch


def launch(contents: Path) -> Launch:
    tensor = TensorArgument(3, "fp16", (4, 8), (8, 1), 64)
    return Launch(
        kernel="k",
        source=KernelSource("k", {"k": SourceFunction("k", "/a.py", 7, "def k():\n", "    ", {
            "N": ("constant", (1, -math.inf)), "$": ("module", "math")})}),
        grid=(2, 3, 1),
        arguments={
            "x": tensor,
            "d": DescriptorArgument(tensor, (4, 8), (8, 1), (2, 2)),
            "t": (1, (2.5, tensor), None, "s", True),
            "eps": math.inf,
            "kind": DtypeArgument("bf16"),
            "act": FunctionArgument("app.relu"),
        },
        constexprs=("kind", "act"),
        options={"num_warps": 4, "extra": (1, 2), "by_number": {1: "a"}},
        storages={3: Storage(128, str(contents)), 5: Storage(1 << 40)},
        count=2,
        computed=True,
        ordinal=9,
        fields={"t": ("n", "pair", "none", "s", "flag")},
    )  # fmt: skip


def test_a_launch_comes_back_equal_and_moves_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    contents = tmp_path / "old" / "x.npy"
    np.save(contents, np.zeros(128, np.uint8))
    save_launch(launch(contents), tmp_path / "old" / "launch.json")
    assert load_launch(tmp_path / "old" / "launch.json") == launch(contents)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = load_launch(tmp_path / "new" / "launch.json")
    assert moved.storages[3].contents == str(tmp_path / "new" / "x.npy")
    assert [path.name for path in (tmp_path / "new").iterdir() if "partial" in path.name] == []


def test_what_is_no_launch_is_refused(tmp_path: Path) -> None:
    for text in ("", "{}", '{"$": "Nonsense"}', '{"$": "Storage", "bytes": 1}'):
        (tmp_path / "launch.json").write_text(text)
        with pytest.raises(UsageError, match="is not a recorded launch"):
            load_launch(tmp_path / "launch.json")
    with pytest.raises(UsageError, match="is not a recorded launch"):
        load_launch(tmp_path / "missing.json")


def test_what_json_cannot_carry_is_refused(tmp_path: Path) -> None:
    whole = launch(tmp_path / "x.npy")
    strange = Launch(**{**vars(whole), "options": {"hook": object()}})
    with pytest.raises(TypeError, match="cannot carry"):
        save_launch(strange, tmp_path / "launch.json")
