# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Targets by name or from a YAML file; every mistake in a file is named with its key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from intelliperf_swizzle.codec import decode, members
from intelliperf_swizzle.errors import RecordError, UsageError
from intelliperf_swizzle.hardware.target import Target
from intelliperf_swizzle.records import LINE_BYTES

FOLDER = Path(__file__).parent / "gpus"
"""Where the targets of this package lie, one YAML a GPU."""


@cache
def targets() -> tuple[str, ...]:
    """Names of the targets that come with the package, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def load_target(name_or_path: str | Path) -> Target:
    """The target of this name, or of this YAML file.

    Raises:
        UsageError: no such target or file, or a file that does not describe a target.
    """
    text = str(name_or_path)
    if text in targets():
        return _target(_facts(FOLDER / f"{text}.yaml"), text)
    path = Path(text)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return _target(_facts(path), str(path))
    near = difflib.get_close_matches(text, targets(), 1)
    raise UsageError(
        f"there is no target `{text}`",
        hint=f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(targets()),
    )


def readings(target: Target) -> list[Target]:
    """The target, then others of the package for the same product, of which not all is settled."""
    others = map(load_target, targets() if target.name in targets() else ())
    alike = [one for one in others if one.product == target.product]
    return [target, *(one for one in alike if one.name != target.name)]


def _facts(path: Path, inheriting: tuple[Path, ...] = ()) -> dict[str, object]:
    """Key -> value of a file, on top of those of its `base`."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"target file {path} cannot be read: {reason}") from error
    if not isinstance(entries, Mapping):
        raise UsageError(f"target file {path} is not a table of keys and values")
    own = {str(key): _value(path, str(key), entry) for key, entry in entries.items()}
    base = own.pop("base", None)
    if base is None:
        return own
    if base not in targets() or path in inheriting:
        raise UsageError(f"target file {path}: base `{base}` is not a target", hint="see `targets`")
    return _facts(FOLDER / f"{base}.yaml", (*inheriting, path)) | own


def _value(path: Path, key: str, entry: object) -> object:
    """The value of an entry: a bare one, or a table of `value` and `source`."""
    if not isinstance(entry, Mapping):
        return entry
    if not {"value"} <= set(entry) <= {"value", "source"}:
        raise UsageError(f"target file {path}: key `{key}` needs a `value` and a `source`")
    return entry["value"]


def _target(facts: Mapping[str, object], where: str) -> Target:
    fields = {member.name: member.kind for member in members(Target)}
    for key in facts:
        if key not in fields:
            raise UsageError(f"target {where}: unknown key `{key}`", hint=_near(key, fields))
    missing = [key for key in fields if key not in facts]
    if missing:
        raise UsageError(
            f"target {where}: key `{missing[0]}` is missing",
            hint="give every key, or `base: mi300x` and those that differ",
            details=tuple(f"also missing: {key}" for key in missing[1:]),
        )
    values = {key: _checked(where, key, facts[key], kind) for key, kind in fields.items()}
    target = Target(**values)
    _check_whole(target, where)
    return target


def _near(key: str, fields: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(key, fields, 1, cutoff=0.5)
    if not near:
        return "the keys are the fields of `hardware.target.Target`"
    return f"did you mean `{near[0]}`? The unit is part of the key and cannot be changed"


def _checked(where: str, key: str, value: object, kind: Any) -> Any:
    try:
        bits = key in ("l2_channel_bits", "l2_set_bits")
        decoded = decode(kind, None if bits and value == "hashed" else value, f"`{key}`")
        if _is_negative(decoded):
            raise RecordError(f"`{key}`: expected nothing negative")
    except RecordError as error:
        raise UsageError(f"target {where}: `{key}` is {value!r}: {error.fact}") from error
    return decoded


def _is_negative(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_negative, value))
    return isinstance(value, (int, float)) and value < 0


def _check_whole(target: Target, where: str) -> None:
    """What no single key can say: that the numbers describe one machine."""
    for holds, fact in (*_dispatch_demands(target), *_cache_demands(target)):
        if not holds:
            raise UsageError(f"target {where}: {fact}")


def _dispatch_demands(target: Target) -> Iterator[tuple[bool, str]]:
    """Whether domains and the dispatch of workgroups are right, and what is wrong if not."""
    counts = target.num_xcds, target.cus_per_xcd, target.l2_ways, target.l2_channels_per_xcd
    yield min(counts) >= 1, "`num_xcds`, `cus_per_xcd` and `l2_ways` must be at least 1"
    domains = set(range(target.num_xcds))
    named = "`dispatch_domains` must name every domain from 0 to num_xcds - 1"
    yield set(target.dispatch_domains) == domains, named
    yield target.turn_skip_fraction < 1, "`turn_skip_fraction` must lie in [0, 1)"
    turns = min(target.accesses_per_turn, target.catch_up_turns)
    yield turns >= 1, "`accesses_per_turn` and `catch_up_turns` must be at least 1"
    cus = dict.fromkeys(domains, 0)
    for number, domain in zip(target.gpc_cus, target.gpc_domains, strict=False):
        cus[domain] = cus.get(domain, 0) + number
    whole = cus == dict.fromkeys(domains, target.cus_per_xcd)
    whole &= len(target.gpc_cus) == len(target.gpc_domains)
    all_cus = "`gpc_cus` and `gpc_domains` do not name all CUs of each domain"
    yield whole or not target.gpc_cus, all_cus


def _cache_demands(target: Target) -> Iterator[tuple[bool, str]]:
    """The same of the caches and the memory."""
    set_bytes = target.l2_ways * target.l2_channels_per_xcd * LINE_BYTES
    sets, rest = divmod(target.l2_bytes_per_xcd, set_bytes or 1)
    whole = "`l2_bytes_per_xcd` is not a multiple of ways × channels × 128 bytes"
    yield set_bytes > 0 and sets > 0 and not rest, whole
    channels, rows = target.l2_channel_bits, target.l2_set_bits
    named = channels is None or 1 << len(channels) == target.l2_channels_per_xcd
    yield named, "`l2_channel_bits` does not name all channels"
    named = rows is None or not set_bytes or 1 << len(rows) == sets
    yield named, "`l2_set_bits` does not name all sets"
    holds_set = target.l1_ways >= 1 and target.l1_bytes >= target.l1_ways * LINE_BYTES
    yield holds_set, "`l1_bytes` is less than one set of 128-byte lines"
    both = (target.llc_bytes is None) == (target.llc_gb_s is None)
    yield both, "`llc_bytes` and `llc_gb_s` must both be given or both be null"
    timed = target.num_xcds == 2 and bool(target.gpc_cus) and None not in target.timing
    copies = "`l2_copies_remote_lines` needs two domains, `gpc_cus` and what follows it"
    yield timed or not target.l2_copies_remote_lines, copies
    alike = len({one is None for one in target.memory_rows}) == 1
    yield alike, "facts about the rows of memory must all be given or all be null"
    yield target.overlap >= 1, "`overlap` must be at least 1"
    yield 0 < target.achieved_arithmetic <= 1, "`achieved_arithmetic` must be over 0, at most 1"
    yield target.l2_fill_bytes in (32, 64, 128), "`l2_fill_bytes` must be 32, 64 or 128"
    speeds = target.l2_gb_s > 0 and target.memory_gb_s > 0 and target.llc_gb_s != 0
    yield speeds, "bandwidths must be above 0"
