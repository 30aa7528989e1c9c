# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""In the application: a launch's arguments with longer rows of some tensors, in memory of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from intelliperf_swizzle.frontends.triton.gpu.moved import Arguments, Launch
from intelliperf_swizzle.frontends.triton.gpu.order import Task
from intelliperf_swizzle.frontends.triton.gpu.passes import poison
from intelliperf_swizzle.records import Padding, TensorArgument, longer_rows


@dataclass(frozen=True)
class LongerRows:
    """Pads the tensors of a launch.

    Attributes:
        padding: what becomes longer; nothing, where it names no tensor.
        names: the kernel's parameters in order.
        task: the launch.
    """

    padding: Padding
    names: Sequence[str]
    task: Task

    def strides(self, arguments: Arguments) -> Arguments:
        """The arguments with the new strides alone, as a kernel is compiled for them."""
        return self._replaced(arguments, self.padding.arguments)

    def copied(self, arguments: Arguments) -> Arguments:
        """The arguments with the new strides, and tensors in other memory to match."""
        given = self._named(arguments)
        copies = {name: self._copy(given[name]) for name in self.padding.tensors}
        return self._replaced(arguments, {**copies, **self.padding.arguments})

    def launch(self, kernel: Launch) -> Launch:
        """Runs a kernel on padded copies; what it writes there is copied into the arguments."""

        def run(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
            own = self.copied((args, kwargs))
            kernel(*own)
            given, padded = self._named((args, kwargs)), self._named(own)
            for name in self._written():
                given[name].copy_(padded[name])

        return run

    def kept(
        self, padded: Arguments, arguments: Arguments
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Padded tensors that the launch reads and writes, each with the one that it stands for."""
        own, given = self._named(padded), self._named(arguments)
        return [
            (own[name], given[name])
            for name in self._written()
            if getattr(self.task.launch.arguments[name], "storage", None) in self.task.read
        ]

    def _written(self) -> list[str]:
        tensors = self.task.launch.arguments
        return [
            name
            for name in self.padding.tensors
            if isinstance(one := tensors[name], TensorArgument) and one.storage in self.task.written
        ]

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same elements in longer rows, with poison between them."""
        strides = longer_rows(tensor.shape, tensor.stride(), self.padding.elements)
        copy = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
        memory = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        poison(memory.set_(copy.untyped_storage()))
        return copy.copy_(tensor)

    def _named(self, arguments: Arguments) -> dict[str, Any]:
        args, kwargs = arguments
        return {**dict(zip(self.names, args, strict=False)), **kwargs}

    def _replaced(self, arguments: Arguments, others: Mapping[str, object]) -> Arguments:
        args, kwargs = arguments
        left = dict(others)
        replaced = tuple(
            left.pop(name, value) for name, value in zip(self.names, args, strict=False)
        )
        return replaced, {**kwargs, **left}
