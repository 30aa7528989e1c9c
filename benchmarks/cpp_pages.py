# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Writes docs/results/cuda.md, hip.md, cpp_programs.md and device_functions.md from the records.

    python benchmarks/cpp_pages.py

`cuda_kernels.py` makes the records of the model's accuracy; end-to-end runs on third-party programs
are `measured/cuda_programs.jsonl` (CUDA, measured), `records/hip_programs.json` (HIP, modelled;
`hip_programs.py` makes them) and `records/cpp_programs.json` (`cpp_programs.py` makes them). Which
device functions are known is in `records/device_functions.json` (`device_functions.py`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accuracy.comparison import ModelAccuracy
from accuracy.summary import scores, summarise
from cpp_programs import (
    DECIDED,
    DRAWN,
    FINAL,
    FURTHER,
    LAST,
    LATER,
    NEXT,
    OTHERS,
    SHARING,
    UNTRIED,
)
from cpp_programs import PROGRAMS as FIRST
from cuda_kernels import MEASURED, PREDICTIONS, TARGETS, compared, lines_of
from harness.render import generated, page, table
from hip_programs import PROGRAMS

PAGES = Path(__file__).parents[1] / "docs" / "results"
HIP_PROGRAMS = Path(__file__).parent / "records" / "hip_programs.json"
DEVICE_FUNCTIONS = Path(__file__).parent / "records" / "device_functions.json"
KNOWN = "known"
CPP_PROGRAMS = Path(__file__).parent / "records" / "cpp_programs.json"
HIP_HEADS = ("program", "kernel", "L2 hit rate %", "outcome")
PROGRAM_HEADS = (
    "program", "kernel", "GPU", "time, new / old (95 % interval)", "L2 hit rate %", "run, s",
    "why requests miss, modelled", "changed in the program",
)  # fmt: skip
ACCURACY_HEADS = (
    "kernel", "may it calibrate?", "spread of measured rates", "mean error", "worst", "τ",
    "rate lost by the model's choice", "pairs in the order of both times",
)  # fmt: skip


def main() -> int:
    """The pages."""
    for name, text in render().items():
        (PAGES / name).write_text(text, encoding="utf-8")
    return 0


def render() -> dict[str, str]:
    """The pages by name, from all records."""
    return {
        "cuda.md": cuda(), "hip.md": hip(), "cpp_programs.md": cpp_programs(),
        "device_functions.md": device_functions(),
    }  # fmt: skip


def device_functions() -> str:
    """The page on which device functions are known."""
    records = json.loads(DEVICE_FUNCTIONS.read_text(encoding="utf-8"))
    parts = []
    for language, found in records.items():
        reasons: dict[str, list[str]] = {}
        for name, why in found.items():
            report = re.sub(r"it uses `llvm\S+`, which", "it uses an intrinsic that", why or KNOWN)
            reasons.setdefault(report, []).append(f"`{name}`")
        known = reasons.pop(KNOWN, [])
        rows = sorted(reasons.items(), key=lambda reason: -len(reason[1]))
        parts += [
            f"## {language}",
            f"{len(known)} of {len(found)} are known.",
            table(("why not", "functions"), [(why, " ".join(names)) for why, names in rows]),
            f"Known: {' '.join(known)}.",
        ]
    return page(
        generated("cpp_pages.py"),
        "# Device functions",
        "Which device functions of CUDA and HIP the tool knows, of those that the headers we have "
        "declare, with numbers, vectors and pointers as parameters. `python benchmarks/"
        "device_functions.py` calls each in a kernel of its own, of overloads one, not of `char` "
        "where there is another. It is known if the kernel is traced and can be executed on the "
        "CPU. Of a kernel with another one the refusal, or a note, names what that is to the "
        "compiler, and its line.",
        *parts,
    )


def cpp_programs() -> str:
    """The page on programs that were not tried before."""
    records = json.loads(CPP_PROGRAMS.read_text(encoding="utf-8"))
    groups = [
        {program.folder for program in group}
        for group in (
            FIRST, DRAWN, OTHERS, FURTHER, (*LATER, *LAST), FINAL, SHARING, UNTRIED, DECIDED, NEXT
        )
    ]  # fmt: skip
    parts = [[record for record in records if record["folder"] in group] for group in groups]
    first, second, third, fourth, _, last, sharing, untried, decided, after = (
        f"{sum(program['kernel'] is not None for program in part)} of {len(part)} are answered"
        for part in parts
    )
    return page(
        generated("cpp_pages.py"),
        "# Public C++ programs",
        "Programs of [HeCBench](https://github.com/zjin-lcf/HeCBench) (f27000a) and "
        "[rocm-examples](https://github.com/ROCm/rocm-examples) (7dfb7d4), chosen before they were "
        "tried, unmodified, on problem sizes that a CPU executes in seconds; hit rates are "
        "modelled, for an MI300X or an H200. `python benchmarks/cpp_programs.py FOLDER` runs in "
        "the folder of each `intelliperf-swizzle -b BUILD --candidates 20 --num_attempts 2 "
        "--unittest_command CHECK -- COMMAND`, where CHECK is the command, that may print no "
        "`fail`, with ten minutes for each, half an hour for sixty-four of them. Most launches of "
        "such sizes take less time than launching does (5 µs each), which is no gain, so no patch "
        "was made but for two.",
        "## The first twenty",
        f"{first}: floydwarshall, gabor, lud and reverse2D after what refused them first was "
        "mended, laplace and upsample with libomp-22-dev installed, convolution1D on a smaller "
        "size than at first.",
        _programs(parts[0]),
        "## Twenty that were drawn",
        "Of all CUDA and HIP programs of HeCBench, without iso2dfd and those above, in the order "
        "that `random.seed(49)` gives, the first twenty that have their inputs in the repository "
        "and kernels of their own (not a library's), and whose size is not fixed for a large GPU. "
        f"{second}; at the first try, at ea2ea133, 13 were: gemv since with a size that its own "
        "assertions allow, myocyte since its functions are inlined. reverse never reads "
        "`blockIdx`, the kernels of assert store nothing, and workgroups of lda wait for locks.",
        _programs(parts[1]),
        "## Six of other collections",
        "One of each of [PolyBench-ACC](https://github.com/cavazos-lab/PolyBench-ACC) "
        "(70ea4ca), [gpu-rodinia](https://github.com/yuhc/gpu-rodinia) (9c10d3e), rocm-examples, "
        "[HPCTrainingExamples](https://github.com/amd/HPCTrainingExamples) (aaaa72d4), "
        "[SGEMM_CUDA](https://github.com/siboehm/SGEMM_CUDA) (60cba6f) and "
        "[cuda-samples](https://github.com/NVIDIA/cuda-samples) (c94ff366), with the commands of "
        f"their makefiles. {third}; at the first try, at 9e5a3e06, 2 were: gemm calls "
        "`cudaThreadSynchronize`, which CUDA 13 lacks, and the makefiles of nw and "
        "matrix_multiplication name the usual places of CUDA and ROCm.",
        _programs(parts[2]),
        "## Fourteen more",
        "Of [llm.c](https://github.com/karpathy/llm.c) (f1e2ace), "
        "[XSBench](https://github.com/ANL-CESAR/XSBench) (ba08e52), "
        "[RSBench](https://github.com/ANL-CESAR/RSBench) (34b6447), "
        "[BabelStream](https://github.com/UoB-HPC/BabelStream) (57637d5), "
        "[miniBUDE](https://github.com/UoB-HPC/miniBUDE) (570f66c), "
        "[HIP-Examples](https://github.com/ROCm/HIP-Examples) (cdf9d10), "
        "[code-samples](https://github.com/NVIDIA-developer-blog/code-samples) (72d62ec), "
        "[amd-lab-notes](https://github.com/amd/amd-lab-notes) (d0cc152), "
        "[CUDA_Freshman](https://github.com/Tony-Tan/CUDA_Freshman) (9799382), "
        "[mixbench](https://github.com/ekondis/mixbench) (236a0be) and collections above. "
        f"{fourth}; at the first try, at a495d4cb on two cores with twenty other processes, 5 "
        "were; XSBench is since `hipcc` includes `string.h`, prefix_sum with a size that its own "
        "check allows. Longer than ten minutes took llm.c (with `pip install nvidia-cublas`), "
        "RSBench, transpose and, with its launch not reached, miniBUDE. srad_v2 reads outside of "
        "its allocations, CUDA_Freshman is built with `-G`, mixbench needs `hip/hip_ext.h`.",
        _programs(parts[3]),
        "## Twenty-four of further authors",
        LATER_TEXT.format(
            collections=", ".join(
                f"[{name}](https://github.com/{name}) ({commit})"
                for name, commit in LATER_COLLECTIONS.items()
            ),
            answered=sum(program["kernel"] is not None for program in parts[4]),
            tried=len(parts[4]),
        ),
        _programs(parts[4]),
        "## The last twenty",
        "Of the collections above, chosen after all that was mended, and nothing mended for them; "
        f"most are of tutorials, and small. {last}, at the first try, at 1f8fe81e and 73149303; "
        "a machine of two cores had twenty other processes, and each took less "
        f"than {max(row['processor_seconds'] for row in parts[5]) + 1} s of processor time.",
        _programs(parts[5]),
        "## Twenty whose workgroups share",
        "Convolutions, stencils, products of matrices, transposes and attention of HeCBench, "
        "cuda-samples, PolyBench-ACC, code-samples, gpu-rodinia, rocm-examples and "
        "[cuda-gemm-from-scratch](https://github.com/philipfabianek/cuda-gemm-from-scratch) "
        f"(a98bcf4), chosen before they were tried. {sharing}, 17 at the first try, with a limit "
        "of seven to ten minutes on a machine of two cores with twenty other processes; sizes of "
        "HeCBench and PolyBench-ACC were made smaller once before that, for the check of "
        "convolution3D took longer. matrixT is since `hip/hip_cooperative_groups.h` is there. "
        "With what the hints name, heat2d (libomp-22-dev) is answered, and cuda-gemm-from-scratch "
        "(nvidia-cublas) builds; its first call of cuBLAS fails without a GPU, as reported.",
        _programs(parts[6]),
        "## Twenty more",
        UNTRIED_TEXT.format(answered=untried),
        _programs(parts[7]),
        "## Ten more",
        DECIDED_TEXT.format(answered=decided),
        _programs(parts[8]),
        "## Ten after these",
        NEXT_TEXT.format(answered=after),
        _programs(parts[9]),
    )


UNTRIED_TEXT = (
    "Of the collections above, chosen before they were tried; {answered}, on a machine of two "
    "cores with ten to twenty other processes. Of the first eighteen 11 were at the first try, at "
    "daec674a with four minutes for each, and bilateral is with libomp-22-dev, as the hint says. "
    "Mended since: all-pairs-distance uses cub, whose type in shared memory has a blank in its "
    "name; wyllie, which follows a list that it rewrites, is refused within a second, where its "
    "trace took minutes; the unit test of jacobi, of thousands of launches, costs the patch alone, "
    "not the run. matern, covariance and mergeSort took longer than the four minutes; of "
    "covariance one kernel of three is not traced within ten, as its verdict's table says. dct8x8 "
    "leaves numbers in shared memory for other lanes without a barrier, so its own check fails "
    "where lanes are not in step."
)


DECIDED_TEXT = (
    "Five of HeCBench, in the order of `random.seed(2949)` of those that have a size as argument, "
    "two of PolyBench-ACC, one each of gpu-rodinia, cuda-samples and "
    "[altis](https://github.com/utcs-scea/altis) (042e292), decided before they were tried, with "
    "five minutes for each on two cores with ten to seventeen other processes; {answered}, at the "
    "first try, at 1d1e00df, 5 were. Mended since: merge, whose volatile variables of shared "
    "memory were taken for global memory, and particlefilter, which calls `time` and leaves "
    "`time.h` to nvcc. ising needs libomp-22-dev, as the hint says. The own check of romberg fails "
    "on a CPU, as its lanes read each other's shared memory without a barrier; altis needs a "
    "toolkit of CUDA 12, as is said since, and has built with C++11 and with calls of CUDA 12 up "
    "to there."
)


NEXT_TEXT = (
    "Of the collections above: six among the first fifty of HeCBench in the order that "
    "`random.seed(4210)` gives, and one each of PolyBench-ACC, cuda-samples, llm.c and "
    "gpu-rodinia, decided before they were tried, with four minutes for each on two cores with "
    "three others at work. By the plain command, without the unit test, 3 of 10 were answered, at "
    "the first try: these, {answered} with a record here, and remap (`./main 100000 1`), whose run "
    "with the unit test took longer on a machine that was busier. The data of lr are not in its "
    "repository, the toolchain needs libomp-22-dev for bitpermute and nvidia-cublas for "
    "gelu_forward, as the hints say, and hybridsort includes `GL/glew.h`, which no hint names. "
    "Without a record: reduction adds up warps by `__reduce_add_sync`, which is not known, and is "
    "refused with the line; fsm and linearprobing took longer than the four minutes to be traced."
)


LATER_COLLECTIONS = {
    "CoffeeBeforeArch/cuda_programming": "8711be0",
    "brucefan1983/CUDA-Programming": "8b6c96b",
    "ROCm/hip-tests": "87c8a041",
    "ParRes/Kernels": "04248b66",
    "PacktPublishing/Learn-CUDA-Programming": "10bd9b5",
    "Liu-xiandong/How_to_optimize_in_GPU": "5d2def3",
    "olcf/hip-training-series": "5f09d5b",
    "olcf-tutorials/simple_HIP_examples": "a13f22b",
    "csc-training/hip-programming": "8104eba",
    "deeperlearning/professional-cuda-c-programming": "ee58310",
    "UoB-HPC/CloverLeaf": "ba256dc",
    "ENCCS/gpu-programming": "87fab1c",
    "TimmyLiu/hip_transpose": "1e36d8d",
    "maawad/hundred-kernels": "2cace5a",
    "leiteg/cuda-examples": "e307701",
    "KonstantinosChatziantoniou/StencilBenchmarks": "2d21caa",
    "a-hamdi/GPU": "a9b0a17",
    "ifromeast/cuda_learning": "52fa78b",
    "CodedK/CUDA-by-Example-source-code-for-the-book-s-examples-": "0824fae",
}
"""Of GitHub, with commits."""
LATER_TEXT = (
    "Of {collections}. {answered} of {tried} with a record are answered; of all twenty-four 14 "
    "were at the first try, at c05f716f and e86ea808. Mended are 3_shared_memory "
    "(`find_package(hip)` names `hipcc`), vector_addition (a build command with `nvcc` makes a "
    "project of both kinds CUDA's) and saxpy (what `make` tests runs on the stand-in). "
    "residual_forward fails as cuBLAS finds no GPU; hip_transpose needs `hip/` before "
    "`hip_runtime.h`, hundred-kernels rocThrust, Kernels hipBLAS, as the hints say; "
    "04-histogram includes a file that is not there. Tried without this script: "
    "matrix_transpose_with_SM of hip-programming, for which there is a patch since a parameter "
    "may be called `height` (the program itself as unit test passed), seven that were answered "
    "at once, CloverLeaf, which uses a member of `hipDeviceProp_t` that HIP 6 removed, and "
    "reduceInteger, which was not waited for."
)


def _without_answer(record: Mapping[str, Any]) -> str:
    if record["exit_status"] is None or "processor_seconds" not in record:
        return "not in ten minutes"
    return f"ended by hand, after {record['processor_seconds']} s of processor time"


def _programs(records: Sequence[Mapping[str, Any]]) -> str:
    return table(
        ("program", "commit", "build", "command", "answer"),
        [
            [
                record["folder"].removeprefix("HeCBench/src/"), record["commit"],
                f"`{record['build']}`",
                f"`{record['command']}`", "<br>".join(record["said"]) or _without_answer(record),
            ]
            for record in records
        ],
    )  # fmt: skip


def hip() -> str:
    """The page on HIP."""
    records = json.loads(HIP_PROGRAMS.read_text(encoding="utf-8"))
    commits = ", ".join(sorted({record["commit"] for record in records}))
    builds = ", ".join(sorted({f"`{record['build_command']}`" for record in records}))
    same = sum(record["same_inside_intelliperf"] for record in records)
    missing = sorted(
        {f"`{program}`" for program in PROGRAMS} - {f"`{record['program']}`" for record in records}
    )
    return page(
        generated("cpp_pages.py"),
        "# Third-party HIP programs",
        f"The HIP examples of [IntelliPerf](https://github.com/AMDResearch/intelliperf) {commits}, "
        f"unmodified, built by their own command ({builds}: CMake with `LANGUAGES HIP`) without "
        "ROCm, for an MI300X; hit rates are modelled. `python benchmarks/hip_programs.py CHECKOUT` "
        "makes the records. "
        f"`intelliperf --formula=swizzle` gave the same answer as `intelliperf-swizzle` for {same} "
        f"of {len(records)}. Each swizzle is proved a permutation and passed all "
        "[gates](../hip.md#what-happens-to-your-program).",
        table(HIP_HEADS, [row for record in records for row in _hip_rows(record)]),
        *([f"Without a record: {', '.join(missing)}."] if missing else []),
    )


def _hip_rows(record: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """A program's row, or one for each of its kernels."""
    command = f"`{record['command'].removeprefix('./build/')}`"
    if "error" in record:
        hints = [line for line in record["error"] if line.startswith("hint: ")]
        yield command, "", "", (hints or record["error"])[-1].removeprefix("hint: ")
    for kernel in record.get("kernels", ()):
        rates = [kernel[f"{name}_l2_hit_rate"] for name in ("baseline", "best")]
        shown = " → ".join(f"{100 * rate:.1f}" for rate in rates if rate is not None)
        yield command, f"`{kernel['kernel']}`", shown, kernel["note"] or kernel["verdict"]


def cuda() -> str:
    """The page on CUDA."""
    programs = lines_of(MEASURED / "cuda_programs.jsonl")
    names = [program["program"] for program in programs]
    programs = sorted(programs, key=lambda program: names.index(program["program"]))
    return page(
        generated("cpp_pages.py"),
        "# CUDA C++ on GPUs",
        "## Third-party CUDA programs",
        "End-to-end runs of the plain command, with kernels unmodified and built by nvcc 13.0. All "
        "candidates left the same bytes. Raw records: "
        "`benchmarks/measured/cuda_programs.jsonl`.",
        table(PROGRAM_HEADS, map(_program_row, programs)),
        "## Accuracy of the model",
        "The twelve kernels of `benchmarks/cuda`, each under eight mappings. No number of the "
        "model was fitted to any of them. Every other kernel by name is kept to judge the model, "
        "but the rule for who computes first was chosen with gemm_tiled on the H200 in view; on "
        "the H100 none of them had been measured by then. All but τ and pairs in percentage "
        "points; τ is Kendall's τ-b of modelled and measured rates, and pairs are of mappings "
        "whose times differ by over 2 %, timed alone and under `ncu`.",
        *(part for target in TARGETS for part in _accuracy(target)),
    )


def _accuracy(target: str) -> Iterator[str]:
    """A GPU's sentence and table."""
    pairs = lines_of(MEASURED / f"{target}_cuda.jsonl")
    accuracies = compared(pairs, lines_of(PREDICTIONS), target)
    both = summarise([outcome for found in accuracies.values() for outcome in found.outcomes])
    errors = ", ".join(
        f"{summarise(found.outcomes).mean_error_points:.1f} on those that {name}"
        for name, found in accuracies.items()
    )
    yield (
        f"**{target.upper()}**, {both.pairs} pairs of a measured and a modelled L2 hit rate: mean "
        f"absolute error {both.mean_error_points:.1f} points ({errors}), worst "
        f"{both.worst_error_points:+.1f} ({both.worst_pair}); modelled times put "
        f"{both.agreeing_times_of_both} of {both.different_times_of_both} pairs in order."
    )
    yield table(
        ACCURACY_HEADS,
        [row for name, found in accuracies.items() for row in _accuracy_rows(name, found)],
    )


def _program_row(record: Mapping[str, Any]) -> Sequence[str]:
    before, after = record["l2_hit_rate_pct"]
    ratio = record["new_over_old"]
    return (
        f"{record['repository']}, `{record['source']}`",
        f"`{record['kernel']}`",
        record["device"].split()[1],
        "no improvement found" if ratio is None else "{:.3f} ({:.3f} to {:.3f})".format(*ratio),
        f"{before:.1f}" if after is None else f"{before:.1f} → {after:.1f}",
        str(record["seconds"]),
        record["why_it_misses"].rstrip("."),
        record["changed"] or "nothing",
    )


def _accuracy_rows(name: str, found: ModelAccuracy) -> Iterator[Sequence[str]]:
    for outcome in found.outcomes:
        one = scores(outcome.pairs)
        yield (
            outcome.name,
            "yes" if name == "calibrate" else "no",
            f"{one.spread:.1f}",
            f"{one.mean_error:.1f}",
            f"{one.worst_error:+.1f}",
            "–" if one.tau is None else f"{one.tau:.2f}",
            f"{one.regret:.1f}",
            f"{one.agreeing_times_of_both} of {one.different_times_of_both}",
        )


if __name__ == "__main__":
    sys.exit(main())
