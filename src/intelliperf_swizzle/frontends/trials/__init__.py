# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Candidates tried on a GPU in processes of the user's application, whatever their language.

`processes` starts and watches them and says what their times mean, `journal` is what they report.
"""
