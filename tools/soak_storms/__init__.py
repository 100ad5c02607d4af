"""The storms of tools/soak.py: each is a module with ``rage(ground)``, which goes on until
``ground.is_over()`` and writes what it saw into ``ground.report``."""
