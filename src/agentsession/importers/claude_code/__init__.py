"""Claude Code's sessions as sessions of this format: what the model really saw.

>>> from pathlib import Path
>>> from agentsession.importers.claude_code.importer import ClaudeCode
>>> importer = ClaudeCode()
>>> for source in importer.find([Path("/home/dev/.claude")]):  # doctest: +SKIP
...     for native in importer.sessions(source):
...         session = importer.convert(source, native.id).session

docs/formats/claude-code.md is the mapping, docs/formats/claude-code-codes.md lists the codes
of the report.
"""
