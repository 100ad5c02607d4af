"""A recording as every framework has it: when it runs (schedule), what is asked of it (levels,
metrics, activities), where it lies and what becomes of it (handlers), and what is known of the
process (rank, groups, variables).

Knows no framework: what needs PyTorch is in ``sonde.torch``. Nothing here is public;
``sonde.torch`` offers what programs may use.
"""
