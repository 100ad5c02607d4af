"""A recording as every framework has it: when it runs (schedule), its settings (levels,
metrics, activities), where its files go (handlers), and the facts on the
process (rank, groups, variables).

Knows no framework: what needs PyTorch is in ``sonde.torch``. Nothing here is public;
``sonde.torch`` offers what programs may use.
"""
