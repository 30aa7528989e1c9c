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
from intelliperf_swizzle.kernels.triton.gpu.passes import add_differing, add_digest
from intelliperf_swizzle.kernels.triton.gpu.passes import first_difference, poison

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
