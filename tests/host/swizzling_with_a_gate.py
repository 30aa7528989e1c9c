# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""Has IntelliPerf's own `swizzling` formula, patched, take answers of a language model.

Its pass runs as it is. Of it stand in: the model, what needs ROCm to be imported, and the state
that the passes before have left. Prints, for each answer, success and report of the pass.

    swizzling_with_a_gate.py KERNEL_FILE ANSWERS_JSON
"""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

CARD = {
    "kernel": "add_kernel.kd", "grid": 66 * 256, "workgroup": 256, "num_xcd": 8,
    "cu_per_gpu": 304, "l2": {"hr": 40.0},
}  # fmt: skip

for name, attribute in (("accordo", "Accordo"), ("intelliperf.core.gpu_spec", "GPUSpec")):
    sys.modules[name] = ModuleType(name)
    setattr(sys.modules[name], attribute, object)

from intelliperf.formulas import formula_base, swizzling  # noqa: E402

file, answers = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())


class Model:
    def __init__(self, **_):
        pass

    def ask(self, prompt, signature, answer_type=None):
        return "it reads and writes" if answer_type else SimpleNamespace(result_code=answers.pop(0))


class Spec:
    def __getattr__(self, name):
        return lambda: 8


formula_base.Formula_Base.__init__ = lambda self, *given: setattr(self, "num_attempts", given[-1])
swizzling.LLM, swizzling.GPUSpec = Model, Spec
swizzling.get_llm_api_key = lambda: "a key"
formula = swizzling.swizzling(
    "run", None, None, str(file.parent), ["python", "app.py"], 10, num_attempts=len(answers)
)
formula.provider, formula.model = "openai", "a model"
formula._initial_profiler_results = [{**CARD, "source": {"files": [str(file)]}}]
formula.find_kernel_file = lambda files, kernel: (files[0], file.read_text())
formula.compute_diff = lambda files: ""
original = file.read_text()
outcomes = []
while answers:
    file.write_text(original)
    result = formula.optimize_pass()
    written = file.read_text() != original
    outcomes.append([bool(result), result.error_report, written])
print(json.dumps(outcomes))
