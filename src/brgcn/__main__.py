"""``python -m brgcn`` is ``brgcn``."""

from brgcn.cli import main

main()
