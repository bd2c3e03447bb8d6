"""``python -m parivox``."""

from parivox.cli import main

main()
