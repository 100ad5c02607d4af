"""``sonde probe first_difference``: where a compiled program parts from the eager one.

``_runs`` runs the program under each back end, with a dump of what its modules give, ``_kernels``
reads what the compiled code was made of, ``_verdict`` puts it into words. Whether two dumps differ
by more than rounding is decided by ``sonde probe compare`` alone. Needs no framework.
"""
