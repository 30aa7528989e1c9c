# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns that rooms hand to each other; frozen, with the unit in the field's name."""

from intelliperf_swizzle.records.attempts import (
    Attempt, ByHand, Candidate, Ceiling, Interval, Level, Measurement,
    MissCauses, OtherSize, Sizes, Timing, Usage, Validation, Verdict,
)  # fmt: skip
from intelliperf_swizzle.records.launches import (
    NOT_RECORDED, Argument, Capture, Counter, DescriptorArgument, DtypeArgument, FunctionArgument,
    KernelSource, Launch, SourceFunction, Storage, TensorArgument, TileLoop, as_text, as_written,
    load_launch, save_launch,
)  # fmt: skip
from intelliperf_swizzle.records.quantities import (
    LINE_BYTES, SECTOR_BYTES, Access, Certificate, Constants, Float64Array, Grid,
    Int32Array, Int64Array, MappedLaunch, Proof, Rate, RemapKind, RemapVerdict, Segment, SizesTried,
    Trace, UInt8Array, Witness, launched_axes,
)  # fmt: skip
from intelliperf_swizzle.records.runs import (
    Accuracy, Alternative, AlternativeKind, Alternatives, Change, EqualWork, Established,
    Independence, KernelSummary, Padding, Picture, Placement, Raster, Recommended, Run,
    SameBytes, Score, TensorAccess, TensorPicture, TilePicture,
)  # fmt: skip
