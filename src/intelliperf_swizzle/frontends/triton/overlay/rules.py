# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""What `runtime` reads of a swizzle, and the environment in which it applies a file of them."""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from intelliperf_swizzle.frontends.emit import emit_triton
from intelliperf_swizzle.frontends.triton.overlay import runtime
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import Swizzle
from intelliperf_swizzle.records import Launch, launched_axes

OVERLAY_MODULE = Path(runtime.__file__)
"""What applies swizzles when Triton compiles; it can be vendored."""
_STARTUP = Path(__file__).parents[1] / "capture" / "startup"
_INDUCTOR = "TORCHINDUCTOR_CACHE_DIR"


def rules_of(
    launch: Launch,
    swizzle: Swizzle,
    target: Target,
    configs: Sequence[Mapping[str, object]] = (),
    text: str = "",
) -> tuple[Mapping[str, object], ...]:
    """A swizzle for the kernel of a launch, as an entry of a file of swizzles.

    It is for what `configs` say that is compiled in alone, if there are some. A kernel whose loop
    takes tiles by a number is compiled from its text with the swizzle in it, as `runtime` renumbers
    programs.

    Empty if the kernel cannot be known again, if there is no such text, or if `configs` have values
    that are not known yet when it is compiled.
    """
    named = {n for config in configs for n, v in config.items() if "[" in n or isinstance(v, float)}
    late = named - {*launch.constexprs, *launch.source.computed}
    if not launch.source.identity or (launch.loop and not text) or late:
        return ()
    described = [
        {n.replace(".dtype.", "."): getattr(v, "name", v) for n, v in c.items()} for c in configs
    ]
    rule: dict[str, object] = {**launch.source.identity, "swizzle": swizzle.text}
    rule |= {"target": target.name, "configs": described}
    if launch.loop:
        return ({**rule, "text": text[text.index("def ") :]},)
    axes = launched_axes(launch.grid)
    code = emit_triton(swizzle, range(axes), axes=axes, **target.inputs)
    outputs = {str(axis): expression for axis, expression in code.outputs.items()}
    reads = sorted(swizzle.names & launch.constants.keys())
    return ({**rule, "lines": code.lines, "outputs": outputs, "reads": reads},)


def applying(swizzles: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """An environment in which every Python applies a file of swizzles once it imports Triton.

    `torch.compile` gets caches for these swizzles: its own know kernels by their text alone.
    """
    digest = hashlib.sha256(swizzles.read_bytes()).hexdigest()[:16]
    caches = environment.get(_INDUCTOR) or Path(tempfile.gettempdir()) / "torchinductor"
    return {
        **environment,
        runtime.VARIABLE: str(swizzles.resolve()),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_STARTUP), environment.get("PYTHONPATH")])),
        _INDUCTOR: f"{caches}-{digest}",
    }
