# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""One list of options for two command lines, and a variable for each."""

from __future__ import annotations

import argparse

import pytest

from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.options import add_options, options_of


def parsed(*arguments, **variables):
    parser = argparse.ArgumentParser()
    environment = {f"INTELLIPERF_SWIZZLE_{name}": value for name, value in variables.items()}
    add_options(parser, host=False, environment=environment)
    return parser.parse_args(arguments)


def test_defaults_are_those_of_the_table():
    assert vars(parsed()) == {
        option.name: option.default for option in options_of("optimize", host=False)
    }


def test_variable_stands_in_where_the_option_is_not_given():
    options = parsed(
        "--seed", "3", SEED="2", CANDIDATES="5", LIMIT_SECONDS="1.5", RESUME="yes", TARGET="h200"
    )
    assert options.seed == 3
    assert options.candidates == 5
    assert options.limit_seconds == 1.5
    assert options.resume is True
    assert options.target == "h200"


@pytest.mark.parametrize("text", ["0", "false", "No", ""])
def test_flag_that_is_switched_off(text):
    assert parsed(RESUME=text).resume is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CANDIDATES", "0"),
        ("CANDIDATES", "many"),
        ("LIMIT_SECONDS", "soon"),
        ("COMPUTE", "perhaps"),
        ("RESUME", "perhaps"),
    ],
)
def test_bad_variable_is_named(name, text):
    with pytest.raises(UsageError, match=f"INTELLIPERF_SWIZZLE_{name} is `{text}`"):
        parsed(**{name: text})


def test_option_that_the_parser_owns_stays_its_own():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", default="theirs")
    added = add_options(parser, host=False, environment={"INTELLIPERF_SWIZZLE_SEED": "no number"})
    assert "seed" not in [action.dest for action in added]
    assert parser.parse_args([]).seed == "theirs"
