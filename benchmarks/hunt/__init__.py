# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A hunt for swizzles that the gates accept and should not: random applications, hostile texts.

applications.py  a seed → a small Triton application
swizzles.py      texts to try on it, and an independent patch of it
truth.py         what original and patched application compute, by Triton's plain interpreter
gates.py         what the product says; the only module that touches it
campaign.py      pairs of application and text, the record and the table
"""
