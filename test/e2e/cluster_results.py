"""Tables that `sonde cluster` wrote."""

import sqlite3
from contextlib import closing


def tables_of(out):
    """By name, rows as tuples; nothing where it wrote none. `out`: what -o named."""
    path = out / "cluster_analysis_output" / "cluster_analysis.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}
