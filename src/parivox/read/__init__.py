"""Tables: the only place that knows files, formats and the table engine."""
