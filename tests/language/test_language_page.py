# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What docs/language.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from intelliperf_swizzle.errors import LanguageError
from intelliperf_swizzle.formulas import load_pattern
from intelliperf_swizzle.frontends.emit import emit_triton
from intelliperf_swizzle.language import evaluate, parse
from intelliperf_swizzle.language.grammar import MAX_CHARACTERS, MAX_DEPTH, MAX_OPERATIONS
from intelliperf_swizzle.language.syntax import FUNCTIONS, INPUTS
from intelliperf_swizzle.mapping import prove, refusal
from intelliperf_swizzle.records import Witness

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "language.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    line
    for block in PYTHON
    for line in block.splitlines()
    if "# accepted" in line or "# refused" in line
]


def test_the_first_example_is_emitted_with_constants_folded_and_a_prefix() -> None:
    code = emit_triton(parse(PYTHON[0]), [0], axes=1, num_xcds=8, cus_per_xcd=38)
    assert list(code.lines) == [
        "swizzle_pid = tl.program_id(0)",
        "swizzle_num_pids = tl.num_programs(0)",
        "swizzle_xcd = swizzle_pid % 8",
        "swizzle_slot = swizzle_pid // 8",
        "swizzle_pid = swizzle_xcd * (swizzle_num_pids // 8) + tl.minimum(swizzle_xcd, "
        "swizzle_num_pids % 8) + swizzle_slot",
    ]


@pytest.mark.parametrize("line", EXAMPLES)
def test_what_is_called_accepted_or_refused_is(line: str) -> None:
    text, verdict = line.split("#")
    reason = None
    try:
        evaluate(parse(text), (8, 1, 1), {"tail": 1}, num_xcds=8, cus_per_xcd=38)
    except LanguageError as error:
        reason = str(error)
    if "accepted" in verdict:
        assert reason is None
    else:
        assert reason is not None
        assert verdict.removeprefix(" refused: ") in reason


def test_the_refusal_is_as_shown() -> None:
    swizzle = load_pattern("stream-k-remap")
    witness = prove(parse(swizzle.text), (228, 1, 1), {}, num_xcds=8, cus_per_xcd=38)
    assert isinstance(witness, Witness)
    assert str(refusal(witness, swizzle.name, (228, 1, 1), domains="8 XCDs")) in PAGE


def test_names_and_limits_are_those_of_the_code() -> None:
    assert all(f"`{name}`" in PAGE for name in (*INPUTS, "pid"))
    assert all(f'"{name}"' in PAGE for name in FUNCTIONS)
    for limit in (f"{MAX_CHARACTERS:,} characters", f"{MAX_DEPTH} deep", f"{MAX_OPERATIONS} op"):
        assert limit in PAGE


def test_the_file_example_is_a_swizzle() -> None:
    [example] = re.findall(r"```yaml\n(name:.*?)```", PAGE, re.DOTALL)
    assert parse(yaml.safe_load(example)["text"]).outputs == ("pid",)
