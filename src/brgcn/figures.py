"""What all figures have in common. matplotlib is imported when the first one is drawn, and needs no display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.data.files import atomic_write

RESOLUTION = 120  # dots per inch
# Colours that people with any colour vision tell apart (Okabe and Ito); where they matter, shapes tell the same.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def new_figure(width: float, height: float) -> Any:
    """Sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def without_frame(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def with_grid(axes: Any) -> None:
    axes.grid(True, which="major", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    without_frame(axes)


def heading(figure: Any, text: str) -> None:
    figure.suptitle(text, fontsize=10, x=0.01, ha="left")


def save(figure: Any, path: Path) -> Path:
    """In the format of its name, beside its place first."""
    with atomic_write(path) as beside:
        figure.savefig(beside, dpi=RESOLUTION, format=path.suffix.lower().removeprefix("."))
    return path
