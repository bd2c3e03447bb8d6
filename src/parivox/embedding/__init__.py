"""From recordings to embeddings: audio, systems, and the store that keeps what they gave."""
