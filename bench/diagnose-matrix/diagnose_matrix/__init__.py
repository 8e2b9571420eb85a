"""Faults with a known truth, injected into a running path, and what `plumb diagnose` names."""
