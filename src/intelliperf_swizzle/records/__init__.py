# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The nouns that rooms hand to each other; frozen, with the unit in the field's name."""

from __future__ import annotations

from intelliperf_swizzle.records.attempts import (
    Attempt,
    Candidate,
    Ceiling,
    Interval,
    Measurement,
    MissCauses,
    Timing,
    Usage,
    Validation,
    Verdict,
    VerdictKind,
)
from intelliperf_swizzle.records.cures import Cure, CureKind, Cures, Padding, longer_rows
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
from intelliperf_swizzle.records.pictures import (
    Picture,
    Placement,
    Raster,
    TensorAccess,
    TensorPicture,
    TilePicture,
)
from intelliperf_swizzle.records.proofs import Certificate, Proof, Witness
from intelliperf_swizzle.records.quantities import (
    LINE_BYTES,
    SECTOR_BYTES,
    Constants,
    Float64Array,
    Grid,
    Int32Array,
    Int64Array,
    Rate,
    UInt8Array,
)
from intelliperf_swizzle.records.runs import KernelSummary, Run
from intelliperf_swizzle.records.sizes import OtherSize, Sizes
from intelliperf_swizzle.records.traces import Access, MappedLaunch, Segment, Trace

__all__ = [
    "LINE_BYTES",
    "SECTOR_BYTES",
    "Access",
    "Argument",
    "Attempt",
    "Candidate",
    "Capture",
    "Ceiling",
    "Certificate",
    "Constants",
    "Counter",
    "Cure",
    "CureKind",
    "Cures",
    "DescriptorArgument",
    "DtypeArgument",
    "Float64Array",
    "FunctionArgument",
    "Grid",
    "Int32Array",
    "Int64Array",
    "Interval",
    "KernelSource",
    "KernelSummary",
    "Launch",
    "MappedLaunch",
    "Measurement",
    "MissCauses",
    "OtherSize",
    "Padding",
    "Picture",
    "Placement",
    "Proof",
    "Raster",
    "Rate",
    "Run",
    "Segment",
    "Sizes",
    "SourceFunction",
    "Storage",
    "TensorAccess",
    "TensorArgument",
    "TensorPicture",
    "TileLoop",
    "TilePicture",
    "Timing",
    "Trace",
    "UInt8Array",
    "Usage",
    "Validation",
    "Verdict",
    "VerdictKind",
    "Witness",
    "longer_rows",
]
