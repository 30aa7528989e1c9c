# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Public operators called one after the other; one that fails does not end the others."""

from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

DEVICE = "cuda"
torch.manual_seed(0)
PART, PARTS = map(int, os.environ.get("CALLS_PART", "0/1").split("/"))
"""Every so-manieth call alone is made: a package's script can run in several processes."""
_calls = itertools.count()


def half(*shape: int, grad: bool = True) -> torch.Tensor:
    """Random bfloat16 on the GPU, by default a leaf with a gradient."""
    return torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16).requires_grad_(grad)


def single(*shape: int, grad: bool = True) -> torch.Tensor:
    """The same in float32."""
    return torch.randn(*shape, device=DEVICE).requires_grad_(grad)


def call(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Calls an operator, and its backward if it has one; says why it fails."""
    if next(_calls) % PARTS != PART:
        return
    try:
        outputs = [
            tensor for tensor in _tensors(function(*args, **options)) if tensor.requires_grad
        ]
        if outputs:
            torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])
    except Exception as error:  # of theirs: wrong arguments, unsupported sizes or Triton
        reason = " ".join(str(error).split())[-150:]
        print(f"failed: {name}: {type(error).__name__}: {reason}", file=sys.stderr)
        with Path(os.environ.get("FAILED_CALLS", os.devnull)).open("a", encoding="utf-8") as file:
            print(f"{name}: {type(error).__name__}: {reason}", file=file)


def by_name(
    name: str, function: Callable[..., Any], known: Mapping[str, Callable[[], Any]], **given: Any
) -> None:
    """Calls an operator with what is known by the names of its required parameters."""
    required = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    options = {
        option: known[option]() for option in required if option in known and option not in given
    }
    call(name, function, **options, **given)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
