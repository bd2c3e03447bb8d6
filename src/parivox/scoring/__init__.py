"""From embeddings and a list of trials to scores."""
