# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The child process that does the work of one call: `python -m intelliperf_swizzle.mcp.worker`.

The first line of standard input is the call, `{"verb": …, "arguments": {…}}`. Each line of standard
output is an object: `{"progress": …}` as often as there is some, then `{"answer": …}` or
`{"error": …}`. SIGTERM, or the end of standard input, ends it and all that it started.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TextIO

from intelliperf_swizzle.children import leave
from intelliperf_swizzle.codec import dumps, encode, loads
from intelliperf_swizzle.errors import SwizzleError
from intelliperf_swizzle.stopping import Interrupted, stopped_by_signals


class Telling:
    """Progress as lines of JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._phase = ""

    def phase(self, sentence: str) -> None:
        """A new phase begins."""
        self._phase = sentence
        self._tell(sentence)

    def step(self, done: int, total: int, best: str) -> None:
        """Some steps of the phase are over."""
        self._tell(f"{self._phase}: {done} of about {total}; best: {best}")

    def note(self, sentence: str) -> None:
        """Something the user should know."""
        self._tell(sentence)

    def _tell(self, sentence: str) -> None:
        say(self._stream, "progress", sentence)


def say(stream: TextIO, kind: str, what: object) -> None:
    """One line of the answer."""
    stream.write(dumps({kind: what}) + "\n")
    stream.flush()


def main() -> int:
    """Does what the first line asks for."""
    call = loads(sys.stdin.readline())
    # What anything here prints goes to standard error: the answers have standard output alone.
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with stopped_by_signals():
        threading.Thread(target=_end_with_server, daemon=True).start()
        try:
            from intelliperf_swizzle.mcp.verbs import VERBS

            answer = VERBS[call["verb"]](call["arguments"], Telling(stream))
        except SwizzleError as error:
            say(stream, "error", str(error))
        except OSError as error:
            say(stream, "error", f"{error.strerror or error} {error.filename or ''}".strip())
        except Interrupted as signaled:
            leave(signaled.exit_code)
        else:
            say(stream, "answer", encode(answer))
    return 0


def _end_with_server() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
