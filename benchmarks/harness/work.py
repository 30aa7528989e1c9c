# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The kinds of item: a whole run on an application, the hit rates of given swizzles on it or on the
beginning of a long launch.

All take `application` (a path in `benchmarks/`), `arguments` and `target`, and return
plain JSON. Every hit rate here is modelled unless an item names a
profiler.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from intelliperf_swizzle.cache import Physics, replay, requests
from intelliperf_swizzle.cache.stream import stream_of
from intelliperf_swizzle.cache.traffic import misses_per_line
from intelliperf_swizzle.errors import UsageError
from intelliperf_swizzle.formulas import load_formula
from intelliperf_swizzle.hardware import Target, load_target
from intelliperf_swizzle.language import parse
from intelliperf_swizzle.mapping import describe, prove
from intelliperf_swizzle.options import Options
from intelliperf_swizzle.profile import TracedLaunch
from intelliperf_swizzle.profile.modelled import model_launches
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.propose import Proposer
from intelliperf_swizzle.propose.llm import LanguageModelProposer, Model, find_endpoint
from intelliperf_swizzle.propose.offline import OfflineProposer
from intelliperf_swizzle.records import Attempt, Int64Array, Measurement, Run, Witness
from intelliperf_swizzle.search.elsewhere import prove_on
from intelliperf_swizzle.search.examine import choose_kernel, examine_kernels, record_application
from intelliperf_swizzle.search.kernel import optimize_kernel
from intelliperf_swizzle.search.plan import Search
from intelliperf_swizzle.search.setup import RunContext, prepare
from intelliperf_swizzle.search.subject import Subject, with_rest

IDENTITY = "pid = pid"
BENCHMARKS = Path(__file__).resolve().parents[1]
DIGITS = 6
"""Of a rate in a record: more is noise of the last bits."""

Inputs = Mapping[str, Any]


def search(inputs: Inputs) -> dict[str, Any]:
    """A whole run: baseline, ceiling, all attempts, the proved and validated best.

    Inputs besides: `candidates` and `seed`; `profiler` where a GPU is to measure (one item at a
    time); for a language model `formula`, `model`, `provider` and `iterations`.
    """
    setup = setup_of(inputs)
    with (
        tempfile.TemporaryDirectory(prefix="swizzle-bench-") as folder,
        record_application(setup, Silent()) as recorded,
    ):
        [subject, *_], _ = examine_kernels(recorded, setup, Silent())
        proposers = [proposer_of(inputs)]
        one = Search(subject, setup, subject.kernel)
        run = optimize_kernel(one, recorded, proposers, Path(folder), Silent()).run
    in_the_way = None
    if setup.profiler is None:
        text = run.best.candidate.text if run.best else IDENTITY
        in_the_way = steps_down(text, subject.traced, setup.target)
    return {**summary(run), "in_the_way": in_the_way}


def proved_tiles(text: str, traced: Sequence[TracedLaunch], target: Target) -> list[Int64Array]:
    """A swizzle that is a permutation, as a mapping to all tiles of each trace."""
    proofs = prove_on(parse(text), [traced_launch.launch for traced_launch in traced], target)
    assert not isinstance(proofs, Witness)
    return [
        with_rest(proof.tile, traced_launch.trace)
        for proof, traced_launch in zip(proofs, traced, strict=True)
    ]


def steps_down(text: str, traced: Sequence[TracedLaunch], target: Target) -> dict[str, Any]:
    """What lies between the ceiling and the modelled hit rate of an order, as ever lower bounds.

    Returns:
        `each_l2_alone`: if every L2 missed only what it touches for the first time under this
        order; `in_step`: modelled, if workgroups did not drift apart.
    """
    tiles = proved_tiles(text, traced, target)
    misses = sum(
        first_touches(traced_launch, tile, target) * traced_launch.launch.count
        for traced_launch, tile in zip(traced, tiles, strict=True)
    )
    total = sum(
        requests(traced_launch.trace, target) * traced_launch.launch.count
        for traced_launch in traced
    )
    runs = [
        (traced_launch.trace, tile, traced_launch.launch.count, traced_launch.occupancy)
        for traced_launch, tile in zip(traced, tiles, strict=True)
    ]
    in_step = replay(runs, target, Physics(llc=False, drift=False))
    return {
        "each_l2_alone": rounded(1 - misses / total),
        "in_step": rounded(in_step.l2_hit_rate),
    }


def first_touches(traced: TracedLaunch, tile: Int64Array, target: Target) -> int:
    """Misses of a launch if each line missed once in each L2 whose tiles touch it."""
    stream = stream_of(traced.trace)
    lines = stream.unit_lines.astype(np.int64)
    cost = misses_per_line(target)[stream.ref_code]
    units = stream.plain_units
    domain = target.domain_of(np.arange(len(tile)))
    home = np.empty(stream.tiles, np.int64)
    home[tile] = domain
    where = np.repeat(home, np.diff(stream.tile_offset))
    misses = 0
    for number in range(target.num_xcds):
        here = where == number
        least = np.full(stream.units, np.iinfo(np.int64).max)
        np.minimum.at(least, units[here], cost[here])
        touched = least < np.iinfo(np.int64).max
        misses += int((lines[touched] * least[touched]).sum())
    return misses


def rates(inputs: Inputs) -> dict[str, Any]:
    """The modelled counters of given swizzles, or why they are no permutation.

    Inputs besides: `swizzles`, name -> text in the swizzle language; `occupancy` where it is not to
    be that of the compiled kernel.
    """
    target = load_target(inputs["target"])
    with examined(inputs) as subject:
        return {
            "grid": list(subject.traced[0].launch.grid),
            "occupancy": subject.traced[0].occupancy,
            "ceiling": rounded(subject.ceiling.l2_hit_rate),
            "unchanged": measured(subject.baseline),
            "swizzles": {
                name: rated(text, subject, target) for name, text in inputs["swizzles"].items()
            },
        }


def rated(text: str, subject: Subject, target: Target) -> dict[str, Any]:
    """One swizzle's counters, or the witness of the launch that refutes it."""
    verdict = prove_on(parse(text), subject.launches, target)
    if isinstance(verdict, Witness):
        return {"refused": list(describe(verdict)), "computed": rounded(verdict.computed_fraction)}
    proofs = dict(zip((launch.ordinal for launch in subject.launches), verdict, strict=True))
    tiles = [
        with_rest(proofs[traced_launch.launch.ordinal].tile, traced_launch.trace)
        for traced_launch in subject.traced
    ]
    return measured(model_launches(subject.traced, tiles, target))


def causes(inputs: Inputs) -> dict[str, Any]:
    """Why requests miss, by tensor: unmodified, and with the text `swizzle` of the inputs, if any.

    Modelled; None without a swizzle.
    """
    with examined(inputs) as subject:
        after = None
        if inputs["swizzle"] is not None:
            target = load_target(inputs["target"])
            tiles = proved_tiles(inputs["swizzle"], subject.traced, target)
            after = model_launches(subject.traced, tiles, target).causes
        return {
            "before": [asdict(cause) for cause in subject.baseline.causes or ()],
            "after": after and [asdict(cause) for cause in after],
        }


@contextmanager
def examined(inputs: Inputs) -> Iterator[Subject]:
    """The application's kernel, recorded and traced."""
    setup = setup_of(inputs)
    with record_application(setup, Silent()) as recorded:
        subject = choose_kernel(recorded, setup, Silent())
        if "occupancy" in inputs:
            subject = with_occupancy(subject, inputs["occupancy"], setup.target)
        yield subject


def with_occupancy(subject: Subject, occupancy: int, target: Target) -> Subject:
    """The kernel with so many workgroups per CU, where the published one is known to have them."""
    traced = tuple(replace(traced_launch, occupancy=occupancy) for traced_launch in subject.traced)
    unmodified = [np.arange(traced_launch.launch.programs) for traced_launch in traced]
    return replace(subject, traced=traced, baseline=model_launches(traced, unmodified, target))


def setup_of(inputs: Inputs) -> RunContext:
    """What the run that the inputs ask for works with; modelled unless they name a profiler."""
    application = BENCHMARKS / inputs["application"]
    options = Options(
        project_directory=str(application.parent),
        kernel=inputs.get("kernel"),
        candidates=inputs.get("candidates", Options.candidates),
        num_attempts=inputs.get("iterations", Options.num_attempts),
        seed=inputs.get("seed", 0),
        formula=inputs.get("formula", "swizzle"),
        profiler=inputs.get("profiler", "model"),
        compute="auto" if "profiler" in inputs else "never",
    )
    command = (sys.executable, str(application), *map(str, inputs.get("arguments", ())))
    return prepare(options, command, Silent(), target=load_target(inputs["target"]))


def proposer_of(inputs: Inputs) -> Proposer:
    """The offline search, or the language model that the inputs name."""
    if "model" not in inputs:
        return OfflineProposer()
    formula = load_formula(inputs["formula"])
    endpoint = find_endpoint(inputs["model"], inputs["provider"], False, os.environ)
    assert endpoint is not None, "checked before the work is handed out"
    model = Model(endpoint, formula.temperature, formula.budgets.answer_tokens, inputs["seed"])
    return LanguageModelProposer(formula, model, Silent())


def summary(run: Run) -> dict[str, Any]:
    """A run as JSON, without its pictures and files."""
    return {
        "kernel": run.kernel,
        "proposer": run.proposer,
        "profiler": run.profiler,
        "grid": list(run.grid),
        "constants": dict(run.constants),
        "launches": run.launches,
        "unchanged": measured(run.baseline),
        "ceiling": rounded(run.ceiling.l2_hit_rate),
        "ceiling_derivation": run.ceiling.derivation,
        "nothing_to_gain": run.nothing_to_gain,
        "best": None if run.best is None else _best(run.best),
        "attempts": [_tried(attempt) for attempt in run.attempts],
        "notes": list(run.notes),
    }


def measured(measurement: Measurement) -> dict[str, Any]:
    """The readings that tables show; None = not collected."""
    readings = asdict(measurement)
    rate: Callable[[str], float | None] = lambda name: rounded(readings[name])  # noqa: E731
    return {
        "l2_hit_rate": rate("l2_hit_rate"),
        "llc_hit_rate": rate("llc_hit_rate"),
        "memory_bytes": readings["memory_bytes"],
        "modelled_memory_time_ms": rate("modelled_memory_time_ms"),
        "time_ms": rate("time_ms"),
    }


def rounded(value: float | None) -> float | None:
    """A rate or a time without the noise of the last bits."""
    return None if value is None else round(value, DIGITS)


def _best(attempt: Attempt) -> dict[str, Any]:
    assert attempt.measurement is not None
    assert attempt.proof is not None
    validation = attempt.validation
    return {
        "number": attempt.number,
        "name": attempt.candidate.name,
        "origin": attempt.candidate.origin,
        "text": attempt.candidate.text,
        "measurement": measured(attempt.measurement),
        "extent": attempt.proof.extent,
        "condition": attempt.proof.condition,
        "validation": None if validation is None else asdict(validation),
    }


def _tried(attempt: Attempt) -> dict[str, Any]:
    reading = attempt.measurement
    return {
        "name": attempt.candidate.name,
        "iteration": attempt.candidate.iteration,
        "verdict": attempt.verdict.kind,
        "screened": rounded(attempt.screened_l2_hit_rate),
        "l2_hit_rate": None if reading is None else rounded(reading.l2_hit_rate),
    }


def opening(inputs: Inputs) -> dict[str, Any]:
    """Hit rates of one XCD over the first programs of a launch that is too long to be traced whole.

    The application launches the first tiles only; the orders are proved on the whole grid.

    Inputs besides: `grid`, the whole one; `programs`, so many of its launch indices are replayed,
    those of the first XCD; `constants`; `swizzles`, name -> text.
    """
    target = load_target(inputs["target"])
    grid = (inputs["grid"], 1, 1)
    physics = Physics(llc=False, domains=1)
    with examined(inputs) as subject:
        [one] = subject.traced
        first = np.arange(inputs["programs"])
        on_first_xcd = target.domain_of(first) == 0
        found = {}
        for name, text in inputs["swizzles"].items():
            proof = prove(
                parse(text),
                grid,
                inputs["constants"],
                num_xcds=target.num_xcds,
                cus_per_xcd=target.cus_per_xcd,
            )
            assert not isinstance(proof, Witness), name
            tile = np.where(on_first_xcd, proof.tile[: len(first)], 0)
            if tile.max() >= one.trace.tiles:
                raise UsageError(f"{name} needs tile {tile.max()} of {one.trace.tiles} traced")
            run = replay([(one.trace, tile, 1, one.occupancy)], target, physics)
            found[name] = rounded(run.l2_hit_rate)
        return {"occupancy": one.occupancy, "l2_hit_rate": found}
