"""Every table of a report, built once, and its forms: terminal, page, papers, workbook."""
