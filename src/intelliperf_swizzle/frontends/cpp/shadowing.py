# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Puts a swizzle into a kernel's source: a local `blockIdx` that hides the builtin.

::

    __global__ void k(float* x) {    -->    __global__ void k(float* x) {
      x[blockIdx.x] = 0;                      // swizzle xcd-contiguous for mi300x
                                              int swizzle_pid = static_cast<int>(::blockIdx.x);
                                              …
                                              const dim3 blockIdx(swizzle_pid, …);
                                              x[blockIdx.x] = 0;

Macros, templates, lambdas and `hipBlockIdx_x` follow by themselves. A helper that reads `blockIdx`
gets the same lines, if no other kernel can use it. Which functions read it says the bitcode.
"""

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, count
from pathlib import Path

from intelliperf_swizzle import edit as edits
from intelliperf_swizzle.errors import SpliceError
from intelliperf_swizzle.frontends.cpp.code.block_index_reads import Reader
from intelliperf_swizzle.frontends.cpp.code.native import split_list
from intelliperf_swizzle.frontends.cpp.code.source import blank, closing, code_alone
from intelliperf_swizzle.frontends.cpp.compile.building import PROJECT, sources
from intelliperf_swizzle.frontends.cpp.record import device_code
from intelliperf_swizzle.frontends.cpp.record.preparing import recipe_of
from intelliperf_swizzle.frontends.emit import emit_cpp
from intelliperf_swizzle.hardware import Target
from intelliperf_swizzle.language import INPUTS, Swizzle
from intelliperf_swizzle.records import KernelSource, Launch, SourceFunction, launched_axes

_HIDING = "const dim3 blockIdx("
_BEFORE = ("reads `blockIdx` before its body, where no line can be put", "read it in the body")
_SHADOWS = re.compile(r"-W(shadow|everything)\b")
_BUILD_FILES = ("[Mm]akefile*", "*.mk", "*.mak", "CMakeLists.txt", "*.cmake", "*.ninja", "*.sh",
                "*.py")  # fmt: skip
_QUIET = (
    "#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wshadow"', "{}",
    "#pragma GCC diagnostic pop",
)  # fmt: skip


def splice(
    launches: Sequence[Launch], swizzle: Swizzle, target: Target, name: str, roots: Sequence[Path]
) -> edits.Edit:
    """Puts a swizzle into the source of a kernel; as of `frontends.ports.KernelLanguage.edit`.

    Raises:
        SpliceError: the number is read where the kernel's file cannot change it, where another
            kernel would be renumbered, too; or the file is not what was recorded.
    """
    kernel, recording = launches[0].source, device_code.recording_of(launches[0])
    file, recipe = kernel.entry.file, recipe_of(recording)
    program = _program(recording, (recording / "kernels.txt").stat().st_mtime_ns)
    text = _read_as_recorded(kernel.entry, recording)
    instances = [instance for _, instance in program if same_place(instance, kernel)]
    read = (instance.source.functions for instance in instances if instance.source)
    functions = {name: function for own in read for name, function in own.items()}
    kernels = {instance.source.entry.name for instance in instances if instance.source}
    readers = _readers(kernel, [instance for _, instance in program], functions)
    elsewhere = {reader.file: functions[reader.name] for reader in readers if reader.file != file}
    before = {file: text} | {
        path: _read_as_recorded(function, recording) for path, function in elsewhere.items()
    }
    code = {path: code_alone(text) for path, text in before.items()}
    inside = range(kernel.entry.first_line, kernel.entry.first_line + kernel.entry.text.count("\n"))
    for function in functions.values():
        if "lockIdx" in code_alone(function.text).partition("{")[0]:
            own = Reader(function.name, function.file, function.first_line, 0, ())
            raise _refusal(own, *_BEFORE)
    helpers = [reader for reader in readers if reader.file != file or reader.line not in inside]
    texts = sources(Path(recipe.project)) if len(before) > 1 else ()
    _check_mentions(helpers, functions.values(), chain(code.items(), (
        (str(path), code_alone(text)) for path, text in texts
    )))  # fmt: skip
    bodies = {r: _body(code[r.file], r) for r in readers if r.name.isidentifier()}
    reading = (reader for reader in readers if reader.reads)
    changed = {r if r in bodies else _around(r, code[r.file], bodies) for r in reading}
    only = recorded_alone(launches, program)
    quiet = _QUIET if _warns_of_shadows(recipe.project, str(recipe.build_command)) else ("{}",)
    words = edits.headline(name, target.name), "".join(before.values())
    lines = _lines(swizzle, target, launches, *words, only)
    lines[-1:] = [form.format(lines[-1]) for form in quiet]
    knows_all = not (only or swizzle.names.difference(INPUTS))
    passed = {reader.name for reader in changed if not knows_all and reader.name not in kernels}
    places = {(body.file, bodies[body].start) for body in bodies if body.name not in passed
              and (body in changed or (passed and body.name in kernels))}  # fmt: skip
    after = {
        path: _change(text, code[path], [at for own, at in places if own == path], lines, passed)
        for path, text in before.items()
    }
    diff = edits.unified_diff(before, after, edits.patch_root(file, roots or (Path(file).parent,)))
    return edits.Edit(functions={}, files=after, before=before, diff=diff)


def inserted_lines(edit: edits.Edit) -> set[str]:
    """The lines of an edit that may read the builtin, as `file:line`."""
    prefix = _free_prefix("".join(edit.before.values()))
    return {
        f"{file}:{number}"
        for file, after in edit.files.items()
        for number, line in enumerate(after.split("\n"), 1)
        if prefix in line or line.strip().startswith(_HIDING)
    }


@functools.lru_cache(maxsize=8)
def _program(recording: Path, _: int) -> tuple[tuple[Path, device_code.DeviceKernel], ...]:
    return tuple(device_code.read_kernels(recording).values())


def _readers(
    source: KernelSource,
    program: Sequence[device_code.DeviceKernel],
    functions: Mapping[str, SourceFunction],
) -> list[Reader]:
    """The functions that read the number, none of which another kernel may use."""
    entry = source.entry
    own, others = (
        {(r.file, r.line, r.name): (r, k) for k in program if same_place(k, source) is mine
         for r in k.readers}
        for mine in (True, False)
    )  # fmt: skip
    if not any(reader.reads for reader, _ in own.values()):
        raise SpliceError(
            f"{entry.file}:{entry.first_line}: kernel `{entry.name}` never reads `blockIdx`",
            hint="a kernel that does not number its workgroups has nothing to swizzle",
        )
    for key, (reader, _) in own.items():
        for read in reader.reads:
            if read.through:
                raise SpliceError(
                    f"{read.place}: `{reader.name}` reads the workgroup's index through "
                    f"`{read.through}`, which a patch of the kernel cannot replace",
                    hint="read it from `blockIdx`",
                )
        if reader.file != entry.file and reader.name not in functions:
            raise _refusal(reader, "reads `blockIdx` in a file that is not the project's")
        if key in others:
            used = others[key][1].source
            what = f"`{used.entry.name}`" if used else "another kernel"
            why = f"reads `blockIdx` and is used by {what} too, which would be renumbered with it"
            raise _refusal(reader, why, "give the kernel a separate copy")
    return [reader for reader, _ in own.values()]


@functools.lru_cache(maxsize=8)
def _warns_of_shadows(project: str, command: str) -> bool:
    """Whether a build warns of a variable that hides another one, which may be an error."""
    files = (file for pattern in _BUILD_FILES for file in Path(project).rglob(pattern))
    texts = (file.read_text("utf-8", "replace") for file in files if file.is_file())
    return any(map(_SHADOWS.search, chain((command, *os.environ.values()), texts)))


def _refusal(reader: Reader, why: str, hint: str = "pass the number to the helper") -> SpliceError:
    return SpliceError(f"{reader.file}:{reader.line}: `{reader.name}` {why}", hint=hint)


def _check_mentions(
    helpers: Sequence[Reader], functions: Iterable[SourceFunction], texts: Iterable[tuple[str, str]]
) -> None:
    """Refuses a helper that texts name outside of the functions that the kernel consists of.

    A template may name it, of which there is no kernel now, or another program of the project.
    """
    own = {(f.file, line) for f in functions
           for line in range(f.first_line, f.first_line + f.text.count("\n"))}  # fmt: skip
    for path, text in texts if helpers else ():
        for helper in helpers:
            name = re.escape(helper.name)
            code = re.sub(rf"__device__[^;{{}}=]*\b{name}\s*\([^;{{}}]*\)\s*;", blank, text)
            for found in re.finditer(rf"\b{name}\b", code):
                line = _line(code, found.start())
                if (path, line) not in own:
                    why = f"reads `blockIdx` and is named in {path}:{line} too, where another "
                    raise _refusal(helper, why + "kernel may use it")


def _read_as_recorded(entry: SourceFunction, recording: Path) -> str:
    recipe = recipe_of(recording)
    if not recipe.builds:
        raise SpliceError(
            f"the swizzled `{entry.name}` cannot be built and compared: no build command is known",
            hint="give it with -b/--build_command",
        )
    root = Path(recipe.project)
    if root in Path(entry.file).parents and not Path(entry.file).is_file():
        raise SpliceError(
            f"{entry.file}:{entry.first_line}: the build generates the file of `{entry.name}`, so "
            "a patch of it would be lost",
            hint="put the swizzle into what the file is generated from",
        )
    text = edits.read_exactly(Path(entry.file))
    copied = edits.place_in_copy(Path(entry.file), root, recording / PROJECT)
    if copied is None:
        raise SpliceError(
            f"{entry.file} lies outside {root}", hint="set -p to a folder that has both"
        )
    if _HIDING in text:
        raise SpliceError(
            f"{entry.file} already has a swizzle: a kernel in it declares its own `blockIdx`",
            hint="remove it, and run again",
        )
    recorded = entry.text.strip() in text.replace("\r\n", "\n")  # what lies around is no copy
    if copied.read_bytes() != text.encode() or not recorded:
        raise SpliceError(
            f"{entry.file} has changed since `{entry.name}` was recorded", hint="run again"
        )
    return text


# --- where it goes --------------------------------------------------------------------------------


def _body(code: str, reader: Reader) -> range:
    """Where the body of a function lies, in text without comments, strings and directives.

    Raises:
        SpliceError: it does not stand where the compiler has seen it: a macro has made it.
    """
    named = rf"\b{re.escape(reader.name)}\s*(?:<[^;{{}}]*?>)?\s*\("
    begin, depth = _offset(code, reader.line), 0
    head = re.compile(named).search(code, begin, _offset(code, reader.line + 1))
    at = head.end() - 1 if head else begin  # a macro makes the name
    while at < len(code) and (depth or code[at] not in "{;"):
        depth += (code[at] == "(") - (code[at] == ")")
        at += 1
    if not code.startswith("{", at) or _line(code, at) != reader.brace_line:
        raise _refusal(reader, "has a body that a macro generates", "write it out")
    before = code[head.end() if head else begin : at]
    if "lockIdx" in before or (not head and re.search(r"\b(?:struct|class)\b", before)):
        raise _refusal(reader, *_BEFORE)
    return range(at + 1, closing(code, at))


def _offset(text: str, line: int) -> int:
    return sum(len(row) + 1 for row in text.split("\n")[: line - 1])


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _around(reader: Reader, code: str, bodies: Mapping[Reader, range]) -> Reader:
    """The innermost function that a lambda stands in.

    Raises:
        SpliceError: it stands in none, or does not see what is declared in it.
    """
    begin, end = _offset(code, reader.line), _offset(code, reader.line + 1)
    around = [other for other, body in bodies.items()
              if other.file == reader.file and begin < body.stop and body.start < end]  # fmt: skip
    captures = re.findall(r"\[([^][]*)\]", code[begin : code.find("{", begin) + 1])
    if around and captures and not re.match(r"\s*(=|&\s*(,|$))", captures[-1]):
        why = f"is a lambda with the captures `[{captures[-1]}]` that reads `blockIdx`, and would "
        raise _refusal(reader, why + "not see that of its kernel", "write `[&]`, or pass it on")
    if around:
        return max(around, key=lambda other: bodies[other].start)
    raise _refusal(reader, "reads `blockIdx` outside of its kernel")


# --- what is put there ----------------------------------------------------------------------------


def _lines(
    swizzle: Swizzle,
    target: Target,
    launches: Sequence[Launch],
    comment: str,
    text: str,
    only: str | None,
) -> list[str]:
    axes = max((launched_axes(launch.grid) for launch in launches), default=1)
    given = [f"::blockIdx.{letter}" for letter in "xyz"]
    prefix = _free_prefix(text)
    code = emit_cpp(
        swizzle,
        range(axes),
        axes=axes,
        inputs={f"pid_{axis}": given[axis] for axis in range(axes)},
        prefix=prefix,
        **target.inputs,
    )
    only_name = f"{prefix}applies"
    numbers = []
    for axis, own in enumerate(given):
        new = f"static_cast<unsigned>({code.outputs[axis]})" if axis in code.outputs else own
        numbers.append(f"{only_name} ? {new} : {own}" if only and new != own else new)
    condition = [f"const bool {only_name} = {only};"] if only else []
    return [f"// {comment}", *code.lines, *condition, f"{_HIDING}{', '.join(numbers)});"]


def _free_prefix(text: str) -> str:
    """A prefix of names that nothing in a file has."""
    prefixes = ("swizzle_" if number == 1 else f"swizzle{number}_" for number in count(1))
    return next(prefix for prefix in prefixes if prefix not in text)


def _change(
    text: str, code: str, tops: Sequence[int], lines: Sequence[str], passed: AbstractSet[str]
) -> str:
    """A file with lines at the top of bodies; helpers that are passed the number get a parameter
    for it, and an argument wherever they are called."""
    changes = dict.fromkeys(tops, "")
    for name in passed:
        for found in re.finditer(rf"\b{re.escape(name)}\s*(?:<[^;{{}}()]*?>)?\s*\(", code):
            declared = re.search(r"__device__[^;{}=]*$", code[: found.start()])
            more = "" if code[found.end() :].lstrip().startswith(")") else ", "
            changes[found.end()] = f"{'const dim3 ' if declared else ''}blockIdx{more}"
    for at, word in sorted(changes.items(), reverse=True):
        text = text[:at] + word + text[at:] if word else _insert(text, code, at, lines)
    return text


def _insert(text: str, code: str, at: int, lines: Sequence[str]) -> str:
    """The text with lines at the top of a body; the line ends and the indentation are its own."""
    ending = "\r\n" if "\r\n" in text else "\n"
    end = text.find("\n", at) + 1 or len(text)
    head = text[text.rfind("\n", 0, at) + 1 :]
    margin = head[: len(head) - len(head.lstrip(" \t"))] + "  "
    if code[at:end].strip():  # the body goes on in this line
        block = "".join(f"{ending}{margin}{line}" for line in lines)
        return f"{text[:at]}{block}{ending}{margin}{text[at:].lstrip(' ')}"
    following = next((line for line in text[end:].splitlines() if line.strip()), "")
    if len(following) - len(following.lstrip(" \t")) >= len(margin) - 1:
        margin = following[: len(following) - len(following.lstrip(" \t"))]
    return text[:end] + "".join(f"{margin}{line}{ending}" for line in lines) + text[end:]


# --- the instances of a template ------------------------------------------------------------------


_PARAMETER = re.compile(r"(typename|class|[\w:]+(?: [\w:]+)*) (\w+)(?: ?=.*)?$")
_LOCAL = re.compile(r"Z(?:\d+\w+?|N\w+?E\w*?)E(?:\d|U|s)")
"""In a kernel's symbol: a type that is declared in a function, and has no name outside of it."""
_NUMBER = re.compile(r"(?:\((.+)\))?(-?\w+|'.+')$")


def same_place(kernel: device_code.DeviceKernel, source: KernelSource) -> bool:
    """Whether a compiled kernel is of the kernel that this text is of; a template has several."""
    if kernel.source is None:
        return False
    entry, other = kernel.source.entry, source.entry
    return (entry.file, entry.first_line) == (other.file, other.first_line)


def recorded_alone(
    launches: Sequence[Launch], program: Sequence[tuple[Path, device_code.DeviceKernel]]
) -> str | None:
    """The condition in C++ under which an instance is a recorded one; None if all of them are.

    Args:
        launches: all of one kernel.
        program: its kernels, each with its file.

    Raises:
        SpliceError: there is no such condition.
    """
    source = launches[0].source
    paths = {launch.options["device_kernel"] for launch in launches}
    own = [(str(path) in paths, kernel) for path, kernel in program if same_place(kernel, source)]
    others = [kernel for recorded, kernel in own if not recorded]
    program_of = next((kernel.differs_in for _, kernel in own if kernel.differs_in), None)
    if not (others or program_of):
        return None
    arguments = [
        [_arguments(k.instance) for known, k in own if known is has] for has in (True, False)
    ]
    local = any(_LOCAL.search(kernel.code.symbol, 2) for recorded, kernel in own if recorded)
    condition = None if local or program_of else _condition(_parameters(source), *arguments)
    if condition is None:
        entry = source.entry
        which = f"{entry.name} of {program_of}" if program_of else others[0].instance
        raise SpliceError(
            f"{entry.file}:{entry.first_line}: `{entry.name}` shares its source with `{which}`, "
            "which was not recorded and would be renumbered, too",
            hint="run the application so that it launches both, or copy the source for one of them",
        )
    return condition


def _condition(
    parameters: Sequence[tuple[str, str]],
    recorded: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
) -> str | None:
    """What holds of the recorded instances alone, by their template arguments; None = nothing."""
    every = (*recorded, *others)
    if any(len(arguments) != len(parameters) for arguments in every):
        return None
    varying = [k for k in range(len(parameters)) if len({arguments[k] for arguments in every}) > 1]
    chosen, rest = ({tuple(a[k] for k in varying) for a in some} for some in (recorded, others))
    terms = [[_equals(parameters[k], arguments[k]) for k in varying] for arguments in recorded]
    if chosen & rest or any(None in term for term in terms):
        return None
    return " || ".join(dict.fromkeys(f"({' && '.join(map(str, term))})" for term in terms))


def _parameters(source: KernelSource) -> list[tuple[str, str]]:
    """Kind and name of each parameter of a template; none if it is not a plain one."""
    text = source.entry.text
    head = re.match(r"\s*template\s*<", text)
    if head is None or re.search(r"\.\.\.|\btemplate\b", text[head.end() : text.find("(")]):
        return []
    found = [_PARAMETER.match(" ".join(part.split())) for part in split_list(text[head.end() :])]
    return [(match[1], match[2]) for match in found if match]


def _arguments(instance: str) -> list[str]:
    """The template arguments of an instance: `4` and `float` of `k<4, float>`."""
    _, opened, rest = instance.partition("<")
    return split_list(rest) if opened else []


def _equals(parameter: tuple[str, str], argument: str) -> str | None:
    kind, name = parameter
    if kind in ("typename", "class"):
        return f"__is_same({name}, {argument})" if re.fullmatch(r"[\w: *<>,]+", argument) else None
    number = _NUMBER.match(argument)
    if number is None:
        return None
    if number[1]:
        return f"static_cast<long long>({name}) == {number[2]}"
    if argument in ("true", "false"):
        return name if argument == "true" else f"!{name}"
    return f"{name} == {argument}"
