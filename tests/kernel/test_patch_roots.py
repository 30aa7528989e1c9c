# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A patch is for the package or the checkout that a kernel belongs to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from intelliperf_swizzle.edit import patch_root, unified_diff

BEFORE, AFTER = "a = 1\nb = 2\n", "a = 1\nb = 3\n"


def kernel_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "kernels.py"
    file.write_text(BEFORE)
    return file


def patched(file: Path, root: Path, *command: str) -> str:
    diff = unified_diff({str(file): BEFORE}, {str(file): AFTER}, root)
    subprocess.run(command, cwd=root, input=diff, text=True, check=True)
    assert file.read_text() == AFTER
    return diff


def test_an_installed_package_gets_a_patch_with_its_version(tmp_path: Path) -> None:
    """Also in an environment inside the project."""
    packages = tmp_path / ".venv" / "lib" / "python3" / "site-packages"
    file = kernel_in(packages / "mine" / "ops")
    about = packages / "my_kernels-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-kernels\nVersion: 1.2\n")
    (about / "RECORD").write_text("mine/ops/kernels.py,,\n")
    assert patch_root(str(file), [tmp_path]) == packages
    diff = patched(file, packages, "patch", "-p1")
    assert diff.startswith("my-kernels 1.2\n--- a/mine/ops/kernels.py\n")


def test_a_checkout_that_is_a_package_is_the_root(tmp_path: Path) -> None:
    file = kernel_in(tmp_path / "nodes" / "node")
    (file.parent / "__init__.py").touch()
    subprocess.run(["git", "init", "-q", file.parent], check=True)
    assert patch_root(str(file), [tmp_path]) == file.parent


@pytest.mark.parametrize("project", [".", "elsewhere"])
def test_an_editable_install_gets_a_patch_for_its_checkout(tmp_path: Path, project: str) -> None:
    file = kernel_in(tmp_path / "checkout" / "src" / "mine")
    (file.parent / "__init__.py").touch()
    subprocess.run(["git", "init", "-q", tmp_path / "checkout"], check=True)
    root = patch_root(str(file), [tmp_path / project])
    assert root == tmp_path / "checkout"
    patched(file, root, "git", "apply")


def test_a_folder_of_a_checkout_in_which_one_works_is_the_root(tmp_path: Path) -> None:
    file = kernel_in(tmp_path / "checkout" / "part" / "deep")
    subprocess.run(["git", "init", "-q", tmp_path / "checkout"], check=True)
    assert patch_root(str(file), [tmp_path / "checkout" / "part"]) == tmp_path / "checkout" / "part"
