"""The rooms of the house: imports point one way (docs/architecture.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import brgcn

SOURCE = Path(brgcn.__file__).parent
# what each room may import besides itself
ALLOWED = {
    "errors": set(),
    "config": {"errors"},
    "graph": {"errors", "pyg"},
    "pyg": {"errors", "graph"},
    "receptive_field": {"errors", "graph"},
    "message_graph": {"errors", "graph"},
    "data": {"errors", "graph"},
    "ops": {"errors", "graph"},
    "nn": {"errors", "graph", "ops"},
    "tasks": {"errors", "config", "graph", "message_graph", "receptive_field", "ops", "nn", "data"},
    "figures": {"data"},
    "explain": {"errors", "figures", "graph", "nn", "data", "tasks"},
    "bench": {"errors", "figures", "graph", "receptive_field", "ops", "nn", "data", "tasks"},
    "experiments": {"errors", "config", "figures", "graph", "message_graph", "nn", "data", "tasks", "explain", "bench"},
    "cli": {"errors", "config", "data", "tasks", "experiments", "explain", "bench"},
    "__main__": {"cli"},
}


def test_imports_point_one_way() -> None:
    wrong = []
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
                if node.module == "brgcn":
                    modules = [f"brgcn.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            for module in modules:
                parts = module.split(".")
                if parts[0] == "brgcn" and len(parts) > 1 and parts[1] not in ALLOWED[room] | {room}:
                    wrong.append(f"{path.relative_to(SOURCE)} imports {module}")
    assert not wrong


def _loaded(code: str, module: str) -> bool:
    script = f"import sys; {code}; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1] == "True"


def test_help_does_not_wait_for_torch() -> None:
    assert not _loaded("import brgcn.cli", "torch")


def test_training_loads_only_what_it_needs() -> None:
    for module in ("pyoxigraph", "torch_geometric", "pandas", "matplotlib", "numba", "triton"):
        assert not _loaded("import brgcn.tasks, brgcn.nn, brgcn.data.loading", module)


def test_triton_is_imported_where_its_kernels_are_and_nowhere_else() -> None:
    users = {path.relative_to(SOURCE).parent for path in SOURCE.rglob("*.py") if "import triton" in path.read_text()}
    assert users <= {Path("ops/gpu")}


def test_every_public_name_can_be_imported() -> None:
    import brgcn.data

    for module in (brgcn, brgcn.data):
        for name in module.__all__:
            assert getattr(module, name) is not None
