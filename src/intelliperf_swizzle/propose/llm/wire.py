# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The connection to an endpoint; it takes no more than an answer, and goes nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai

from intelliperf_swizzle.propose.llm.answer import RefusedAnswerError
from intelliperf_swizzle.readers import shown

LARGEST_ANSWER_BYTES = 4 << 20
"""A hundred times what the longest answer has."""


class Client(openai.OpenAI):
    """LiteLLM copies what it is given, and a connection has no copy."""

    def __deepcopy__(self, memo: Any) -> Client:
        return self


def client(url: str | None, key: str | None) -> Client:
    """A client of an OpenAI-compatible endpoint.

    Redirects are not followed: they would take prompt and key elsewhere.

    Args:
        url: its base URL, None = OpenAI's.
        key: None = the environment has it.
    """
    http = httpx.Client(
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_limit]},
    )
    return Client(api_key=key, base_url=url, max_retries=0, http_client=http)


def _limit(response: httpx.Response) -> None:
    """Has the body of a response refused beyond the size of an answer."""
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise RefusedAnswerError(f"it answers in the encoding {shown(encoding)}, unasked")
    if isinstance(response.stream, httpx.SyncByteStream):
        response.stream = _Limited(response.stream)


class _Limited(httpx.SyncByteStream):
    """A body that ends with an error beyond the size of an answer."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        for chunk in self._stream:
            taken += len(chunk)
            if taken > LARGEST_ANSWER_BYTES:
                raise RefusedAnswerError(f"its answer has more than {LARGEST_ANSWER_BYTES} bytes")
            yield chunk

    def close(self) -> None:
        self._stream.close()
