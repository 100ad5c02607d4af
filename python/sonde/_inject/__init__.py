"""What runs inside a process that ``sonde run`` started.

``sitecustomize.py`` is found by the interpreter through ``PYTHONPATH``; it waits for torch and then
calls ``_attach.attach``. Nothing here writes to standard output.
"""
