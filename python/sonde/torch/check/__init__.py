"""Calls of a dump are run again by themselves: ``sonde probe acc_check`` and ``reproduce``.

``_entries`` reads a dump's calls, ``_values`` makes their arguments, ``_calls`` runs them (in the
dump's types on a device, and with more precision on the CPU), ``_measures`` computes how far apart
the results are, ``_tables`` writes msProbe's tables, ``_numbers`` the input of the native command's
verdicts. Started by the command as ``python3 -m sonde.torch.check``.
"""
