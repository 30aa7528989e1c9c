# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`validate-model` on a folder: every way of reading the table, and every bad input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accuracy.configuration as accuracy_configuration
import accuracy.folder as accuracy_folder
from accuracy.folder import FolderOfMeasurements
from intelliperf_swizzle.cli import main
from intelliperf_swizzle.hardware import load_target
from intelliperf_swizzle.records import Access

SMALL = Path(__file__).parent / "small"
ORDERS = ("identity", "random", "listed")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    written: dict[str, Any]


def folder_with(place: Path, records: list[dict[str, Any]]) -> Path:
    shutil.copytree(SMALL, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "measured.json").write_text(json.dumps(records))
    return place


def record(config: str, mapping: str, **fields: Any) -> dict[str, Any]:
    return {"config": config, "mapping": mapping, "sm_side_hit_rate_pct": [50.0, 51.0], **fields}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run over everything; the sound pairs and the bad ones together."""
    records = [
        *(record("plain", order, axes=[32, 32], time_ms=1.0) for order in ORDERS),
        *(record("hidden", order) for order in ORDERS),
        record("persistent", "random"),
        record("histogram", "identity", blocks_per_sm_limit={"registers": 77.0}),
        record("plain", "twice"),
        record("plain", "short"),
        record("plain", "words"),
        record("plain", "widdershins"),
        record("plain", "identity", axes=[16, 64]),
        {"config": "plain", "mapping": "random", "sm_side_hit_rate_pct": None},
        {"sm_side_hit_rate_pct": 3},
        record("assembly", "identity"),
        record("failing", "identity"),
        record("nowhere", "identity"),
    ]
    place = tmp_path_factory.mktemp("comparison")
    folder, output = folder_with(place / "folder", records), place / "new" / "out.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        captured = _run([str(folder), "-o", str(output)])
    return Ran(*captured, json.loads(output.read_text()))


def _run(arguments: list[str]) -> tuple[int, str, str]:
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["validate-model", *arguments])
    return code, out.getvalue(), err.getvalue()


def predicted(ran: Ran, config: str) -> dict[str, float]:
    return {
        pair["mapping"]: pair["predicted_hit_rate"]
        for pair in ran.written["pairs"]
        if pair["config"] == config
    }


def test_what_was_left_out_is_exit_code_1_and_the_rest_is_reported(ran: Ran) -> None:
    assert ran.code == 1
    assert ran.written["summary"]["pairs"] == len(ran.written["pairs"]) == 8
    assert len(ran.written["skipped"]) == 10


@pytest.mark.parametrize(
    "line",
    [
        "plain, twice: no permutation of 1024 blocks: 512 are never computed, block 1 the first",
        "plain, short: no permutation of 1024 blocks: it has 1023 entries",
        "plain, words: the mapping is an array of <U6",
        "plain, widdershins: there is no such mapping",
        "plain, identity: measured on axes [16, 64]; the kernel has [32, 32]",
        "plain, random: neither sm_side_hit_rate_pct nor l2_hit_rate_pct is a number",
        "record 15: it names no config and mapping",
        "assembly: k_assembly: an address at kernels.py:58 depends on what is not known: inline "
        "assembly (kernels.py:55)",
        "failing: building failing failed: RuntimeError: out of cheese",
        "nowhere: kernels.py has no such configuration",
    ],
)
def test_each_bad_input_is_one_clear_line(ran: Ran, line: str) -> None:
    assert sum(message.startswith(f"skipped: {line}") for message in ran.err.splitlines()) == 1


def test_a_table_that_is_recognised_and_one_that_is_not_read_the_same(ran: Ran) -> None:
    """The one is traced once and renumbered, the other launched and traced under every order."""
    plain, hidden = predicted(ran, "plain"), predicted(ran, "hidden")
    assert set(plain) == set(ORDERS)
    assert plain == hidden
    assert plain["random"] != plain["identity"]


def test_a_program_that_is_more_than_its_block_is_traced_under_the_order(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "folder", [record("partial", "random")])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    configuration = FolderOfMeasurements(folder).configuration(
        "partial", load_target("h200"), scratch
    )
    stream, tile = configuration.works[0][0].under(configuration.orders["random"])
    assert tile.tolist() == list(range(1024))  # not renumbered
    written = stream.ref_code >> 4 == Access.WRITE
    lines = stream.unit_line[stream.unit_offset[stream.plain_units[written]]]
    assert np.all(np.diff(lines) > 0)  # where the program stands, not where its block is


def test_occupancy_comes_from_the_build_and_a_mismatch_is_reported(ran: Ran) -> None:
    by_name = {
        configuration["config"]: configuration for configuration in ran.written["configurations"]
    }
    assert by_name["plain"]["occupancy"] == 16  # 4 warps of at most 64, few registers
    assert any("by the profiler" in note and "77" in note for note in ran.written["notes"])


def test_the_table_fits_80_columns(ran: Ran) -> None:
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    [row] = [line for line in lines if line.startswith("plain ")]
    assert len(row.split()) == 9  # name, n, spread, MAE, worst, own, τ, regret, s


def test_pairs_carry_rates_from_0_to_1_and_null_for_what_was_not_measured(ran: Ran) -> None:
    first = ran.written["pairs"][0]
    assert first["measured_hit_rate"] == pytest.approx(0.505)
    assert first["measured_spread_points"] == 1.0
    assert first["measured_time_ms"] == 1.0
    assert first["measured_llc_hit_rate"] is None
    assert 0 <= first["predicted_hit_rate"] <= 1


def test_of_a_launch_with_many_programs_the_first_ones_are_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under each order those that the GPU starts first."""
    monkeypatch.setattr(accuracy_configuration, "MOST_PROGRAMS", 256)
    monkeypatch.setattr(accuracy_folder, "MOST_PROGRAMS", 256)
    folder = folder_with(tmp_path / "folder", [record("plain", "random")])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = FolderOfMeasurements(folder).configuration("plain", load_target("h200"), scratch)
    assert found.notes == ("the first 256 of its 1024 programs are replayed",)
    order = found.orders["random"]
    stream, tile = found.works[0][0].under(order)
    assert tile.tolist() == list(range(256))
    written = stream.ref_code >> 4 == Access.WRITE
    lines = stream.unit_line[stream.unit_offset[stream.plain_units[written]]]
    first = lines[:: len(lines) // 256]
    assert np.argsort(np.argsort(first)).tolist() == np.argsort(np.argsort(order[:256])).tolist()


def test_what_a_stopped_run_has_compared_is_reported_and_used_again(tmp_path: Path) -> None:
    """A process, stopped while the second configuration fails to end."""
    folder = folder_with(
        tmp_path / "folder",
        [*(record("plain", order) for order in ORDERS), record("endless", "identity")],
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("INTELLIPERF_SWIZZLE_NO_CACHE", None)
    command = [sys.executable, "-m", "intelliperf_swizzle", "validate-model", str(folder)]
    output = tmp_path / "out.json"
    with subprocess.Popen(
        [*command, "-o", str(output)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        while not output.exists():
            assert process.poll() is None
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)  # a background job ignores SIGINT
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert [line.split()[1] for line in out.splitlines() if line.startswith("plain ")] == ["3"]
    assert "skipped: endless: not compared yet" in err
    written = json.loads(output.read_text())
    assert [pair["mapping"] for pair in written["pairs"]] == list(ORDERS)
    entries = list((tmp_path / "cache").rglob("accuracy-*"))
    assert len(entries) == 3
    before = {entry: entry.stat().st_ino for entry in entries}
    (folder / "measured.json").write_text(json.dumps([record("plain", name) for name in ORDERS]))
    again = subprocess.run([*command, "-o", str(output)], env=environment, check=True)
    assert again.returncode == 0
    assert json.loads(output.read_text())["pairs"] == written["pairs"]
    assert before == {
        entry: entry.stat().st_ino for entry in (tmp_path / "cache").rglob("accuracy-*")
    }


@pytest.mark.parametrize("missing", ["kernels.py", "mappings.py", "measured.json"])
def test_a_folder_without_one_of_the_files_is_refused(tmp_path: Path, missing: str) -> None:
    folder = folder_with(tmp_path / "folder", [record("plain", "identity")])
    (folder / missing).unlink()
    code, out, err = _run([str(folder)])
    assert (code, out) == (2, "")
    assert f"has no {missing}" in err
    assert err.count("error:") == 1


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("measured.json", "{", "cannot be read"),
        ("measured.json", "[]", "holds no records"),
        ("measured.json", "7", "holds no records"),
        ("kernels.py", "import cheese", "kernels.py cannot be imported"),
        ("kernels.py", "import torch", "kernels.py has no CONFIGS"),
        ("mappings.py", "SIDE = 1", "mappings.py has no `mappings`"),
    ],
)
def test_an_unusable_folder_is_one_error(tmp_path: Path, file: str, text: str, says: str) -> None:
    folder = folder_with(tmp_path / "folder", [record("plain", "identity")])
    (folder / file).write_text(text)
    code, out, err = _run([str(folder)])
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("error:") == 1
    assert "Traceback" not in err


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    code, _, err = _run([str(tmp_path / "nowhere")])
    assert code == 2
    assert "nowhere has no kernels.py and no mappings.py and no measured.json" in err
