# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Arrays in records, however NumPy writes their type."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import typing_extensions

from intelliperf_swizzle.codec import decode, encode

Scalar = typing_extensions.TypeVar("Scalar", bound=np.generic)
AsOfNumPy25 = typing_extensions.TypeAliasType(
    "AsOfNumPy25", np.ndarray[Any, np.dtype[Scalar]], type_params=(Scalar,)
)


@pytest.mark.parametrize("kind", [npt.NDArray[np.int32], AsOfNumPy25[np.int32]])
def test_an_array_is_kept_beside_the_text(kind: Any) -> None:
    noun = make_dataclass("Noun", [("numbers", kind), ("more", kind | None)])
    arrays: dict[str, npt.NDArray[Any]] = {}
    text = encode(noun(np.arange(3, dtype=np.int32), None), arrays)
    assert text == {"numbers": "numbers", "more": None}
    again = decode(noun, text, arrays=arrays)
    assert again.numbers.tolist() == [0, 1, 2]
    assert again.more is None
