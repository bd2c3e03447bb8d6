"""Published tables and what they take to reproduce, one module per paper, on the public core."""
