# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Golden files, written anew with `--update-golden`; results, held against their schema.

Tests that need a GPU run with `-m gpu`; all others see none, so they are the same everywhere.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from intelliperf_swizzle.history import History
from intelliperf_swizzle.progress import Silent
from intelliperf_swizzle.records import Attempt, Candidate
from intelliperf_swizzle.search.attempts import Attempts
from intelliperf_swizzle.search.evaluators import Evaluator, choose_evaluator
from intelliperf_swizzle.search.examine import choose_kernel, record_application
from intelliperf_swizzle.search.setup import RunContext
from intelliperf_swizzle.search.stages import Evaluated, EvaluationContext
from intelliperf_swizzle.search.subject import Subject

GOLDEN = Path(__file__).parent / "golden"
LONG = (
    "accuracy", "adversarial/test_hunt.py", "adversarial/test_hunt_programs.py",
    "adversarial/test_kills.py",
    "adversarial/test_order_of_all_launches.py", "adversarial/test_shared_functions.py",
    "adversarial/test_stopping.py", "agents", "api", "benchmark_kernels",
    "benchmark_tables/test_items.py", "capture/test_capture.py",
    "capture/test_compiled.py::test_torch_compile",
    "capture/test_later_launches.py::test_what_a_launch",
    "capture/test_memory_of_launches.py::test_a", "doctor/test_doctor.py::test_the_command",
    "documentation", "end_to_end",
    "gpu/test_padded.py", "gpu/test_trials.py", "cpp", "host/test_hip_program.py",
    "host/test_registration.py::test_f", "host/test_registration.py::test_the_hook",
    "host/test_run.py", "host/test_upstreaming.py",
    "ir/test_parse_ttir.py::test_every", "ir/test_parse_ttir.py::test_types",
    "language/test_emitters_agree.py", "llm/test_command.py",
    "llm/test_figures_with_models.py", "llm/test_hip_answers.py", "llm/test_loop.py", "loop",
    "overlay/test_apply.py::test_a_helper", "overlay/test_apply.py::test_an_app", "packaging",
    "search/test_application.py", "search/test_alternatives.py", "search/test_other_sizes.py",
    "search/test_uneven.py",
    "source_proofs/test_published_remaps.py", "source_proofs/test_sizes.py", "tile_loops",
    "validate/test_validate.py",
)  # fmt: skip
"""Where the tests take many seconds each."""
SHORT = (
    "accuracy/test_agreement.py", "agents/test_layout.py", "api/test_documented.py",
    "benchmark_kernels/test_kernel_launches.py::test_programs_depend", "cpp/test_arithmetic.py",
    "documentation/test_names_in_docstrings.py",
    "end_to_end/test_whole_command.py::test_a_run_that_fails",
    "end_to_end/test_whole_command.py::test_an_application_without",
    "loop/test_examine.py::test_what_writes_nowhere",
    "packaging/test_rocm_image.py::test_only_what",
    "tile_loops/test_factors.py",
)  # fmt: skip
"""Those of them that do not: every room has one, so `make test` looks into each."""
CAPTURE, REMAPS = "capture/test_capture.py::test_", "source_proofs/test_published_remaps.py::test_"
TRITON = (
    *(CAPTURE + test for test in (
        "an_application_in", "arguments", "sources", "contents", "kernels_that", "host_descriptors",
        "a_record_suffices", "dtypes", "a_kernel_that_cannot", "a_persistent", "our_own",
        "what_triton_takes",
    )),
    "capture/test_compiled.py", "capture/test_sources.py",
    "gpu/test_trials.py::test_a_cheat", "gpu/test_trials.py::test_another_order", "ir", "kernel",
    "overlay", *(REMAPS + test for test in ("proved", "refused", "undecided")), "tile_loops",
    "trace/test_trace.py::test_made_up", "validate/test_configs.py", "validate/test_pointers.py",
    "walk",
)  # fmt: skip
"""What the version of Triton may change; also of files that hold what it may not."""
RESULT_SCHEMA = Path(__file__).parents[1] / "docs" / "result.schema.json"
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # its scripts as modules


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["INTELLIPERF_SWIZZLE_NO_CACHE"] = "1"  # a test finds nothing of another
    compiled = Path.home() / ".cache" / "intelliperf-swizzle" / "compiled"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled))  # but for machine code
    os.environ["PIP_NO_COMPILE"] = "0"  # is yes: Python compiles what is imported
    if not _on_gpu(config) and any(Path(path).exists() for path in ("/dev/nvidiactl", "/dev/kfd")):
        os.environ.update(CUDA_VISIBLE_DEVICES="", HIP_VISIBLE_DEVICES="")


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        name = f"{item.path.relative_to(Path(__file__).parent)}::{item.name}"
        if name.startswith(LONG) and not name.startswith(SHORT):
            item.add_marker(pytest.mark.long)
        if name.startswith(TRITON):
            item.add_marker(pytest.mark.triton)
        if item.get_closest_marker("gpu") and not _on_gpu(config):
            item.add_marker(pytest.mark.skip(reason="needs a GPU, and `-m gpu`"))
    long = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in long)  # first, so that all processes end together


def _on_gpu(config: pytest.Config) -> bool:
    return str(config.option.markexpr) == "gpu"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of that name."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture
def read_result() -> Callable[[Path | str], Any]:
    """Reads a result, a file or its text, that follows the published schema."""
    import jsonschema

    schema = jsonschema.Draft202012Validator(json.loads(RESULT_SCHEMA.read_text(encoding="utf-8")))

    def read(result: Path | str) -> Any:
        text = result.read_text(encoding="utf-8") if isinstance(result, Path) else result
        fields = json.loads(text)
        schema.validate(fields)
        return fields

    return read


@dataclass
class Stages:
    """The stages of a run on one kernel, to be gone through one by one."""

    setup: RunContext
    subject: Subject
    history: History
    attempts: Attempts
    evaluator: Evaluator

    def screen(self, *candidates: Candidate) -> list[Attempt]:
        """Proves and screens; an attempt each."""
        return self.attempts.screen(candidates, self.attempts.prove(candidates))

    def evaluate(self, *attempts: Attempt) -> list[Evaluated]:
        """Edits and evaluates attempts that were screened."""
        numbers = {attempt.number for attempt in attempts}
        chosen = [
            attempt for attempt in self.attempts.screened if attempt.attempt.number in numbers
        ]
        return self.evaluator.evaluate(self.attempts.edit(chosen))

    def decide(self) -> Attempt | None:
        """The best of all that was screened, if one is better and holds."""
        chosen = self.evaluator.shortlist(self.attempts.screened, ())
        chosen = self.evaluator.choose(self.evaluator.evaluate(self.attempts.edit(chosen)))
        best = chosen and self.evaluator.settle(chosen, self.evaluator.count)
        return best.attempt if best else None


@pytest.fixture(scope="session")
def stages_on() -> Callable[..., AbstractContextManager[Stages]]:
    """The stages of a run on a setup; on a kernel that was looked at before, if it is given."""

    @contextmanager
    def open_stages(
        setup: RunContext, path: Path, subject: Subject | None = None, *, resume: bool = False
    ) -> Iterator[Stages]:
        if subject is not None:
            history = History(path, {}, resume=resume)
            context = EvaluationContext(subject, setup, history.record, Silent())
            evaluator = choose_evaluator(context, path.parent)
            yield Stages(setup, subject, history, Attempts(setup, subject, history), evaluator)
            history.close()
            return
        with record_application(setup, Silent()) as recorded:
            chosen = choose_kernel(recorded, setup, Silent())
            with open_stages(setup, path, chosen, resume=resume) as stages:
                yield stages

    return open_stages
