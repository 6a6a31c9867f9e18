"""The ``agentsession`` command: one module per command, no logic of its own.

Start at :mod:`agentsession.cli.main`.
"""
