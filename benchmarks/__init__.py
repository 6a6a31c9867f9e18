"""Measured claims: each a ratio against a named baseline of the same run."""
