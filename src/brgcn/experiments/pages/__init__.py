"""The sections of docs/results.md, each from its own files."""
