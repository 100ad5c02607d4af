"""Engines that run ``sonde cluster`` on several machines: Ray and Dask behind one small interface.

The work is files: ``sonde cluster --list-tasks`` prints what is missing, a task makes one part with
``sonde cluster map`` on some machine and returns its bytes, which are kept here. So an engine has
nothing to know but how to run a function elsewhere, again where its machine is lost:

    for number, result in engine.run(function, tasks): ...   # as they are done; Failed
    engine.close(is_cancelled)

Packages of engines are imported where they are used (``pip install sonde[ray]``, ``sonde[dask]``).
"""
