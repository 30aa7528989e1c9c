# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest
from openai_endpoint import Endpoint, handler_of


@contextmanager
def served() -> Iterator[Endpoint]:
    pytest.importorskip("litellm")  # else the first call's seconds go on its import
    endpoint = Endpoint()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(endpoint))
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield endpoint
    endpoint.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with served() as endpoint:
        yield endpoint


@pytest.fixture
def endpoints() -> Iterator[dict[str, Endpoint]]:
    """Two private ones, and one in the place of the public one."""
    with served() as first, served() as second, served() as public:
        yield {"A": first, "B": second, "public": public}
