# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Run the user's application unchanged and record its kernel launches.

`recording` starts, watches and ends it. In its processes, `startup/sitecustomize.py`
waits for an import of torch or Triton; `hook` then installs, on a machine without a GPU, `standin`
(torch with a GPU that is none) and `virtual_gpu` (Triton's JIT on it), and on any the agent of the
settings. `calls` sees each launch as Triton's own JIT makes it, the `recorder` writes it down and,
without a GPU, has it executed (`execution`). The `ledger` knows launches again and counts
them (`counts`); new ones are written down by `describe` (whose map of memory is
`addresses`), `sources`, `tuning` and `store`. `unknown` knows what was not computed. `journal` and
`settings` are what the two sides exchange.
"""
