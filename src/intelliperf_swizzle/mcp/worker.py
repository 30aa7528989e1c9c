# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""The child process that does the work of one call: `python -m intelliperf_swizzle.mcp.worker`.

The first line of standard input is the call, `{"verb": …, "arguments": {…}}`. Lines of standard
output are progress, but the last: ANSWER and `{"answer": …}` or `{"error": …}`. SIGTERM, or the end
of standard input, ends it and all that it started.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

import intelliperf_swizzle
from intelliperf_swizzle import children, codec, edit, errors, mapping, proofs, records, stopping
from intelliperf_swizzle.report.causes import alternatives
from intelliperf_swizzle.report.files import read_run
from intelliperf_swizzle.report.pages import markdown
from intelliperf_swizzle.report.terminal import Lines

ANSWER = "\x1e"
"""Begins the line of the answer."""


def answer(verb: str, arguments: dict[str, Any], progress: Lines) -> dict[str, Any]:
    """What a verb comes to: its records as JSON; null is what is not known."""
    project = arguments.get("project_directory")
    if project is not None:
        os.chdir(project)  # so a patch is for this folder
    if verb == "report":
        return {"markdown": markdown(read_run(Path(arguments["result_file"])))}
    if verb == "optimize":
        arguments["output_file"] = f"{arguments['report_dir']}/optimize.json"
    bound = {**arguments.pop("constants", {}), **arguments.pop("parameters", {})}
    if verb == "prove":
        verdict = proofs.prove_with(**arguments, constants=bound)
        witness = list(mapping.describe(verdict)) if isinstance(verdict, records.Witness) else []
        known = {name: getattr(verdict, name, None) for name in ("extent", "condition")}
        return {"holds": not witness, "witness": witness, **known}
    found = getattr(intelliperf_swizzle, verb)(**arguments, **bound, progress=progress)
    if verb == "prove_source":
        return {
            "holds": all(proof.kind == "permutation" for proof in found),
            "launches": [codec.encode(proof) for proof in found],
        }
    if verb == "explain":
        return {"sections": found}
    if verb == "score":
        return {**codec.encode(found), "times": _times(found.baseline, found.attempt.measurement)}
    result: dict[str, Any] = codec.loads(Path(arguments["output_file"]).read_text(encoding="utf-8"))
    named = [Path(word).absolute() for word in arguments["command"]]
    roots = (Path.cwd(), *(path.parent for path in named if path.is_file()))
    for name in ("attempts", "picture"):  # they are in the file
        del result["swizzle"][name]
    return {
        **{name: result[name] for name in result if name not in ("initial", "optimized")},
        "diff": (diff := found.edit.diff if found.edit else ""),
        "apply_in": str(edit.patch_root(next(iter(found.edit.files)), roots)) if diff else None,
        "times": _times(found.baseline, found.best.measurement if found.best else None),
        "result_file": arguments["output_file"],
        "alternatives": list(alternatives(found)),
    }


def _times(before: records.Measurement, after: records.Measurement | None) -> dict[str, Any]:
    """Times before and after in ms, measured and modelled ones apart."""
    return {
        name: {"measured_ms": m and m.time_ms, "modelled_ms": m and m.modelled_time_ms}
        for name, m in (("before", before), ("after", after))
    }


def say(stream: TextIO, kind: str, what: object) -> None:
    """One line of the answer."""
    stream.write(f"{ANSWER}{codec.dumps({kind: what})}\n")
    stream.flush()


def main() -> int:
    """Does what the first line asks for."""
    call = codec.loads(sys.stdin.readline())
    # What anything here prints goes to standard error: the answers have standard output alone.
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with stopping.stopped_by_signals():
        threading.Thread(target=_end_with_server, daemon=True).start()
        try:
            answered = answer(call["verb"], call["arguments"], Lines(stream))
        except errors.SwizzleError as error:
            say(stream, "error", str(error))
        except OSError as error:
            say(stream, "error", f"{error.strerror or error} {error.filename or ''}".strip())
        except stopping.Interrupted as signaled:
            children.leave(signaled.exit_code)
        else:
            say(stream, "answer", answered)
    return 0


def _end_with_server() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
