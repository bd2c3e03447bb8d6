"""Files that type checkers read; running them would do nothing useful."""

collect_ignore_glob = ["*.py"]
