# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Who judges candidates: the cache model, a profiler of the host, or the GPU.

Without a GPU hit rates are modelled, or read by a profiler that runs the application, and outputs
are compared on the CPU. With one the model predicts, the hardware validates, times and decides.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from intelliperf_swizzle import rank
from intelliperf_swizzle.children import cores, on_all_cores
from intelliperf_swizzle.edit import Edit
from intelliperf_swizzle.errors import BuildError, ProfileError, ValidationError
from intelliperf_swizzle.frontends import ports
from intelliperf_swizzle.hardware.target import Build
from intelliperf_swizzle.profile.modelled import model_swizzle
from intelliperf_swizzle.records import Attempt, Candidate, Measurement, Verdict
from intelliperf_swizzle.search.builds import compare_builds, compiled_as, variants
from intelliperf_swizzle.search.stages import Edited, Evaluated, EvaluationContext, Screened
from intelliperf_swizzle.search.subject import with_causes
from intelliperf_swizzle.stopping import ahead, left, spent


def find_difference(edited: Edited, language: ports.KernelLanguage) -> str | None:
    """Where the edited kernel is another one, in a launch that is not traced or a configuration
    that no launch has; None also of a language that compares no code.

    Raises:
        ValidationError: the code of the unmodified kernel cannot be had.
    """
    if isinstance(language, ports.CodeComparer):
        return language.find_difference(edited.proved.placed(), edited.edit)
    return None


def model(context: EvaluationContext, screened: Screened, *, causes: bool = False) -> Measurement:
    """A candidate by the model with full physics, maybe with why requests miss."""
    traced, target, tiles = context.subject.traced, context.setup.target, screened.proved.tiles()
    return model_swizzle(screened.proved.swizzle, traced, tiles, target, causes=causes)


FEWEST_MODELLED = 20
"""However long a replay takes."""

WAVE = 4
"""Finalists that are replayed before it is asked which others can still win."""

IDLE_LINES = 500_000_000
"""Line accesses that are replayed without a better finalist before no more are."""


class OnModel:
    """Evaluates on the cache model, or with a profiler of the host, and validates on the CPU."""

    predicted = None

    def __init__(self, context: EvaluationContext):
        self._context, self._setup = context, context.setup
        self._validated: dict[int, Evaluated] = {}
        self._always: frozenset[int] = frozenset()

    @property
    def baseline(self) -> Measurement:
        """The unmodified kernel's."""
        return self._context.subject.baseline

    @property
    def confirmed(self) -> list[Evaluated]:
        """What was validated and is better."""
        ranked = self._in_order(self._validated.values())
        return [self._validated[attempt.number] for attempt in ranked if attempt.verdict.gains]

    def shortlist(self, screened: Sequence[Screened], always: Collection[int]) -> list[Screened]:
        """As many as the model can replay; with a profiler, as many as may be validated."""
        most = self._setup.options.num_attempts
        places = most if self._setup.profiler else self._context.places(FEWEST_MODELLED)
        chosen = rank.finalists([s.attempt for s in screened], places)
        if self._context.subject.baseline.imbalance is None:
            chosen = rank.distinct(chosen)
        self._always = frozenset(always if self._setup.profiler is None else ())
        numbers = {attempt.number for attempt in chosen} | self._always
        return [s for s in screened if s.attempt.number in numbers]

    def evaluate(self, edited: Sequence[Edited]) -> list[Evaluated]:
        """Measures each that has no measurement yet, as long as one can still win."""
        if not edited:
            return []
        context = self._context
        context.progress.phase(f"evaluating the finalists ({self.baseline.profiler})")
        by_number = {e.attempt.number: e for e in edited}
        waiting = rank.by_screen([e.attempt for e in edited if e.attempt.measurement is None])
        known = [e for e in edited if e.attempt.measurement is not None]
        done = [Evaluated(e.proved, e.attempt, e.edit) for e in known]
        while (waiting := self._could_still_win(waiting, done)) and not (done and spent(0.6)):
            wave = [by_number[attempt.number] for attempt in waiting[:WAVE]]
            waiting = waiting[WAVE:]
            with ThreadPoolExecutor(1 if self._setup.profiler else cores()) as pool:
                for edit, read in zip(wave, pool.map(self._measure, wave), strict=True):
                    done.append(self._evaluate(edit, read))
                    leader = (self._in_order(done) or [done[-1].attempt])[0]
                    context.progress.step(len(done), len(edited), leader.verdict.reason)
        return done

    def _could_still_win(self, waiting: list[Attempt], done: Sequence[Evaluated]) -> list[Attempt]:
        """Those that can still win, none after `IDLE_LINES`; all where a profiler decides."""
        if self._setup.profiler:
            return waiting
        attempts, read = [e.attempt for e in done], self.baseline
        best = self._in_order(done)
        since = attempts[::-1].index(best[0]) if best else len(done)
        if since * self._context.subject.line_accesses > IDLE_LINES:
            return []
        tells_time = self._context.subject.tells_time(self._setup.target)
        by_hits = not tells_time and read.imbalance is None and read.modelled_time_ms
        needed = read.l2_hit_rate + rank.MODEL_RATE_ERROR if by_hits else None
        reach = rank.could_still_win(waiting, attempts, self._setup.formula.rank, needed)
        numbers = {attempt.number for attempt in reach} | self._always
        return [attempt for attempt in waiting if attempt.number in numbers]

    def _in_order(self, evaluated: Iterable[Evaluated]) -> list[Attempt]:
        return rank.order([e.attempt for e in evaluated], self._setup.formula.rank)

    def choose(self, evaluated: Sequence[Evaluated]) -> Evaluated | None:
        """The shortest of the best that are better, until `num_attempts` were refused."""
        better = [attempt for attempt in self._in_order(evaluated) if attempt.verdict.gains]
        refused = [e for e in self._validated.values() if not e.attempt.verdict.gains]
        if not better or len(refused) >= self._setup.options.num_attempts:
            return None
        number = rank.shortest(better).number
        return next((e for e in evaluated if e.attempt.number == number), None)

    def count(self) -> None:
        """Hardware measures nothing here."""

    def settle(self, chosen: Edited, counting: Callable[[], None]) -> Evaluated | None:
        """Validates what is not validated yet."""
        number = chosen.attempt.number
        known = self._validated.get(number)
        if known is None or known.attempt.candidate != chosen.attempt.candidate:
            known = self._validated[number] = self.validate(chosen)
        return known if known.attempt.verdict.gains else None

    def validate(self, change: Edited) -> Evaluated:
        """Builds and compares; one that is refused comes back with the reason."""
        context, attempt = self._context, change.attempt
        largest = context.subject.traced[0]
        context.progress.phase(f"validating {attempt.candidate.name}")
        try:
            with ThreadPoolExecutor(3) as pool:  # beside the child processes that validate
                building = pool.submit(self._build, change)
                comparing = pool.submit(find_difference, change, self._setup.language)
                swizzle, traced = change.proved.swizzle, context.subject.traced
                explaining = pool.submit(with_causes, attempt, swizzle, traced, self._setup.target)
                try:
                    outcome = self._setup.language.validate(
                        change.proved.mapped(),
                        change.edit,
                        tolerance=self._setup.options.accordo_absolute_tolerance,
                        budget_seconds=self._setup.options.validation_seconds,
                    )
                finally:
                    edited = building.result()
                difference = outcome.difference or comparing.result()
        except BuildError as error:
            return self._refuse(change, Verdict("does not build", str(error)))
        except ValidationError as error:
            return self._refuse(change, Verdict("not validated", str(error)))
        verdict = attempt.verdict
        if difference or not outcome.same_bits:
            verdict = Verdict("output differs", difference or "outputs differ")
            outcome = replace(outcome, same_bits=False, difference=difference)
        launches, built = len(context.subject.launches), edited[compiled_as(largest.launch)]
        build = compare_builds(largest, built, self._setup.target)
        outcome = replace(outcome, distinct_launches=launches, build=build)
        attempt = replace(
            explaining.result(), validation=outcome, verdict=verdict, diff=change.edit.diff
        )
        if verdict.gains:
            attempt = context.unit_test.judge(attempt, change.edit)
        return Evaluated(change.proved, context.remember(attempt), change.edit)

    def _build(self, edited: Edited) -> dict[str, Build]:
        """The edited kernel in each way in which it is launched; raises BuildError."""
        build, target = self._setup.language.build, self._setup.target
        launches = variants([traced.launch for traced in self._context.subject.traced])
        return {compiled_as(launch): build(launch, target, edited.edit) for launch in launches}

    def _evaluate(self, edited: Edited, measured: Measurement | ProfileError) -> Evaluated:
        if isinstance(measured, ProfileError):
            return self._refuse(edited, Verdict("not measured", str(measured)))
        subject, target = self._context.subject, self._setup.target
        launch_ms, known = subject.launch_ms(target), subject.tells_time(target)
        verdict = rank.judge(measured, self.baseline, launch_ms, tells_time=known)
        attempt = replace(edited.attempt, measurement=measured, verdict=verdict)
        return Evaluated(edited.proved, self._context.remember(attempt), edited.edit)

    def _measure(self, new: Edited) -> Measurement | ProfileError:
        traced, profiler = self._context.subject.traced, self._setup.profiler
        try:
            return profiler.measure(traced, new.edit) if profiler else model(self._context, new)
        except ProfileError as error:
            return error

    def _refuse(self, edited: Edited, verdict: Verdict) -> Evaluated:
        attempt: Attempt = self._context.remember(replace(edited.attempt, verdict=verdict))
        return Evaluated(edited.proved, attempt, edited.edit)


S = TypeVar("S", bound=Screened)
_Run: TypeAlias = Callable[[Mapping[int, Edit]], Mapping[int, ports.GpuOutcome]]

LEADERS = 4
"""Fastest attempts whose hit rates are measured, of which one is chosen; and how many are tried at
all where a limit leaves little time."""
HURRIED = 0.4
"""Part of a limit (--seconds) after which that is so; behind twice that nothing is counted, nor
where that would take longer than what is left."""
UNHURRIED_SECONDS = 40.0
"""So it is, too, where less is left: to try out, count and confirm many takes about as long."""


class OnGpu:
    """Evaluates edited kernels in their application, on the GPU.

    Args:
        context: of the run; its subject has the model's baseline.
        runs: runs the kernel's edits there.
        measured: candidates that may be validated and timed in one evaluation.
    """

    def __init__(self, context: EvaluationContext, runs: ports.GpuRuns, measured: int):
        self._context, self._setup = context, context.setup
        self._runs = runs
        self._measured = measured
        self._profiler = self._setup.profiler
        self._evaluated: dict[int, Evaluated] = {}
        self.baseline = context.subject.baseline
        self.predicted = replace(self.baseline, time_ms=None)
        self._is_counted = False
        self._settled: dict[tuple[int, Candidate], Evaluated] = {}
        self._count: Callable[[Sequence[Edit]], list[Measurement]] | None = None
        self._in_replay = False
        self._confirmed: Callable[[], Mapping[int, ports.GpuOutcome]] | None = None

    @property
    def confirmed(self) -> list[Evaluated]:
        """First what was settled, then, unless the user's test is still to judge them, leaders; of
        these the one that is chosen comes first."""
        judged = self._context.subject.is_traced and not self._context.unit_test.runs
        leaders = self._leaders() if judged else []
        first = filter(None, [self.choose(leaders)])
        return [*reversed(self._settled.values()), *first, *leaders]

    def shortlist(self, screened: Sequence[Screened], always: Collection[int]) -> list[Screened]:
        """Those that the model predicts best with full physics, and some of every kind; the
        finalists, if all of them can be tried."""
        by_number = {s.attempt.number: s for s in screened}
        most = LEADERS if (hurried := _is_hurried()) else self._measured
        hurried = hurried or not self._context.subject.is_traced
        places = most // 2 if hurried else self._context.places(most // 2)
        chosen = rank.finalists([s.attempt for s in screened], places)
        numbers = {**dict.fromkeys(attempt.number for attempt in chosen), **dict.fromkeys(always)}
        if hurried or len(numbers) <= most:
            return [by_number[number] for number in [*numbers][:most]]
        self._context.progress.phase("predicting the finalists (model)")
        predicted = self._predict([s for s in screened if s.attempt.number in numbers])
        by_number.update((s.attempt.number, s) for s in predicted)
        attempts = [s.attempt for s in by_number.values()]
        best = rank.contenders(attempts, self.predicted, self._measured, always)
        return [by_number[attempt.number] for attempt in best]

    def evaluate(self, edited: Sequence[Edited]) -> list[Evaluated]:
        """Validates and times all in one process."""
        waiting = [e for e in edited if e.attempt.number not in self._evaluated]
        if not waiting:
            return [self._evaluated[e.attempt.number] for e in edited]
        seconds = 6 + len(waiting) / 4
        self._tell(f"validating and timing {len(waiting)} candidates on the GPU", seconds)
        runs, tool = self._runs, None if self._count or _is_hurried() else self._profiler
        if tool and isinstance(runs, ports.ReplayedRuns) and not runs.why_not_replayed:
            self._count = tool.begin(self._context.subject.traced, runs.replay)
            self._in_replay = True
        with ThreadPoolExecutor(cores()) as pool:  # all beside a process that waits for the GPU
            running = pool.submit(self._run, waiting, self._runs.validate_and_time)
            looking = pool.map(self._look_for_flaws, waiting)
            verdicts = [*zip(self._predict(waiting), looking, strict=True)]
            outcomes = running.result()
        if reason := getattr(self._runs, "why_not_replayed", None):
            self._context.progress.note(f"tried in the application, not in a replay: {reason}")
        for change, verdict in verdicts:
            if verdict is None:
                self._judge(change, outcomes[change.attempt.number])
            else:
                self._keep(change, replace(change.attempt, verdict=verdict))
        self._is_counted = False
        return [self._evaluated[e.attempt.number] for e in edited]

    def _tell(self, sentence: str, seconds: float) -> None:
        self._context.progress.phase(sentence + f", about {seconds:.0f} s" * (seconds >= 1))

    def _look_for_flaws(self, edited: Edited) -> Verdict | None:
        """The refusal of an edit that is not what was proved, as far as that shows unexecuted."""
        try:
            flaw = find_difference(edited, self._setup.language)
        except ValidationError as error:
            return Verdict("not validated", str(error))
        return Verdict("output differs", flaw) if flaw else None

    def choose(self, evaluated: Sequence[Evaluated]) -> Evaluated | None:
        """The shortest of the fastest that are better; of those that are to be counted."""
        numbers = {e.attempt.number for e in evaluated}
        leaders = [leader.attempt for leader in self._leaders() if leader.attempt.number in numbers]
        return self._evaluated[rank.shortest(leaders[:LEADERS]).number] if leaders else None

    def settle(self, chosen: Edited, counting: Callable[[], None]) -> Evaluated | None:
        """What was chosen, maybe under a guard, confirmed in the application; None if it fails.

        Meanwhile a replay is counted, if `counting` is what waits for that; each lets the other
        have the GPU.
        """
        number, candidate = chosen.attempt.number, chosen.attempt.candidate
        if (number, candidate) in self._settled:
            counting()
            return self._settled[number, candidate]
        looked = ahead(lambda: self._look_for_flaws(chosen))
        self._confirmed = self._confirm(chosen) if self._in_replay else None
        counting()
        self.count()
        confirmed = self._confirmed() if self._confirmed else None
        if self._evaluated[number].attempt.verdict.kind == "not measured":
            return None
        confirmed = confirmed or self._confirm(chosen)()
        measured = self._evaluated[number].attempt.measurement
        done = self._keep(chosen, replace(chosen.attempt, measurement=measured))
        judged = self._judge(done, confirmed[number])
        if judged.attempt.verdict.gains:
            judged = self._keep(done, self._context.unit_test.judge(judged.attempt, done.edit))
        if verdict := looked():
            self._keep(chosen, replace(chosen.attempt, verdict=verdict))
            return None
        known = judged if judged.attempt.verdict.gains else None
        self._settled.update({(number, candidate): known} if known else {})
        return known

    def _confirm(self, edited: Edited) -> Callable[[], Mapping[int, ports.GpuOutcome]]:
        """Begins to; what waits for it."""
        seconds = 6 + self._context.recording_seconds / 5  # it is under way, its kernels compiled
        self._tell(f"confirming {edited.attempt.candidate.name}", seconds)
        return ahead(lambda: self._run([edited], self._runs.confirm))

    def _predict(self, screened: Sequence[S]) -> list[S]:
        """What the model says of them, on all cores; that decides nothing."""
        return [
            replace(s, attempt=self._context.remember(attempt)) if attempt else s
            for s, attempt in zip(screened, on_all_cores(self._prediction, screened), strict=True)
        ]

    def _prediction(self, screened: Screened) -> Attempt | None:
        """The attempt with what the model says of it; None if it has that."""
        if screened.attempt.predicted is not None or not self._context.subject.is_traced:
            return None
        predicted = model(self._context, screened, causes=True)
        last = rank.judge(predicted, self.predicted)
        verdict = Verdict("screened out", f"predicted, not measured: {last.kind}, {last.reason}")
        return replace(screened.attempt, predicted=predicted, verdict=verdict)

    def _run(self, edited: Sequence[Edited], run: _Run) -> Mapping[int, ports.GpuOutcome]:
        edits = {e.attempt.number: e.edit for e in edited}
        try:
            return run(edits) if edits else {}
        except ValidationError as error:
            return {number: ports.GpuOutcome(("not validated", str(error))) for number in edits}

    def _judge(self, edited: Edited, outcome: ports.GpuOutcome) -> Evaluated:
        validation, timing = outcome.validation, outcome.timing
        if validation is not None:
            validation = replace(validation, distinct_launches=len(self._context.subject.launches))
        attempt = replace(edited.attempt, validation=validation)
        if outcome.refusal is not None or timing is None:
            kind, reason = outcome.refusal or ("not measured", "no times were taken")
            return self._keep(edited, replace(attempt, verdict=Verdict(kind, reason)))
        self.baseline = replace(self.baseline, time_ms=timing.original_ms.median)
        counted = attempt.measurement or attempt.predicted or self.predicted
        measurement = replace(counted, time_ms=timing.time_ms.median, timing=timing)
        if attempt.measurement is None and not self._context.subject.is_traced:
            return self._judge_uncounted(edited, attempt, replace(measurement, profiler="model"))
        return self._judge_time(edited, replace(attempt, diff=edited.edit.diff), measurement)

    def _judge_uncounted(self, edited: Edited, attempt: Attempt, timed: Measurement) -> Evaluated:
        """By time alone, without a model; a gain has the unmodified kernel's hits until counted."""
        change = timed.timing.ratio.median - 1 if timed.timing else 0.0
        verdict = rank.judge(timed, self.predicted)
        verdict = replace(verdict, reason=f"time {change:+.1%}, hit rate not measured")
        known = timed if verdict.gains else None
        attempt = replace(attempt, diff=edited.edit.diff, measurement=known, verdict=verdict)
        return self._keep(edited, attempt)

    def _judge_time(self, edited: Edited, attempt: Attempt, measurement: Measurement) -> Evaluated:
        same = measurement.profiler == self.baseline.profiler
        verdict = rank.judge(measurement, self.baseline if same else self.predicted)
        return self._keep(edited, replace(attempt, measurement=measurement, verdict=verdict))

    def count(self) -> None:
        """Reads the hit rates of leaders and of the unmodified kernel, if they are not known.

        They stay modelled if nothing leads and no profiler was asked for, or it does not work, or a
        limit leaves no time.
        """
        most = LEADERS if self._context.subject.is_traced else None
        leaders = [(leader, leader.attempt.measurement) for leader in self._leaders()[:most]]
        new = [leader for leader, known in leaders if known and known.profiler == "model"]
        profiler, traced = self._profiler, self._context.subject.traced
        asked = self._context.setup.options.profiler != "auto"
        wanted = new or (asked and self.baseline.profiler == "model")
        seconds = 9 if self._count else (1 + len(new)) * self._context.recording_seconds
        rest = None if asked or not most else left(1.0)
        late = rest is not None and (rest < seconds or spent(2 * HURRIED))
        if profiler is None or self._is_counted or not wanted or late:
            return
        self._is_counted = True  # measured rates put others in front
        self._tell(f"profiling original and {len(new)} leaders ({profiler.name})", seconds)
        count, self._count, edits = self._count, None, [leader.edit for leader in new]

        def counted(edit: Edit | None) -> Measurement | ProfileError:
            try:
                return profiler.measure(traced, edit)
            except ProfileError as error:
                return error

        found: list[Measurement | ProfileError] = []
        try:
            found += count(edits) if count else ()
        except ProfileError as error:
            self._context.progress.note(f"measured in the application, not in a replay: {error}")
        _ = found or (self._confirmed and self._confirmed())  # it leaves no GPU to the application
        first, *read = found or map(counted, (None, *edits))  # a replay, else the application
        if isinstance(first, ProfileError):
            if (asked and not new) or not most:
                raise first
            self._context.progress.note(f"hit rates are modelled, times measured: {first}")
            self._profiler = None
            return
        self.baseline = replace(first, time_ms=self.baseline.time_ms, causes=self.predicted.causes)
        for top, seen in zip(new, read, strict=True):
            if isinstance(seen, ProfileError):
                self._is_counted = False  # the next leaders are to be
                self._keep(top, replace(top.attempt, verdict=Verdict("not measured", str(seen))))
            else:
                known = self._evaluated[top.attempt.number].attempt.measurement or self.predicted
                times = {name: getattr(known, name) for name in ("time_ms", "timing", "causes")}
                self._judge_time(top, top.attempt, replace(seen, **times))

    def _leaders(self) -> list[Evaluated]:
        """The candidates that are better by the GPU's times, best first."""
        timed = [e.attempt for e in self._evaluated.values() if e.attempt.verdict.gains]
        return [self._evaluated[a.number] for a in rank.order(timed, self._setup.formula.rank)]

    def _keep(self, edited: Edited, attempt: Attempt) -> Evaluated:
        kept = Evaluated(edited.proved, self._context.remember(attempt), edited.edit)
        self._evaluated[attempt.number] = kept
        return kept


Evaluator: TypeAlias = OnModel | OnGpu
"""Judges candidates against the unmodified kernel."""


def _is_hurried() -> bool:
    return spent(HURRIED) or (left(1.0) or UNHURRIED_SECONDS) < UNHURRIED_SECONDS


def choose_evaluator(context: EvaluationContext, folder: Path) -> Evaluator:
    """The GPU if the application runs on one, else the model (or the profiler that was asked for).

    Args:
        context: of the run.
        folder: for what is exchanged with the application's process on a GPU.

    Raises:
        ValidationError: the unit test does not pass without a swizzle.
    """
    setup = context.setup
    context.unit_test.check(context.progress)
    if setup.device is None or not isinstance(setup.language, ports.GpuLanguage):
        return OnModel(context)
    runs = setup.language.on_gpu(
        setup.record_request(folder),
        (setup.device, setup.target),
        [(t.launch, t.trace) for t in context.subject.traced],
        tolerance=setup.options.accordo_absolute_tolerance,
    )
    return OnGpu(context, runs, setup.options.measure)
