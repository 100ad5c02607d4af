"""Start-up hook of ``sonde run``: waits for ``import torch`` or ``mindspore``, then attaches.

Runs in every Python process below ``sonde run``, so it must cost nothing: without SONDE_ATTACH it
only goes on to the user's own sitecustomize; otherwise it puts one finder in front of the import
system. Only modules that the interpreter has loaded anyway are used. Whatever fails here, the
program starts as if this file were not there.
"""

import os
import sys

_FRAMEWORKS = ("torch", "mindspore")


class _Finder:
    """Finds a framework as everybody else would and calls us when its import is over.

    Also finds the package ``sonde`` that this file belongs to, installed or not, unless the program
    has a module of that name that is another.
    """

    def __init__(self):
        self._awaited = list(_FRAMEWORKS)

    def find_spec(self, name, path=None, target=None):
        if name in self._awaited:
            return self._find_framework(name, path, target)
        if name == "sonde" and path is None:
            return None if _has_another_sonde() else _spec_of_sonde()
        return None

    def found(self, name):
        """A framework was imported; where none is left to wait for, the finder goes."""
        if name in self._awaited:
            self._awaited.remove(name)
        if not self._awaited and self in sys.meta_path:
            sys.meta_path.remove(self)

    def _find_framework(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module") and spec.origin:
                    _call_after_import(spec.loader, self)
                return spec
        return None


class _Provided:
    """Finds the packages of ``--provide`` before one of that name beside the program's script,
    whose folder comes before PYTHONPATH."""

    def __init__(self, places):
        self._places = places

    def find_spec(self, name, path=None, target=None):
        if path is not None or name not in self._places:
            return None
        from _frozen_importlib_external import PathFinder

        return PathFinder.find_spec(name, [self._places[name]], target)


def _provided():
    """{package: folder of ours that answers for it}, of those on the search path."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = {"msprobe": "_provide", "torch_npu": "_provide_npu"}
    places = {name: os.path.join(package, folder) for name, folder in folders.items()}
    return {name: place for name, place in places.items() if place in sys.path}


def _call_after_import(loader, finder):
    """Lets one ``exec_module`` of this loader be followed by attaching."""
    original = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the class's own again
        _prepare(module.__name__)
        hidden = _hide_profiler_of_environment()
        try:
            original(module)
        finally:
            os.environ.update(hidden)
        _attach(module, finder)

    loader.exec_module = exec_module


def _prepare(name):
    """What a dump has to set, and what of it is wrong, before the framework is imported."""
    is_dump = os.environ.get("SONDE_ATTACH") == "dump" or "MINDSPORE_DUMP_CONFIG" in os.environ
    if name != "mindspore" or not is_dump:
        return
    try:
        from sonde._inject import _attach as attaching

        attaching.prepare(name)
    except SystemExit:  # it must not run as it is set up
        raise
    except BaseException as problem:
        _complain(problem)


def _hide_profiler_of_environment():
    """MindSpore would start the profiler of ``MS_PROFILER_OPTIONS`` at the end of its import,
    before we can attach: it is started then (``_attach.attach``)."""
    name = "MS_PROFILER_OPTIONS"
    if os.environ.get("SONDE_ATTACH") != "profile" or name not in os.environ:
        return {}
    return {name: os.environ.pop(name)}


def _attach(module, finder):
    try:
        from sonde._inject import _attach as attaching

        attaching.attach(module)
    except (KeyboardInterrupt, SystemExit):  # the latter: it must not run as it is set up
        raise
    except BaseException as problem:  # the program must go on, whatever this is
        own = "the program has another module called sonde, rename it"
        _complain(own if _has_another_sonde() else problem)
    finally:
        finder.found(module.__name__)


def _complain(problem):
    try:
        sys.stderr.write(f"sonde: this process is not recorded: {problem}\n")
        if os.environ.get("SONDE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
    except BaseException:
        pass  # no standard error to report it on


def _has_another_sonde():
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sonde", sys.path)
    if spec is None or spec.loader is None:  # none, or a folder of that name without code
        return False
    places = spec.submodule_search_locations or ()
    return not any(os.path.isdir(os.path.join(place, "_inject")) for place in places)


def _spec_of_sonde():
    from _frozen_importlib_external import spec_from_file_location

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return spec_from_file_location(
        "sonde",
        os.path.join(package, "__init__.py"),
        submodule_search_locations=[package],
    )


def _note_end_without_framework():
    """At exit: reports to the launcher that this program never imported a framework."""
    path = os.environ.get("SONDE_RUN_LIST")
    if not path or any(name in sys.modules for name in _FRAMEWORKS):
        return
    _explain_missing()
    try:
        command = " ".join(getattr(sys, "orig_argv", None) or sys.argv)
        line = "\t".join(("noframework", str(os.getpid()), " ".join(command.split()))) + "\n"
        if os.environ.get("SONDE_ATTACH") == "dump":
            _check_dump_config()
        # The launcher makes and removes the list: no O_CREAT.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except BaseException:
        pass  # only a notice is lost


def _check_dump_config():
    from sonde._inject import _attach as attaching

    attaching.check_dump_config()


def _explain_missing_packages():
    """Where the program ends because it has no such package, one line advises what to do."""
    usual = sys.excepthook

    def excepthook(kind, problem, traceback):
        usual(kind, problem, traceback)
        if issubclass(kind, ModuleNotFoundError):
            _explain_missing(problem.name)
        else:
            _explain_failed(problem)

    sys.excepthook = excepthook


def _explain_failed(problem):
    try:
        from sonde._inject import _missing

        sys.stderr.write(_missing.line_for_failed(problem))
    except BaseException:
        pass  # only a notice is lost


def _explain_missing(package=None):
    """Without a name: the one that is run by ``-m``, if it could not be found."""
    try:
        from sonde._inject import _missing

        sys.stderr.write(_missing.line_for(package or _missing.run_as_module()))
    except BaseException:
        pass  # only a notice is lost


def _is_subinterpreter():
    """Frameworks are of the main interpreter. Another may be ended by the last of it, when whatever
    lets go of the lock, as file operations do, ends the main thread."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
        except ImportError:
            continue
        return interpreters.get_current() != interpreters.get_main()
    return False


def _start():
    if os.environ.get("SONDE_ATTACH", "0") in ("", "0") or _is_subinterpreter():
        return
    import atexit

    sys.meta_path.insert(0, _Finder())
    provided = _provided()
    if provided:
        sys.meta_path.insert(0, _Provided(provided))
    _explain_missing_packages()
    atexit.register(_note_end_without_framework)


def _run_next_sitecustomize():
    """Runs the sitecustomize that the interpreter would have found without ours.

    It takes our place in ``sys.modules``, and its errors are reported by the interpreter as ever.
    """
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    ours = os.path.dirname(os.path.abspath(__file__))
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != ours]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _start()
except BaseException as _problem:
    _complain(_problem)
_run_next_sitecustomize()
