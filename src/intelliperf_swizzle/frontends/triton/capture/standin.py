# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""`device="cuda"` on CPU tensors, for an application that is recorded on a machine without a GPU.

Every tensor says that it is on `cuda:0`, but those whose storage is known to be the host's: made
without a device, by `.cpu()` or from NumPy. (A `TorchFunctionMode` would be neater, but modes are
per thread and are not active inside `autograd.Function.backward`.)
"""

import contextlib
import functools
import types
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _device as torch_device

from intelliperf_swizzle.frontends.triton.capture import (
    random_memory,
    standin_cuda,
    standin_operators,
    unknown,
)
from intelliperf_swizzle.frontends.triton.capture.settings import Gpu

_Constructor: TypeAlias = Callable[..., torch.Tensor]

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)

NO_GRADIENTS = "without a GPU, what torch.compile launches for tensors with gradients is missing"

LARGE_OPERATIONS = 2e11
"""Matrix products above this are not computed; one of 4096³ takes a second on two cores."""


def install(gpu: Gpu, *, multiply: bool, on_skip: Callable[[str, str], None]) -> None:
    """Make torch behave as if there were one GPU.

    Args:
        gpu: what `torch.cuda` says that it is.
        multiply: whether large matrix products are computed like small ones.
        on_skip: called with "note" or "caution" and a sentence whenever something is left out.
    """
    _patch_tensor()
    _patch_constructors()
    _patch_devices()
    standin_cuda.install(gpu)
    _patch_compile(on_skip)
    _patch_products(None if multiply else on_skip)
    random_memory.patch_random()
    standin_operators.install()


# --- where a tensor is --------------------------------------------------------------------------


def is_cuda(device: object) -> bool:
    """Whether a device argument of any form names a GPU."""
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    if isinstance(device, str):
        return device.partition(":")[0] in ("cuda", "hip")
    return type(device) is int


def _real(device: object) -> object:
    return CPU if is_cuda(device) else device


def _is_host(tensor: torch.Tensor) -> bool:
    try:
        return getattr(tensor.untyped_storage(), "_on_host", False)
    except (NotImplementedError, RuntimeError):  # sparse and functional tensors have no storage
        return False


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    if isinstance(tensor, torch.Tensor):
        with contextlib.suppress(NotImplementedError, RuntimeError):
            tensor.untyped_storage()._on_host = True
    return tensor


def _patch_tensor() -> None:
    tensor = torch.Tensor
    real_device = torch._C.TensorBase.device.__get__
    real_to = tensor.to

    def device(self: torch.Tensor) -> torch.device:
        found = real_device(self)
        return CUDA if found.type == "cpu" and not _is_host(self) else found

    def cpu(self: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        return self if _is_host(self) else _on_host(self.clone())

    def cuda(self: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        return self.clone() if _is_host(self) else self

    def to(self: torch.Tensor, *arguments: object, **options: object) -> torch.Tensor:
        wanted = [options["device"]] if options.get("device") is not None else []
        wanted += [a for a in arguments if isinstance(a, (torch.device, str)) or type(a) is int]
        wanted += [a.device for a in arguments if isinstance(a, torch.Tensor)]
        if "device" in options:
            options["device"] = _real(options["device"])
        moved = real_to(self, *(_real(argument) for argument in arguments), **options)
        host = not is_cuda(wanted[0]) if wanted else _is_host(self)
        if moved is self and host != _is_host(self):
            moved = self.clone()
        return _on_host(moved) if host else moved

    tensor.device = property(device)
    tensor.is_cuda = property(lambda self: device(self).type == "cuda")
    tensor.is_cpu = property(lambda self: device(self).type == "cpu")
    tensor.get_device = lambda self: 0 if self.is_cuda else -1
    tensor.cpu, tensor.cuda, tensor.to = cpu, cuda, to
    tensor.pin_memory = lambda self, *_: self
    tensor.is_pinned = lambda self, *_: True
    tensor.record_stream = lambda self, stream: None


# --- making tensors -----------------------------------------------------------------------------

_LIKE = (
    *("empty_like", "zeros_like", "ones_like", "full_like"),
    *("rand_like", "randn_like", "randint_like"),
)
_NEW = ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided")


def _default_device() -> torch.device:
    """Where a tensor made without a device goes: `set_default_device`, `with torch.device`."""
    for mode in reversed(torch.overrides._get_current_function_mode_stack()):
        if isinstance(mode, torch_device.DeviceContext):
            return mode.wanted  # set by `_patch_devices`
    return CPU


def _patch_constructors() -> None:
    constructors = torch_device._device_constructors()
    for module in (torch, torch.fft, torch.signal.windows):
        for name, function in list(vars(module).items()):
            if isinstance(function, types.BuiltinFunctionType | types.FunctionType) and (
                function in constructors
            ):
                setattr(module, name, _place(function))
    for owner, names in ((torch, _LIKE), (torch.Tensor, _NEW)):
        for name in names:
            setattr(owner, name, _place(getattr(owner, name), like=True))
    for owner, name in (
        *((torch, name) for name in ("empty", "empty_like", "empty_strided")),
        *((torch.Tensor, name) for name in ("new_empty", "new_empty_strided")),
    ):
        setattr(owner, name, _clear(getattr(owner, name)))
    zeros = torch.zeros
    torch.zeros = lambda *arguments, **options: (  # whose pages take no memory until written
        zeros if "out" in options or "zeros" in standin_operators.overridden else torch.empty
    )(*arguments, **options)
    from_numpy = torch.from_numpy
    torch.from_numpy = lambda array: _on_host(from_numpy(array))


def _place(construct: _Constructor, *, like: bool = False) -> _Constructor:
    """A constructor that takes `device="cuda"`; if none is given, the default one decides.

    Args:
        construct: of torch.
        like: whether its tensor is by default where its first argument is.
    """

    @functools.wraps(construct)
    def placed(*arguments: object, **options: object) -> torch.Tensor:
        device = options.pop("device", None)
        options.pop("pin_memory", None)
        if device is not None:
            options["device"] = _real(device)
        first: Any = (arguments[0] if arguments else options["input"]) if like else None
        on_gpu = is_cuda(device or (first.device if like else _default_device()))
        with standin_operators.making(on_gpu=on_gpu):
            made = construct(*arguments, **options)
        return made if on_gpu else _on_host(made)

    return placed


def _clear(construct: _Constructor) -> _Constructor:
    """`empty` without chance: what was in the memory before must not differ from run to run."""

    @functools.wraps(construct)
    def make(*arguments: object, **options: object) -> torch.Tensor:
        made = construct(*arguments, **options)
        with torch.no_grad(), standin_operators.making(on_gpu=False):
            # large memory comes from the system, as zeros
            return made.zero_() if made.nbytes <= random_memory.LARGE_BYTES else made

    return make


# --- devices by other names ---------------------------------------------------------------------


def _patch_devices() -> None:
    context = torch_device.DeviceContext
    init = context.__init__

    def __init__(self: torch_device.DeviceContext, device: object) -> None:  # noqa: N807
        self.wanted = CUDA if is_cuda(device) else torch.device(device)
        init(self, _real(device))

    context.__init__ = __init__
    torch.get_default_device = _default_device
    torch.Generator = standin_cuda.Generator

    autocast = torch.autocast.__init__
    torch.autocast.__init__ = lambda self, device_type, *arguments, **options: autocast(
        self, "cpu" if is_cuda(device_type) else device_type, *arguments, **options
    )
    load = torch.load
    torch.load = lambda f, map_location=None, *arguments, **options: load(
        f, CPU if map_location is None else _real(map_location), *arguments, **options
    )


def _patch_compile(on_skip: Callable[[str, str], None]) -> None:
    """Memory for what is compiled. Tensors that require gradients need a device that torch was
    built for; what takes them runs uncompiled, also if all of a model had to be compiled."""
    torch._C._dynamo.guards._empty_strided_cuda = lambda shape, strides, dtype: torch.empty_strided(
        shape, strides, dtype=dtype, device=CUDA
    )
    look_at = FakeTensorMode.from_tensor

    def from_tensor(self: object, tensor: torch.Tensor, *given: Any, **options: Any) -> Any:
        if tensor.requires_grad:
            on_skip("caution", NO_GRADIENTS)
            raise NotImplementedError(NO_GRADIENTS)  # torch then runs the model uncompiled
        return look_at(self, tensor, *given, **options)

    FakeTensorMode.from_tensor = from_tensor
    compile_ = torch.compile
    torch.compile = lambda *given, **options: compile_(*given, **{**options, "fullgraph": False})


# --- what is too large to compute ---------------------------------------------------------------


def _patch_products(on_skip: Callable[[str, str], None] | None) -> None:
    """Replace torch's matrix products on the CPU.

    Those in float16 are computed in float32, as a GPU accumulates them: torch's own take a minute
    for 2048³, and more than a thousand times less in float32. Large ones are not known where
    `on_skip` is given: they are an application's own reference, and nothing else reads it.
    """
    sentence = "large matrix products of torch were not computed"
    library = torch.library.Library("aten", "IMPL")

    def multiply(name: str, factors: int) -> _Constructor:
        out_of_place = getattr(torch, name)

        def product(*operands: torch.Tensor, **options: object) -> torch.Tensor:
            left, right = operands[factors], operands[factors + 1]
            shape = (*left.shape[:-1], right.shape[-1])
            if on_skip and 2.0 * left.numel() * right.shape[-1] > LARGE_OPERATIONS:
                on_skip("note", sentence)
                return _not_computed(shape, left.dtype)
            wide = torch.float32 if left.dtype == torch.float16 else left.dtype
            out = torch.Tensor.new_empty(left, shape, dtype=wide)
            out_of_place(*(operand.to(wide) for operand in operands), out=out, **options)
            return out.to(left.dtype)

        return product

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that one of its kernels is replaced
        for name, factors in (("mm", 0), ("bmm", 0), ("addmm", 1), ("baddbmm", 1)):
            library.impl(name, multiply(name, factors), "CPU")
    standin_operators.libraries.append(library)

    attention = torch.nn.functional.scaled_dot_product_attention

    def scaled_dot_product_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *a: object, **o: object
    ) -> torch.Tensor:
        if on_skip and 4.0 * query.numel() * key.shape[-2] > LARGE_OPERATIONS:
            on_skip("note", sentence)
            return _not_computed((*query.shape[:-1], value.shape[-1]), query.dtype)
        return attention(query, key, value, *a, **o)

    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention


def _not_computed(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    made = torch.zeros(shape, dtype=dtype, device=CUDA)
    unknown.mark_tensor(made)
    return made
