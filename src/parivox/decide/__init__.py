"""What to do about a finding: decisions made on some speakers and judged on others."""
