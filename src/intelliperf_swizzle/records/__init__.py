# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns that rooms hand to each other; frozen, with the unit in the field's name."""

from intelliperf_swizzle.records.attempts import (
    Attempt,
    ByHand,
    Candidate,
    Ceiling,
    Interval,
    Level,
    Measurement,
    MissCauses,
    Timing,
    Usage,
    Validation,
    Verdict,
    VerdictKind,
)
from intelliperf_swizzle.records.established import (
    Accuracy,
    Change,
    EqualWork,
    Established,
    Independence,
    Recommended,
    SameBytes,
)
from intelliperf_swizzle.records.launches import (
    Argument,
    Capture,
    Counter,
    DescriptorArgument,
    DtypeArgument,
    FunctionArgument,
    KernelSource,
    Launch,
    SourceFunction,
    Storage,
    TensorArgument,
    TileLoop,
)
from intelliperf_swizzle.records.quantities import (
    LINE_BYTES,
    SECTOR_BYTES,
    Certificate,
    Constants,
    Float64Array,
    Grid,
    Int32Array,
    Int64Array,
    Proof,
    Rate,
    UInt8Array,
    Witness,
)
from intelliperf_swizzle.records.runs import (
    Cure,
    CureKind,
    Cures,
    KernelSummary,
    OtherSize,
    Padding,
    Picture,
    Placement,
    Raster,
    Run,
    Sizes,
    TensorAccess,
    TensorPicture,
    TilePicture,
    longer_rows,
)
from intelliperf_swizzle.records.traces import Access, MappedLaunch, Segment, Trace
