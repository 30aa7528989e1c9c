# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Run the user's application unchanged and record its kernel launches.

`recording` starts, watches and ends it (`process`). In its processes, `startup/sitecustomize.py`
waits for an import of torch or Triton, and `hook` then installs `standin` (a GPU that is none)
where there is no GPU, and the agent `begin`: `interpreted` without a GPU, `compiled` on one, where
`inductor` sees what `torch.compile` launches. Both know launches again by `identity`; the `ledger`
counts them (`counts`, `graphs`) and writes new ones down: `describe`, `sources`, `tuning`,
`pointers`, `store`. `journal` and `settings` are what the two sides tell each other.
"""

from intelliperf_swizzle.frontends.triton.capture.recording import capture, record

__all__ = ["capture", "record"]
