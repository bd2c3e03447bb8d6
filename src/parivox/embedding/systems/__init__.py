"""The systems under audit, as black boxes: one file per kind."""

import os

# From 1.29 on onnxruntime sends its maker what is run with it, unless it is told not to before it
# is loaded, here or by a system of the user's own.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
