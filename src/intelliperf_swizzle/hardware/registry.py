# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Targets by name or from a YAML file; every mistake in a file is named with its key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
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
    for fact, holds in (_dispatch_demands(target) | _cache_demands(target)).items():
        if not holds:
            raise UsageError(f"target {where}: {fact}")


def _dispatch_demands(target: Target) -> dict[str, bool]:
    """What is wrong with the domains and the dispatch of workgroups -> whether it is not so."""
    return {
        "`num_xcds`, `cus_per_xcd` and `l2_ways` must be at least 1": min(
            target.num_xcds, target.cus_per_xcd, target.l2_ways, target.l2_channels_per_xcd
        )
        >= 1,
        "`dispatch_domains` must name every domain from 0 to num_xcds - 1": set(
            target.dispatch_domains
        )
        == set(range(target.num_xcds)),
        "`turn_skip_fraction` must lie in [0, 1)": target.turn_skip_fraction < 1,
        "`accesses_per_turn` and `catch_up_turns` must be at least 1": min(
            target.accesses_per_turn, target.catch_up_turns
        )
        >= 1,
        "`gpc_cus` and `gpc_domains` do not name all CUs of each domain": not target.gpc_cus
        or (
            len(target.gpc_cus) == len(target.gpc_domains)
            and all(
                sum(n for n, d in zip(target.gpc_cus, target.gpc_domains, strict=True) if d == one)
                == target.cus_per_xcd
                for one in range(target.num_xcds)
            )
        ),
    }


def _cache_demands(target: Target) -> dict[str, bool]:
    """What is wrong with the caches and the memory -> whether it is not so."""
    sets = target.l2_ways * target.l2_channels_per_xcd * LINE_BYTES
    channels, rows = target.l2_channel_bits, target.l2_set_bits
    return {
        "`l2_bytes_per_xcd` is not a multiple of ways × channels × 128 bytes": sets > 0
        and target.l2_bytes_per_xcd >= sets
        and target.l2_bytes_per_xcd % sets == 0,
        "`l2_channel_bits` does not name all channels": channels is None
        or 1 << len(channels) == target.l2_channels_per_xcd,
        "`l2_set_bits` does not name all sets": rows is None
        or sets == 0
        or 1 << len(rows) == target.l2_bytes_per_xcd // sets,
        "`l1_bytes` is less than one set of 128-byte lines": target.l1_ways >= 1
        and target.l1_bytes >= target.l1_ways * LINE_BYTES,
        "`llc_bytes` and `llc_gb_s` must both be given or both be null": (target.llc_bytes is None)
        == (target.llc_gb_s is None),
        "`l2_copies_remote_lines` needs two domains, `gpc_cus` and what follows it": (
            not target.l2_copies_remote_lines
            or (target.num_xcds == 2 and bool(target.gpc_cus) and None not in target.timing)
        ),
        "facts about the rows of memory must all be given or all be null": len(
            {one is None for one in target.memory_rows}
        )
        == 1,
        "`overlap` must be at least 1, or null": target.overlap is None or target.overlap >= 1,
        "`l2_fill_bytes` must be 32, 64 or 128": target.l2_fill_bytes in (32, 64, 128),
        "bandwidths must be above 0": target.l2_gb_s > 0
        and target.memory_gb_s > 0
        and target.llc_gb_s != 0,
    }
