# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""HTTP to an endpoint: no redirects, and an answer of a size that one has; import it late."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import openai

from intelliperf_swizzle.propose.llm.prompt import RefusedAnswerError
from intelliperf_swizzle.readers import shown

LARGEST_ANSWER_BYTES = 4 << 20
"""A hundred times what the longest answer has."""


class Client(openai.OpenAI):
    """LiteLLM copies what it is given, and a connection has no copy."""

    def __deepcopy__(self, memo: object) -> "Client":
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
    """Takes a response up to the size of an answer, as it is and not unpacked."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise RefusedAnswerError(
                f"it answers in the encoding {shown(encoding)}, which was not asked for"
            )
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Limited(response.stream)
        return response


@dataclass
class _Limited(httpx.SyncByteStream):
    """A body that ends with an error when it is too long."""

    stream: httpx.SyncByteStream

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        for chunk in self.stream:
            taken += len(chunk)
            if taken > LARGEST_ANSWER_BYTES:
                raise RefusedAnswerError(f"its answer has more than {LARGEST_ANSWER_BYTES} bytes")
            yield chunk

    def close(self) -> None:
        self.stream.close()
