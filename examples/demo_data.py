"""Print the folder of the demo's scores and speaker table.

They come with the package bt4vt 1.0.1 (`pip install parivox[demo]`) and are read where they
are installed. Looking the package up does not import it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def demo_data() -> Path:
    """Folder with two systems' scores on VoxCeleb1-H and the speakers' attributes."""
    spec = find_spec("bt4vt")
    if spec is None or spec.origin is None:
        sys.exit("The demo's data are missing: pip install 'parivox[demo]'")
    return Path(spec.origin).parent / "data"


if __name__ == "__main__":
    print(demo_data())
