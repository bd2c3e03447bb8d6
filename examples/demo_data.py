"""Print the folder of the demo's scores and speaker table, which `parivox demo` audits.

They come with the package bt4vt 1.0.1 (`pip install parivox[demo]`) and are read where they
are installed. Looking the package up does not import it.
"""

from __future__ import annotations

import sys

from parivox.cli.demo import demo_data
from parivox.errors import ConfigError

if __name__ == "__main__":
    try:
        print(demo_data())
    except ConfigError as error:
        sys.exit(str(error))
