# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The documentation does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?:<!-- (file|exit) (\S+) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def test_every_command_of_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    del environment["INTELLIPERF_SWIZZLE_NO_CACHE"]  # a reader has a cache
    commands = 0
    for setting, value, kind, text in BLOCK.findall((ROOT / "docs/tutorial.md").read_text()):
        if setting == "file":
            (tmp_path / value).write_text(text)
        elif kind == "sh":
            done = subprocess.run(
                ["bash", "-ec", text],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == int(value or 0), (text, done.stdout, done.stderr)
            commands += len(text.splitlines())
    assert commands >= 10
    assert (tmp_path / "swizzle-out/manhattan/report.html").is_file()


def test_generated_pages_are_as_generated(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "docs/generate.py"), str(tmp_path)], check=True)
    generated = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(generated) > 15
    stale = [
        str(path)
        for path in generated
        if (tmp_path / path).read_text() != (ROOT / "docs" / path).read_text()
    ]
    assert not stale, f"{stale}: run python docs/generate.py"
