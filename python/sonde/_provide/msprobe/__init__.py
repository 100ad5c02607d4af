"""Stands in for the reference tool under ``sonde run --provide msprobe``."""
