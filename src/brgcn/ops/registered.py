"""Fused operators as torch custom ops, so that torch.compile sees through them and autograd knows their gradients.

Each operator is a pair of functions, forward and backward, that every backend implements under the same name and
signature; ``FusedOp`` registers them as ``brgcn::numba_<name>`` and ``brgcn::triton_<name>``. Outside torch.compile the
same functions are called through a plain ``autograd.Function``: on small graphs the custom op's own bookkeeping would
take longer than the kernels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

ROOMS = {"numba": "brgcn.ops.cpu", "triton": "brgcn.ops.gpu"}


def fused_module(backend: str, name: str) -> Any:
    """What ``backend`` has under this name, imported when first needed."""
    return importlib.import_module(f"{ROOMS[backend]}.{name}")


class FusedOp:
    """One operator on all backends.

    Args:
        name: the operator; backends implement ``name`` and ``name_backward`` in their module ``module``.
        schema, backward_schema: their arguments and results.
        fake, fake_backward: results of the right shape without computing, for torch.compile.
        setup: (ctx, inputs, output) keeps what the backward pass needs.
        backward: (ctx, call, *gradients) calls ``call(...)``, the backward operator, and returns a gradient per input.
        backends: those that implement it.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *,
        schema: str,
        backward_schema: str,
        fake: Callable[..., Any],
        fake_backward: Callable[..., Any],
        setup: Callable[..., None],
        backward: Callable[..., Any],
        backends: Sequence[str] = tuple(ROOMS),
    ) -> None:
        self._registered: dict[str, Any] = {}
        self._direct: dict[str, Any] = {}
        for backend in backends:
            room = ROOMS[backend]
            forward, backward_function = _lazy(room, module, name), _lazy(room, module, f"{name}_backward")
            op = _define(f"{backend}_{name}", schema, forward, fake)
            backward_op = _define(f"{backend}_{name}_backward", backward_schema, backward_function, fake_backward)
            op.register_autograd(_bound(backward, backward_op), setup_context=_keyword(setup))
            self._registered[backend] = op
            self._direct[backend] = _function(forward, backward_function, setup, backward)

    def __call__(self, backend: str, *args: Any) -> Any:
        if torch.compiler.is_compiling():
            return self._registered[backend](*args)
        return self._direct[backend].apply(*args)


def op_of_two(name: str, fake: Callable[..., Any], backends: Sequence[str] = tuple(ROOMS)) -> FusedOp:
    """An operator of two tensors and index tables, (a, b, tables) -> out, in the module of its own name; its gradient
    needs both."""

    def setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        a, b, tables = inputs
        ctx.save_for_backward(a, b, *tables)

    def backward(ctx: Any, op: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        a, b, *tables = ctx.saved_tensors
        return (*op(grad.contiguous(), a, b, tables), [None] * len(tables))

    return FusedOp(
        name,
        name,
        schema="(Tensor a, Tensor b, Tensor[] tables) -> Tensor",
        backward_schema="(Tensor grad, Tensor a, Tensor b, Tensor[] tables) -> (Tensor, Tensor)",
        fake=fake,
        fake_backward=lambda grad, a, b, tables: (torch.empty_like(a), torch.empty_like(b)),
        setup=setup,
        backward=backward,
        backends=backends,
    )


def _lazy(room: str, module: str, name: str) -> Callable[..., Any]:
    """Imported when first needed: neither numba nor Triton is paid for by those who do not use it."""

    found: list[Callable[..., Any]] = []

    def run(*args: Any) -> Any:
        if not found:
            found.append(getattr(importlib.import_module(f"{room}.{module}"), name))
        return found[0](*args)

    return run


def _define(name: str, schema: str, run: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    op = torch.library.custom_op(f"brgcn::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(fake)
    return op


def _bound(backward: Callable[..., Any], op: Callable[..., Any]) -> Callable[..., Any]:
    def call(ctx: Any, *gradients: Any) -> Any:
        return backward(ctx, op, *gradients)

    return call


def _keyword(setup: Callable[..., None]) -> Callable[..., None]:
    def call(ctx: Any, inputs: Any, output: Any) -> None:
        setup(ctx, inputs, output)

    return call


def _function(
    run: Callable[..., Any], run_backward: Callable[..., Any], setup: Callable[..., None], back: Callable[..., Any]
) -> type[torch.autograd.Function]:
    class Direct(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:  # a setup_context of its own would cost a look at signatures per call
            output = run(*args)
            # index tables need none of what autograd does for saved tensors, and there are many of them
            ctx.tables = next(arg for arg in args if isinstance(arg, list))
            setup(ctx, tuple([] if isinstance(arg, list) else arg for arg in args), output)
            return output

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            def call(*args: Any) -> Any:
                return run_backward(*(ctx.tables if isinstance(arg, list) else arg for arg in args))

            # a list of tables is one argument here, and has no gradient
            return tuple(None if isinstance(g, list) else g for g in back(ctx, call, *gradients))

    return Direct
