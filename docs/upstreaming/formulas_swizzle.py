# SPDX-License-Identifier: MIT
"""Formula `swizzle`: renumber a kernel's workgroups so that those that share data meet in one L2.

Save this as `src/intelliperf/formulas/swizzle.py`; in `__main__.py` add `swizzle` to the choices of
`--formula` and, where the formula is imported:

	elif args.formula == "swizzle":
		from intelliperf.formulas.swizzle import swizzle

		formula = swizzle

The search is the package intelliperf-swizzle, which depends on NumPy, Numba and the like, and on
neither torch nor Triton. It works on copies: each candidate is proved a permutation, validated bit
for bit, and profiled, or modelled where no profiler may read counters; the result says which.
"""

import json
import logging
import os
import tempfile

from intelliperf.formulas.formula_base import Formula_Base, Result, write_results

try:
	from intelliperf_swizzle import optimize
	from intelliperf_swizzle.errors import SwizzleError
except ImportError:
	optimize, SwizzleError = None, Exception

INSTALL = "the formula `swizzle` needs the package intelliperf-swizzle: pip install <a checkout of intelliperf-swizzle>"


class swizzle(Formula_Base):
	def __init__(self, name, build_command, instrument_command, project_directory, app_cmd, top_n, **kwargs):
		super().__init__(name, build_command, instrument_command, project_directory, app_cmd, top_n, **kwargs)
		self._folder = tempfile.TemporaryDirectory()
		self._run = None
		self._failure = None
		self._options = {
			"project_directory": project_directory or ".",
			"build_command": build_command,
			"unittest_command": self.unittest_command,
			"num_attempts": self.num_attempts,
			"top_n": top_n,
			"model": self.model,
			"provider": self.provider,
			"report_dir": os.path.join(self._folder.name, "report"),
			"output_file": os.path.join(self._folder.name, "result.json"),
		}
		self._command = app_cmd

	def profile_pass(self):
		return Result(success=True)  # the search profiles, the baseline and each candidate

	def source_code_pass(self):
		return Result(success=True)

	def instrument_pass(self):
		return Result(success=True)

	def optimize_pass(self, target_kernel: str = None):
		"""
		Search for the best swizzle; the user's files stay as they are.

		Args:
		    target_kernel: Kernel to work on (default: those that could save most time)

		Returns:
		    Result: Fails if the package is missing, or the application or a tool failed
		"""
		if self._run is None and self._failure is None:
			try:
				if optimize is None:
					raise SwizzleError(INSTALL)
				self._run = optimize(self._command, kernel=target_kernel, **self._options)
			except SwizzleError as error:
				self._failure = str(error)
				logging.error(self._failure)
		if self._failure is not None:
			return Result(success=False, error_report=self._failure)
		return Result(success=True, asset={"log": str(self._run)})

	def build_pass(self, validate_build_result: bool = True):
		return Result(success=True)  # each candidate was built

	def correctness_validation_pass(self, accordo_absolute_tolerance: float = 1e-6):
		return Result(success=True)  # what was not validated is never the best

	def performance_validation_pass(self):
		return Result(success=True, asset={"log": str(self._run)})

	def write_results(self, output_file: str = None):
		"""
		Write the search's result, which has the fields of IntelliPerf's own, and update in place if asked to.
		"""
		with open(self._options["output_file"]) as file:
			results = json.load(file)
		if self.in_place:
			for backup in self._run.apply():
				logging.warning(f"the file before is {backup}")
		write_results(results, output_file)
