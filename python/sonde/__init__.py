"""Sonde: performance profiling of LLM workloads.

Importing this package costs little and loads neither torch nor the native recorder; both are
opened on first use. Parts:

* ``sonde.torch``: profiler API for PyTorch programs (``profile``, ``schedule``, ``analyse`` ...).
* ``sonde.mstx``: ranges and marks of the program's own.
* ``python -m sonde.doctor``: what can be recorded with this interpreter.
"""

__version__ = "0.1.0"
