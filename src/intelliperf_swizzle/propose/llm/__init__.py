# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A language model as proposer: it is told of kernel and GPU, and answers with a swizzle's text."""

from intelliperf_swizzle.propose.llm.proposer import LanguageModelProposer
from intelliperf_swizzle.propose.llm.transport import Endpoint, Model, find_endpoint
