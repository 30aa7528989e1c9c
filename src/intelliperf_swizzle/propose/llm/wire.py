# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HTTP to an endpoint: all of an answer in time, of a size that one has; import it late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import httpx
import openai

from intelliperf_swizzle.propose.llm.prompt import LateAnswerError, RefusedAnswerError
from intelliperf_swizzle.readers import shown

LARGEST_ANSWER_BYTES = 4 << 20
"""A hundred times what the longest answer has."""


class Client(openai.OpenAI):
    """LiteLLM copies what it is given, and a connection has no copy."""

    def __deepcopy__(self, memo: object) -> Client:
        return self


def client(url: str, key: str) -> Client:
    """A client of an OpenAI-compatible endpoint at a base URL, with its key.

    Redirects are not followed: they would take prompt and key elsewhere.
    """
    http = httpx.Client(
        transport=_Transport(), follow_redirects=False, headers={"Accept-Encoding": "identity"}
    )
    return Client(api_key=key, base_url=url, max_retries=0, http_client=http)


class _Transport(httpx.HTTPTransport):
    """Takes a response in the time of the request, all of it, and up to the size of an answer.

    HTTPX itself only limits the time between two bytes.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        seconds: float = request.extensions["timeout"]["read"]
        deadline = time.monotonic() + seconds
        response = _in_time(seconds, partial(super().handle_request, request))
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise RefusedAnswerError(f"it answers in the encoding {shown(encoding)}, unasked")
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Limited(response.stream, deadline, seconds)
        return response


@dataclass
class _Limited(httpx.SyncByteStream):
    """A body that ends with an error when it comes too late or is too long."""

    stream: httpx.SyncByteStream
    deadline: float
    seconds: float

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        try:
            for chunk in self.stream:
                taken += len(chunk)
                if taken > LARGEST_ANSWER_BYTES:
                    fact = f"its answer has more than {LARGEST_ANSWER_BYTES} bytes"
                    raise RefusedAnswerError(fact)
                if time.monotonic() > self.deadline:
                    raise _late(self.seconds)
                yield chunk
        except httpx.TimeoutException:
            raise _late(self.seconds) from None

    def close(self) -> None:
        self.stream.close()


def _in_time(seconds: float, work: Callable[[], httpx.Response]) -> httpx.Response:
    """What a call gives; raises RefusedAnswerError where it takes longer, whatever it waits for."""
    outcome: Future[httpx.Response] = Future()

    def call() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    try:
        return outcome.result(seconds)
    except (TimeoutError, httpx.TimeoutException):
        raise _late(seconds) from None


def _late(seconds: float) -> LateAnswerError:
    return LateAnswerError(f"no whole answer within {seconds:.3g} s")
