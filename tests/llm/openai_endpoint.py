# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""An endpoint on loopback that speaks the OpenAI protocol and answers by a script."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

KEY = "sk-test-0123456789abcdef"


def answer(swizzle: str, **fields: str) -> str:
    """An answer as DSPy's chat adapter reads it; critiques are there only where given."""
    named = {"reasoning": "because", **fields}
    named |= {"idea": "an idea", "rationale": "fewer misses", **fields}
    named["swizzle"] = swizzle
    return "".join(f"[[ ## {k} ## ]]\n{v}\n\n" for k, v in named.items()) + "[[ ## completed ## ]]"


@dataclass(frozen=True)
class Status:
    """Not an answer but an HTTP error."""

    code: int
    message: str = "not now"


@dataclass(frozen=True)
class Hang:
    """No answer until the test is over."""


@dataclass(frozen=True)
class Cut:
    """The connection is closed in the middle of the answer."""


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, status line and headers included; a byte at a time where there is a pause.

    Attributes:
        content: what is sent; the last byte is sent until the test is over where `endless`.
        pause_seconds: after each byte.
    """

    content: bytes
    pause_seconds: float = 0.0
    endless: bool = False


@dataclass(frozen=True)
class Counting:
    """A good answer with these counts of tokens."""

    text: str
    usage: Any


Step = str | Status | Hang | Cut | Raw | Counting


@dataclass
class Endpoint:
    """What the server answers, call by call; the last step is repeated for ever.

    Attributes:
        script: steps in order.
        requests: body of each request, in order.
        headers: of each request.
        paths: of each request.
        over: set when the test is over.
        url: base URL.
    """

    script: list[Step] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def next_step(self) -> Step:
        place = min(len(self.requests), len(self.script)) - 1
        return self.script[place]

    def prompt(self, call: int) -> str:
        """The words of a request; `parts` has its pictures too."""
        return "\n\n".join(part["text"] for part in self.parts(call) if part["type"] == "text")

    def parts(self, call: int) -> list[dict[str, Any]]:
        contents = [message["content"] for message in self.requests[call]["messages"]]
        plain = (
            [{"type": "text", "text": message_part}]
            if isinstance(message_part, str)
            else message_part
            for message_part in contents
        )
        return [part for content in plain for part in content]


def handler_of(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Stays silent."""

        def reply(self, status: int, body: dict[str, Any], *, cut: bool = False) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw[: len(raw) // 2] if cut else raw)
            self.close_connection = cut

        def raw(self, step: Raw) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                if not step.pause_seconds:
                    self.wfile.write(step.content)
                for place in range(len(step.content) if step.pause_seconds else 0):
                    self.wfile.write(step.content[place : place + 1])
                    if endpoint.over.wait(step.pause_seconds):
                        return
                while step.endless and not endpoint.over.is_set():
                    self.wfile.write(step.content[-1:] * 65536)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append(body)
            endpoint.headers.append(dict(self.headers))
            endpoint.paths.append(self.path)
            step = endpoint.next_step()
            if isinstance(step, Status):
                self.reply(step.code, {"error": {"message": step.message, "code": step.code}})
                return
            if isinstance(step, Hang):
                endpoint.over.wait(30)
                self.close_connection = True
                return
            if isinstance(step, Raw):
                self.raw(step)
                return
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            text = step if isinstance(step, str) else "x" * 1000
            if isinstance(step, Counting):
                text, usage = step.text, step.usage
            message = {"role": "assistant", "content": text}
            self.reply(
                200,
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": body["model"],
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": usage,
                },
                cut=isinstance(step, Cut),
            )

    return Handler
