"""Every option once: name, type, default, check, words."""
