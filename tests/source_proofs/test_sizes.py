# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Where a remap holds besides the recorded grid: other sizes of a launch, and grids of a call."""

import math
import re
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
import resizable
import torch

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.frontends.ports import RecordRequest
from intelliperf_swizzle.frontends.resizing import scale_launch
from intelliperf_swizzle.frontends.triton.capture.recording import capture
from intelliperf_swizzle.records import Launch, TensorArgument
from intelliperf_swizzle.testing import assert_kernel_is_permutation

APPLICATION = Path(__file__).parent / "resizable.py"


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """What the command says of each launch, which begins with its name and grid."""
    command = [
        sys.executable, "-m", "intelliperf_swizzle", "prove", "--source", APPLICATION.name,
        "--sweep", "--", sys.executable, APPLICATION.name, *resizable.LAUNCHES,
    ]  # fmt: skip
    finished = subprocess.run(
        command, cwd=APPLICATION.parent, capture_output=True, text=True, check=False, timeout=600
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    verdicts = re.split(r"^(?=\S)", finished.stdout, flags=re.MULTILINE)[1:]
    return dict(zip(resizable.LAUNCHES, verdicts, strict=True))


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launch]:
    captured = capture(
        RecordRequest(
            [sys.executable, APPLICATION.name, "by_eight", "tiles_by_eight", "product"],
            folder=tmp_path_factory.mktemp("records"),
            cwd=APPLICATION.parent,
        )
    )
    return {launch.kernel: launch for launch in captured.launches}


@pytest.mark.parametrize("name", ["by_eight", "tiles_by_eight"])
def test_the_condition_is_named(shown: dict[str, str], name: str) -> None:
    assert shown[name].startswith("Permutation.")
    assert "other sizes: a permutation only if num_pids % 8 == 0 (" in shown[name]


def test_a_grid_on_which_it_fails_is_named_with_the_reason(shown: dict[str, str]) -> None:
    reason = "elements of `y` are stored by several programs, and others by none"
    assert f"on grid 2 it is not: {reason}" in shown["by_eight"]


def test_what_holds_on_every_grid_has_no_condition(shown: dict[str, str]) -> None:
    output = "other sizes: a permutation on all (32 grids were tried, 1 to 64)"
    assert output in shown["anywhere"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("by_a_list", "what a program does depends on the contents of its tensors"),
        ("unexplained", "the grid does not follow from the sizes that are passed"),
    ],
)
def test_if_no_other_size_can_be_made_the_run_notes_it(
    shown: dict[str, str], name: str, why: str
) -> None:
    assert f"other sizes were not tried: {why}" in shown[name]


def test_grid_tensors_and_strides_follow_the_size(launches: dict[str, Launch]) -> None:
    made = scale_launch(launches["tiles_by_eight"], lambda _: range(1, 26))
    rows = {launch.constants["M"]: launch for launch in made if launch.constants["N"] == 64}
    columns = {launch.constants["N"]: launch for launch in made if launch.constants["M"] == 155}
    assert rows[43].grid == (12, 1, 1)  # cdiv(43, 16) * cdiv(64, 16); as ragged as 155
    assert columns[112].grid == (70, 1, 1)
    assert columns[112].constants["stride"] == 112
    tensor = columns[112].arguments["c"]
    assert isinstance(tensor, TensorArgument)
    assert (tensor.shape, tensor.strides) == ((155, 112), (112, 1))
    assert columns[112].storages[tensor.storage].bytes == 155 * 112 * 4


def test_of_equal_sizes_each_shrinks_alone_too_in_tensors_as_they_are(
    launches: dict[str, Launch],
) -> None:
    launch = launches["tiles_by_eight"]
    tensor = launch.arguments["c"]
    assert isinstance(tensor, TensorArgument)
    given = {**launch.arguments, "M": 64, "c": replace(tensor, shape=(64, 64))}
    made = scale_launch(replace(launch, grid=(16, 1, 1), arguments=given), lambda n: [n // 2])
    sizes = {tuple(map(new.constants.get, ("M", "N", "stride"))): new for new in made}
    assert {size: new.programs for size, new in sizes.items()} == {
        (32, 32, 32): 4, (32, 64, 64): 8, (64, 32, 64): 8,
    }  # fmt: skip
    assert sizes[32, 64, 64].arguments["c"] == given["c"]


def test_a_stride_that_is_equal_to_the_number_of_programs_follows_its_tensor(
    launches: dict[str, Launch],
) -> None:
    launch = launches["tiles_by_eight"]
    tensor = launch.arguments["c"]
    assert isinstance(tensor, TensorArgument)
    given = {**launch.arguments, "M": 1024, "stride": 256}
    given["c"] = given["x"] = replace(tensor, shape=(1024, 64), strides=(256, 1))
    made = scale_launch(replace(launch, grid=(256, 1, 1), arguments=given), lambda n: [2 * n])
    assert {made_launch.programs for made_launch in made} == {512}
    assert {made_launch.constants["stride"] for made_launch in made} == {256}


def test_what_is_a_stride_and_no_size_explains_no_grid(launches: dict[str, Launch]) -> None:
    """Of 8 images of 16 channels of 56 x 56, the 3136 between channels are no size."""
    launch = launches["tiles_by_eight"]
    tensor = launch.arguments["c"]
    assert isinstance(tensor, TensorArgument)
    given = {**launch.arguments, "M": 56, "N": 56, "stride": 3136}
    given["c"] = replace(tensor, shape=(8, 16, 56, 56), strides=(50176, 3136, 56, 1))
    given["x"] = given["c"]
    image = replace(launch, grid=(196, 1, 1), arguments=given)
    assert scale_launch(image, lambda n: [n // 2]) == ()


def test_a_size_that_is_equal_to_the_grid_does_not_explain_it(
    launches: dict[str, Launch],
) -> None:
    made = scale_launch(launches["product"], lambda count: [2 * count])
    assert launches["product"].constants["K"] == launches["product"].programs
    sizes = {(launch.constants["M"], launch.constants["N"]) for launch in made}
    assert sizes <= {(256, 256), (128, 512)}
    assert sizes


def test_an_extent_of_a_tensor_explains_the_grid_before_a_quotient_of_two_arguments(
    launches: dict[str, Launch],
) -> None:
    """Of 8 heads, 8192 positions and a window of 1024, not 8192 / 1024."""
    launch = launches["tiles_by_eight"]
    tensor = launch.arguments["c"]
    assert isinstance(tensor, TensorArgument)
    given = {**launch.arguments, "M": 8192, "N": 1024, "stride": 64}
    given["c"] = replace(tensor, shape=(8, 8192, 64), strides=(8192 * 64, 64, 1))
    made = scale_launch(replace(launch, grid=(512, 8, 1), arguments=given), lambda n: [2 * n])
    sizes = {(made_launch.grid, made_launch.arguments["c"].shape) for made_launch in made}
    assert sizes == {((1024, 8, 1), (8, 16384, 64)), ((512, 16, 1), (16, 8192, 64))}


@pytest.mark.parametrize(
    ("sizes", "shape", "grid", "larger"),
    [
        ((512, 8, 64), (1, 512, 8, 64), (256, 1, 1), ((1024, 8), (512, 1, 1))),
        ((64, 1024, 4), (2, 8, 1024, 64), (16, 16, 1), ((64, 2048), (32, 16, 1))),
    ],
    ids=["one size is not divided twice", "blocks are constexpr"],
)
def test_sizes_explain_the_grid_with_which_a_tensor_grows(
    launches: dict[str, Launch],
    sizes: tuple[int, int, int],
    shape: tuple[int, ...],
    grid: tuple[int, int, int],
    larger: tuple[tuple[int, int], tuple[int, int, int]],
) -> None:
    """Attention: positions by blocks, times heads; not the positions by one block and another."""
    launch = launches["tiles_by_eight"]
    tensor = launch.arguments["c"]
    assert isinstance(tensor, TensorArgument)
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(4))
    given = {**launch.arguments, **dict(zip(("M", "N", "stride"), sizes, strict=True)), "BN": 64}
    given["c"] = given["x"] = replace(tensor, shape=shape, strides=strides)
    made = scale_launch(replace(launch, grid=grid, arguments=given), lambda n: [2 * n])
    assert larger in [
        ((made_launch.constants["M"], made_launch.constants["N"]), made_launch.grid)
        for made_launch in made
    ]


def test_a_tensor_with_an_element_a_program_follows_the_grid(launches: dict[str, Launch]) -> None:
    for launch in scale_launch(launches["by_eight"], lambda _: range(1, 26)):
        log, y = launch.arguments["log"], launch.arguments["y"]
        assert isinstance(log, TensorArgument)
        assert isinstance(y, TensorArgument)
        assert log.shape == (launch.programs,)
        assert y.shape == (64 * launch.programs - 3,) == (launch.constants["n"],)


def test_a_tensor_with_a_few_elements_more_than_programs_follows_the_grid(
    launches: dict[str, Launch],
) -> None:
    launch, n = launches["by_eight"], 64 * 128 - 3
    views = {name: replace(view, shape=(n,)) for name, view in launch.tensors()}
    views["log"] = replace(views["log"], shape=(128 + 8,))
    given = {**launch.arguments, **views, "n": n}
    made = scale_launch(replace(launch, grid=(128, 1, 1), arguments=given), lambda n: [2 * n, 9])
    assert [dict(one.tensors())["log"].shape for one in made] == [(9 + 8,), (256 + 8,)]


def arguments(grid: tuple[int, int, int]) -> dict[str, object]:
    n = 64 * grid[0] - 3
    log = torch.zeros(grid[0], dtype=torch.int32)
    return {"x": torch.zeros(n), "y": torch.zeros(n), "log": log, "n": n, "B": 64}


def test_a_jit_function_on_the_grids_where_it_holds() -> None:
    assert_kernel_is_permutation(resizable.by_eight, range(8, 33, 8), arguments)


def test_a_jit_function_fails_with_the_witness_of_each_grid() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_kernel_is_permutation(resizable.by_eight, [(16,), (20,), (9,)], arguments)
    message = str(caught.value)
    assert "on grid 16" not in message
    assert "Refused: `by_eight` on grid 9 is not a permutation" in message
    assert "by programs 1 and 16" in message


def test_what_tensors_hold_decides_on_a_list() -> None:
    given = {"x": torch.zeros(256), "y": torch.zeros(256), "n": 256, "B": 64}
    right = torch.tensor([2, 0, 3, 1], dtype=torch.int32)
    assert_kernel_is_permutation(resizable.by_a_list, [4], given | {"work": right})
    twice = torch.tensor([2, 0, 2, 1], dtype=torch.int32)
    with pytest.raises(AssertionError, match="elements of `y` are stored by several programs"):
        assert_kernel_is_permutation(resizable.by_a_list, [4], given | {"work": twice})


def test_an_argument_may_be_a_named_tuple_of_others() -> None:
    inner = namedtuple("Inner", ("x", "n"))(torch.zeros(256), 253)
    given = namedtuple("Given", ("scale", "inner"))(1, inner)
    arguments = {"given": given, "y": torch.zeros(253), "B": 64}
    assert_kernel_is_permutation(resizable.by_fields, [4], arguments)


@pytest.mark.parametrize(
    ("kernel", "grids", "given", "message"),
    [
        (len, [4], {}, "is not a jit function"),
        (
            resizable.anywhere,
            [4],
            {"n": 4},
            "the kernel cannot be called with these arguments: missing",
        ),
        (resizable.anywhere, [(1, 2, 3, 4)], {}, "is not a grid"),
        (resizable.anywhere, [0], {}, "is not a grid"),
    ],
)
def test_what_cannot_be_called_is_a_usage_error(
    kernel: object, grids: list[int], given: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        assert_kernel_is_permutation(kernel, grids, given)


def test_no_grid_proves_nothing() -> None:
    with pytest.raises(UsageError, match="no grid"):
        assert_kernel_is_permutation(resizable.anywhere, [], {})
