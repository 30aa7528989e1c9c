# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Targets: what the package's files say, what a user's file may get wrong."""

import numpy as np
import pytest
import yaml

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.hardware import load_target, targets, variants
from intelliperf_swizzle.hardware.target import FOLDER


def test_the_promised_targets_are_there():
    promised = {"mi300x", "mi325x", "mi355x", "mi300a", "mi250x", "mi210", "h100", "h200", "b200"}
    assert promised <= set(targets())


@pytest.mark.parametrize("name", targets())
def test_every_fact_has_a_source(name):
    entries = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert load_target(name).name == name
    for key, entry in entries.items():
        assert key == "base" or len(entry["source"]) > 5, key


@pytest.mark.parametrize(
    ("name", "num_xcds", "cus", "l2_mib"),
    [
        ("mi300x", 8, 304, 32),
        ("mi325x", 8, 304, 32),
        ("mi355x", 8, 256, 32),
        ("mi455x", 1, 256, 192),
        ("mi455x-8", 8, 256, 192),
        ("mi300a", 6, 228, 24),
        ("mi250x", 1, 110, 8),
        ("mi210", 1, 104, 8),
        ("h100", 2, 132, 50),
        ("h200", 2, 132, 60),
    ],
)
def test_the_totals_are_those_of_the_data_sheets(name, num_xcds, cus, l2_mib):
    target = load_target(name)
    assert (target.num_xcds, target.cus) == (num_xcds, cus)
    assert target.l2_bytes_per_xcd * num_xcds == l2_mib << 20


def test_what_is_not_settled_of_a_gpu_is_read_either_way():
    assert [reading.name for reading in variants(load_target("mi455x"))] == ["mi455x", "mi455x-8"]
    assert [reading.name for reading in variants(load_target("mi300x"))] == ["mi300x"]


def test_amd_dispatch_is_round_robin_over_the_xcds():
    domains = load_target("mi300a").domain_of(np.arange(8))
    assert domains.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="no target `mi300`") as caught:
        load_target("mi300")
    assert "mi300" in caught.value.hint


def _file(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


def test_a_users_file_may_build_on_a_target(tmp_path):
    path = _file(tmp_path, "base: mi300x\nname: mine\nmemory_gb_s: {value: 1, source: me}\n")
    target = load_target(path)
    assert (target.name, target.memory_gb_s, target.num_xcds) == ("mine", 1.0, 8)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("name: mine\n", "key `product` is missing"),
        ("base: mi300x\nl2_mib_per_xcd: 4\n", "unknown key `l2_mib_per_xcd`"),
        ("base: mi300x\nnum_xcds: 2.5\n", "`num_xcds` is 2.5"),
        ("base: mi300x\nnum_xcds: true\n", "`num_xcds` is True"),
        ("base: mi300x\nl2_bytes_per_xcd: 4 MiB\n", "`l2_bytes_per_xcd` is '4 MiB'"),
        ("base: mi300x\nl2_bytes_per_xcd: 4000000\n", "not a multiple"),
        ("base: mi300x\nl2_ways: 0\n", "`l2_ways`: expected 1 to inf"),
        ("base: mi300x\nnum_xcds: 4\n", "`dispatch_domains`"),
        ("base: mi300x\nl2_set_bits: [[4]]\n", "`l2_set_bits`"),
        ("base: mi300x\nwarp_size: {value: 64, note: x}\n", "a `value` and a `source`"),
        ("base: mi355x\ncatch_up_turns: 0\n", "`catch_up_turns`"),
        ("base: mi300x\nl1_bytes: -1\n", "`l1_bytes`: expected 0 to inf"),
        ("base: nowhere\n", "base `nowhere`"),
        ("base: mi300x\nllc_bytes: null\n", "both be null"),
        ("- a list\n", "not a table"),
        ("a: [\n", "cannot be read"),
    ],
)
def test_each_mistake_in_a_users_file_is_named(tmp_path, text, fact):
    with pytest.raises(UsageError) as caught:
        load_target(_file(tmp_path, text))
    assert fact in caught.value.fact


def test_a_wrong_unit_is_answered_with_the_right_key(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_target(_file(tmp_path, "base: mi300x\nl2_kib_per_xcd: 4096\n"))
    assert "`l2_bytes_per_xcd`" in caught.value.hint


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        load_target(tmp_path / "none.yaml")
