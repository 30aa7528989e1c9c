# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The verbs for coding agents, by the Model Context Protocol on standard input and output.

`server` offers the tools; each call is the work of a child process (`worker`), which is ended with
all that it started when the call is cancelled, and which answers with the records of the verb.
"""
