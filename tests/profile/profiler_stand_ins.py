# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Bodies of stand-ins for profilers: they run the application, then write what it launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NCU = """
if "--version" in sys.argv:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 36398880)")
    sys.exit(0)
options, words = {}, sys.argv[1:]
while words[0].startswith("--"):
    if words[0] == "--csv":
        words = words[1:]
    else:
        options[words[0]], words = words[1], words[2:]
metrics = options["--metrics"].split(",")
log = Path(options["--log-file"])
lines = [f"==PROF== Connected to process 1 ({words[0]})"]

FIXED = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size"]
OWN = ["launch__registers_per_thread", "launch__shared_mem_per_block_dynamic"]

def table():
    hits = int(Path("hits.txt").read_text()) if Path("hits.txt").exists() else 600
    both = {"lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex.sum"}
    passes = 3 if both <= set(metrics) or len(metrics) > BEHAVIOUR.get("at_once", 99) else 1
    said = ["profiler__replayer_passes"] if BEHAVIOUR.get("says_passes", True) else []
    header = BEHAVIOUR.get("header") or [*FIXED, *metrics, *OWN, *said]
    units = [""] * len(FIXED) + ["ns" if "time" in name else "" for name in metrics] + [""] * 3
    yield header
    yield units[: len(header)]
    hits_asked = any("lookup_hit" in name for name in metrics)
    shown = [launch for launch in BEHAVIOUR["launches"] if hits_asked or not launch.get("edited")]
    for number, launch in enumerate(shown):
        values = {
            "sectors_srcunit_tex_lookup_hit": round(hits * launch["share"]),
            "requests_srcunit_tex": 250, "sectors_srcunit_tex": 1000,
            "dram__bytes_read": 3200, "dram__bytes_write": 800, "time": 1000000,
        }
        missing = BEHAVIOUR.get("missing", "nothing")
        known = [next(values[name] for name in values if name in metric) for metric in metrics]
        counted = [
            "n/a" if missing in metric else f"{value:,}"
            for metric, value in zip(metrics, known)
        ]
        x, y, z = launch["grid"]
        block = launch["block"]
        yield [number, 1, launch["kernel"], f"({block}, 1, 1)", f"({x}, {y}, {z})", *counted,
               launch["registers"], f"{launch['shared']:,}", *[passes for _ in said]]

def write(rows):
    text = "".join(",".join(f'"{cell}"' for cell in row) + "\\n" for row in rows)
    cut = BEHAVIOUR.get("cut")
    log.write_text("\\n".join(lines) + "\\n" + (text[:-cut] if cut else text))

def end(*_):
    lines.append("==PROF== Trying to shutdown target application")
    write(table())
    os._exit(0)

import signal
if BEHAVIOUR.get("deaf"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
elif BEHAVIOUR.get("slow"):
    signal.signal(signal.SIGTERM, end)
ran = subprocess.run(words)
if BEHAVIOUR.get("slow") or BEHAVIOUR.get("deaf"):
    time.sleep(60)
if "error" in BEHAVIOUR:
    lines.append("==ERROR== " + BEHAVIOUR["error"])
    log.write_text("\\n".join(lines) + "\\n")
elif any(launch["kernel"] == options["--kernel-name"] for launch in BEHAVIOUR["launches"]):
    write(table())
else:
    lines += ["==WARNING== No kernels were profiled.", "Available Kernels:"]
    names = [launch["kernel"] for launch in BEHAVIOUR["launches"]]
    lines += [f"{number}. {name}" for number, name in enumerate(names, 1)]
    log.write_text("\\n".join(lines) + "\\n")
sys.exit(BEHAVIOUR.get("exit_code", ran.returncode))
"""


ROCPROFV3 = """
if "--version" in sys.argv:
    print("             version: 1.1.0\\n        git_revision: 0123\\n        rocm_version: 7.1.0")
    sys.exit(0)
assert sys.argv[1] == "-i" and sys.argv[3] == "--"
[job] = json.loads(Path(sys.argv[2]).read_text())["jobs"]
ran = subprocess.run(sys.argv[4:])
if len(job["pmc"]) > BEHAVIOUR.get("at_once", 99):
    print("Could not construct profile cfg failed with error code 38: "
          "Request exceeds the capabilities of the hardware to collect")
    sys.exit(BEHAVIOUR.get("exit_code", 1))
if "error" in BEHAVIOUR:
    print(BEHAVIOUR["error"])
    sys.exit(BEHAVIOUR.get("exit_code", 1))
hits = int(Path("hits.txt").read_text()) if Path("hits.txt").exists() else 600
folder = Path(job["output_directory"]) / "pass_1" / "host"
folder.mkdir(parents=True)

def counted(launch):
    own = round(hits * launch["share"])
    values = {"TCC_HIT_sum": own, "TCC_MISS_sum": 1000 - own, "TCC_REQ_sum": 1040,
              "TCC_EA0_RDREQ_sum": 400, "TCC_EA0_WRREQ_sum": 80}
    return {name: values[name] for name in job["pmc"]}

import re
wanted = re.compile(job["kernel_include_regex"])
shown = [launch for launch in BEHAVIOUR["launches"] if wanted.search(launch["kernel"])]
if job["output_format"] == ["csv"] and shown:
    lines = ["Dispatch_Id,Process_Id,Agent_Id,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Block_Size,"
             "VGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"]
    for number, launch in enumerate(shown, 1):
        x, y, z = launch["grid"]
        for name, value in counted(launch).items():
            lines.append(f"{number},1,Agent 4,{launch['kernel']},{x * y * z * launch['block']},"
                         f"{launch['block']},{launch['shared']},{launch['registers']},{name},{value},"
                         f"1000000,2000000")
    (folder / "1_counter_collection.csv").write_text("\\n".join(lines) + "\\n")
sys.exit(ran.returncode)
"""


def row(
    grid: Sequence[int] = (64, 1, 1),
    block: int = 128,
    *,
    kernel: str = "a_kernel",
    share: float = 1.0,
    shared: int = 0,
    registers: int = 32,
) -> dict[str, Any]:
    """A launch as a stand-in shows it; `share` scales how often it hits."""
    return {
        "kernel": kernel,
        "grid": list(grid),
        "block": block,
        "share": share,
        "shared": shared,
        "registers": registers,
    }
