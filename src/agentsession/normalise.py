"""The normal forms of items, tools, text and reasoning.

Spec: format 5, decision A8.
"""
