"""From recordings to embeddings: audio, systems, and the store that keeps their embeddings.

* `parivox.embed` (``extract.py``) embeds the recordings that a store does not have yet; it goes
  on where an interrupted run stopped;
* `parivox.open_store` (``store.py``) opens the folder that it makes;
* ``systems/`` loads a system by name: bundled, published, ONNX, or Python code of the user.

Central types: `Source`, the recordings to embed; `Excerpt` and `Decoded`, one recording before and
after decoding; `EmbeddingSystem` and `VerifyingSystem`, the protocols of systems; `Store`.

Called by the command line and by `parivox.scoring`. Decoders of foreign audio may crash, so
recordings are decoded in worker processes.
"""
