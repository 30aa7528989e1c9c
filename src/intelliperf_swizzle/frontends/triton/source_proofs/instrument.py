# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A kernel's text with a call after each assignment, so that its scalars are seen by name."""

from __future__ import annotations

import ast

from intelliperf_swizzle.frontends.triton.source_proofs.observation import Site
from intelliperf_swizzle.frontends.triton.tile_loops.marks import WATCH
from intelliperf_swizzle.records import KernelSource, SourceFunction


def watched(source: KernelSource) -> tuple[dict[str, str], tuple[Site, ...]]:
    """Edits of every function of a kernel, and where the calls stand.

    `pid = remap(pid)` --> `pid = remap(pid)` and `_swizzle_watch(3, pid)`, where site 3 is this
    line. The first three sites are the program ids themselves.
    """
    entry = source.entry
    sites = [Site(f"program_id({axis})", entry.file, entry.first_line) for axis in range(3)]
    edits = {}
    for key, function in source.functions.items():
        tree = ast.parse(function.text)
        edits[key] = ast.unparse(ast.fix_missing_locations(_Watching(function, sites).visit(tree)))
    return edits, tuple(sites)


class _Watching(ast.NodeTransformer):
    def __init__(self, function: SourceFunction, sites: list[Site]) -> None:
        self._function = function
        self._sites = sites

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return [node, *(call for target in node.targets for call in self._calls(target))]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        return [node, *self._calls(node.target)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return [node, *(self._calls(node.target) if node.value else ())]

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.body = [*self._calls(node.target), *node.body]
        return node

    def _calls(self, target: ast.expr) -> list[ast.stmt]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return [call for element in target.elts for call in self._calls(element)]
        if not isinstance(target, ast.Name):
            return []
        line = self._function.first_line + target.lineno - 1
        self._sites.append(Site(target.id, self._function.file, line))
        call = ast.parse(f"{WATCH}({len(self._sites) - 1}, {target.id})").body
        return list(call)
