# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What is counted over memory sees each byte of it, whatever its length."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WHERE = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

PROGRAM = """\
import sys

import torch
from intelliperf_swizzle.frontends.triton.gpu.memory import add_differing, add_digest
from intelliperf_swizzle.frontends.triton.gpu.memory import first_difference, poison

device = sys.argv[1]


def digest(memory):
    found = torch.zeros((), dtype=torch.int64, device=device)
    add_digest(memory, found)
    return int(found)


def differing(memory, other):
    found = torch.zeros((), dtype=torch.int64, device=device)
    add_differing(memory, other, found)
    return int(found)


for length in (0, 1, 7, 8, 13, 8 * 4096, 8 * 4096 + 8, 16 * 4096 + 3):
    room = torch.full((length + 8,), 3, dtype=torch.uint8, device=device)
    memory = room[:length]
    poison(memory)
    assert room[length:].eq(3).all(), f"poison leaves its {length} bytes"
    other = memory.clone()
    assert differing(memory, other) == 0 and digest(memory) == digest(other)
    for place in {0, 1, length // 2, length - 8, length - 1} & set(range(length)):
        other[place] ^= 1
        assert differing(memory, other) == 1, (length, place)
        assert digest(memory) != digest(other), (length, place)
        assert first_difference(memory, other) == (place, 1)
        other[place] ^= 1
    poison(other)
    assert memory.equal(other), "not the same poison each time"
    if length > 64:
        assert len(memory.unique()) > 32, "a program may well leave this"
print("done")
"""


@pytest.mark.parametrize("device", WHERE)
def test_every_byte_counts(device: str) -> None:
    interpreted = {"TRITON_INTERPRET": "1"} if device == "cpu" else {}
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, device],
        env={**environment, **interpreted},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


BEYOND = """\
import sys

import torch
from intelliperf_swizzle.frontends.triton.gpu.memory import first_beyond

device = sys.argv[1]
expected = torch.zeros(4 * 6 + 3, dtype=torch.uint8, device=device)
floats = expected[:24].view(torch.float32)


def beyond(place, value):
    found = expected.clone()
    if place < 6:
        found[:24].view(torch.float32)[place] = value
    else:
        found[place + 18] = value
    return first_beyond(found, expected, torch.float32, 1e-6)


assert beyond(3, 0.0) is None and beyond(3, 1e-30) == 12, "of zeros nothing is near"
floats[:] = torch.tensor([1e-9, float("inf"), float("nan"), -3e-8, 0.0, 2e-9], device=device)
assert beyond(3, -3e-8 * (1 + 9e-7)) is None and beyond(3, -3e-8 * (1 + 4e-6)) == 12
assert beyond(4, 2e-14) is None and beyond(4, 1e-9) == 16
floats[0] = 1e9
assert beyond(4, 9e-7) is None and beyond(4, 2e-6) == 16
assert beyond(6, 0) is None and beyond(8, 1) == 26, "bytes behind the floats"
print("done")
"""


@pytest.mark.parametrize("device", WHERE)
def test_the_tolerance_of_sums_shrinks_with_them(device: str) -> None:
    interpreted = {"TRITON_INTERPRET": "1"} if device == "cpu" else {}
    done = subprocess.run(
        [sys.executable, "-c", BEYOND, device],
        env={**os.environ, **interpreted},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
