"""Hooks modules: inputs and outputs of their forward and backward, their parameters' gradients."""

import itertools
import sys
import weakref
from collections.abc import Iterator
from typing import Any, Callable, Optional

from sonde.torch.precision import _errors
from sonde.torch.precision._collector import Collector
from sonde.torch.precision._forward import StandIn
from sonde.torch.precision._hooks import Hook, Hung, make_node
from sonde.torch.precision._leads import Leads
from sonde.torch.precision._nested import find, replace
from sonde.torch.precision._whole_graph import (
    are_inductors,
    inside_whole_graphs,
    unwrapped,
    warn_of_compiled,
)

# Gradients that nobody wants before their hooks are taken away; putting them back costs more.
_IDLE_GRADIENTS = 1000


class _Open:
    """A forward call that has begun in this thread."""

    __slots__ = ("backward", "module", "name")

    def __init__(self, module: Any, name: str, backward: Any) -> None:
        self.module = module
        self.name = name
        self.backward = backward


class _Backward:
    """The backward of one forward call: nodes around the module report its begin and its end."""

    __slots__ = ("has_inputs", "modules", "name", "to_outputs")

    def __init__(self, modules: "Modules", name: str) -> None:
        self.modules = modules
        self.name = name
        self.has_inputs = False
        self.to_outputs: Any = None

    def begins(self, to_outputs: tuple) -> None:
        """Gradients come to the node that the module's outputs go to."""
        collector = self.modules.collector
        if collector.is_child:
            return
        self.to_outputs = to_outputs
        collector.begin_module(self.name)
        if not self.has_inputs:
            self._record(())

    def ends(self, to_inputs: tuple) -> None:
        """Gradients leave by the node that the module's inputs come from."""
        if self.to_outputs is not None and not self.modules.collector.is_child:
            self._record(to_inputs)

    def _record(self, to_inputs: Any) -> None:
        collector = self.modules.collector
        to_outputs, self.to_outputs = self.to_outputs, None
        was_free = collector.enter()
        try:
            if self.modules.on and was_free:
                collector.backward(self.name, to_outputs, to_inputs)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            if was_free:
                collector.leave()
            collector.end_module(self.name)


class Modules:
    """The hooks of all models. ``on``: whether they do anything."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self._node = make_node(torch)
        self._set_meta = torch._C._autograd._set_creation_meta
        self._usual_meta = torch._C._autograd.CreationMeta(0)
        self.on = False
        self.collector: Optional[Collector] = None
        self.loader: Any = None
        # Taken by one step of the interpreter, so that threads get numbers of their own.
        self._counts: dict[str, Iterator[int]] = {}
        self._hooked: set[int] = set()
        self._handles: list[Any] = []  # of hooks and stand-ins
        self._is_paused = False  # they are taken off
        self.closed: set[int] = set()  # ids of modules in graphs that were reported
        # Compiled modules are seen from inside, by their graphs: none is closed, and what torch
        # puts around one is no part of its name.
        self.has_graphs = False
        self.has_inductors = False  # the same of what Inductor compiles, and only of that
        self._named: dict[int, tuple[weakref.ref, str]] = {}  # prefixes, by the modules' ids
        self._models: dict[int, Any] = {}  # lists of models, whose ids stay theirs so
        self.prefixes: set[str] = set()  # that entries of modules begin with
        # Parameters that are hooked, by the prefixes of their modules: several models may share
        # names, and a program may change what is trained.
        self._graded: dict[str, list[weakref.ref]] = {}
        self._gradient_hooks: dict[tuple[str, str], Any] = {}
        # By prefix: what a gradient waits for before it is recorded (``_graph_backward``).
        self.holders: dict[str, Any] = {}
        self._idle_gradients = 0  # that nobody wanted since the last one that was
        self._owners: dict[int, str] = {}  # of parameters: the prefix that hooked it first
        self._shared: set[str] = set()  # prefixes with parameters that others have, too
        self.only: Optional[str] = None  # module_dump(): the prefix that is recorded alone
        # Whether outermost modules with equal names inside are distinguished by the variable or
        # attribute that holds them; a program with a debugger of its own gets the names it knows.
        self.separates_models = False
        self._first_of: dict[str, weakref.ref] = {}  # models, by the prefixes that they gave first
        self._leads = Leads()
        self._alone: dict[int, list[Any]] = {}  # hooks of outermost modules without children

    def reset(self) -> None:
        """A step has ended."""
        self._counts.clear()
        self.holders.clear()

    def attach(self, models: Any) -> None:
        """Hooks all descendants of one model or several, each module once."""
        self.resume()
        if id(models) in self._hooked:
            return
        several = isinstance(models, (list, tuple))
        if several:
            self._models[id(models)] = models
        self._mark(models, forgets=not several)
        if self.separates_models and not several and next(models.children(), None) is None:
            self._attach_alone(models)
            return
        for index, model in enumerate(models if several else [models]):
            lead = f"{index}." if several else ""
            self._attach_model(model, lead)

    def prefix_of(self, number: int) -> Optional[str]:
        """What names of a module's entries begin with, by its ``id()``."""
        module, prefix = self._named.get(number, (None, None))
        return prefix if module is not None and module() is not None else None

    def module_at(self, number: int) -> Any:
        """The module with this ``id()``; None where it is gone, or is no entry."""
        return self._named.get(number, (lambda: None, ""))[0]()

    def next_name(self, prefix: str) -> str:
        """Of the forward call that begins."""
        number = next(self._counts.setdefault(prefix, itertools.count()))
        return f"{prefix}.forward.{number}"

    def pause(self) -> None:
        """Takes all hooks off until ``resume()``, but not in the middle of a call."""
        if self._is_paused or self.on or self.loader is not None or self.collector.nesting.calls:
            return
        self._is_paused = True
        for handle in self._handles:
            handle.remove()

    def resume(self) -> None:
        """Puts them back."""
        if not self._is_paused:
            return
        self._is_paused = False
        for handle in self._handles:
            handle.put_back()

    def hide(self) -> bool:
        """Takes them off also in the middle of a call, until ``show()``; False where none is on."""
        if self._is_paused:
            return False
        for handle in self._handles:
            handle.remove()
        return bool(self._handles)

    def show(self) -> None:
        """Puts back what ``hide()`` took."""
        if not self._is_paused:
            for handle in self._handles:
                handle.put_back()

    def sleep(self) -> None:
        """Forgets all hooks, too: the next ``attach()`` looks at the models again."""
        for handle in self._handles:
            handle.remove()
        self._is_paused = False
        self._handles.clear()
        self._hooked.clear()
        self._alone.clear()
        self._drop_gradient_hooks()

    def _lead_of(self, model: Any, everything: list) -> str:
        """What stands before the names of a model's modules."""
        if not self.separates_models:
            return ""
        names = [f"{name}.{type(module).__name__}" for name, module in everything[1:]]
        others = {self._first_of[name]() for name in names if name in self._first_of}
        if others - {model, None}:
            return self._leads.of(model)
        for name in names:
            self._first_of[name] = weakref.ref(model)
        return ""

    def _attach_model(self, model: Any, lead: str) -> None:
        everything = list(model.named_modules())
        has_graphs = self.has_graphs or (self.has_inductors and are_inductors(everything))
        everything = unwrapped(model) if has_graphs else everything
        lead = lead or self._lead_of(model, everything)
        skipped = (1, len(everything) - 1) if "verl" in sys.modules else ()
        closed = set() if has_graphs else inside_whole_graphs(everything)
        self.closed |= closed
        for number, (name, module) in enumerate(everything):
            self._let_go(id(module))
            if not name or id(module) in self._hooked or id(module) in closed:
                continue
            if id(getattr(module, "_orig_mod", None)) not in closed and not has_graphs:
                warn_of_compiled(module, name)
            if isinstance(module, self.torch.jit.ScriptModule):
                _errors.warning(
                    f"The module dump does not support {type(module)} type. "
                    "The data dump for this module will be skipped."
                )
                continue
            if type(module).__name__ == "FullyShardedDataParallel":
                continue
            if number in skipped:
                _errors.warning(
                    f"The module {name} is the first or last layer in verl scenario, "
                    "the data dump for this module will be skipped."
                )
                continue
            self._mark(module)
            prefix = f"Module.{lead}{name}.{type(module).__name__}"
            before, after = self.hook(module, prefix)
            self._handles += (Hung(before), Hung(after, first=True))
            if self.collector.config.hidden_modules and self.is_hidden(module):
                self._handles.append(StandIn(self, module, prefix))
        if self.separates_models:
            self._attach_own(model)

    def _attach_own(self, model: Any) -> None:
        """What an outermost module holds beside its children: it is no entry itself, the gradients
        of its own parameters are."""
        if not any(value is not None for value in model._parameters.values()):
            return
        prefix = f"Module.{self._leads.of(model)}{type(model).__name__}"
        if prefix in self.prefixes:  # of one inside
            prefix = f"Module.{self._leads.of(model)}outermost.{type(model).__name__}"
        handle = model.register_forward_hook(Hook(self._after_outermost, prefix), prepend=True)
        self._handles.append(Hung(handle, first=True))

    def _after_outermost(self, prefix: str, module: Any, _args: tuple, _output: Any) -> None:
        if not self.on or not self.collector.enter():
            return
        try:
            self.hook_gradients(prefix, module, own_parameters(module))
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self.collector.failed(problem)
        finally:
            self.collector.leave()

    def _attach_alone(self, model: Any) -> None:
        """A criterion, a single layer: nothing inside would be an entry, so it is one itself."""
        if isinstance(model, self.torch.jit.ScriptModule) or inside_whole_graphs([("", model)]):
            return
        lead = self._leads.of(model)
        warn_of_compiled(model, lead[:-1])
        before, after = self.hook(model, f"Module.{lead}{type(model).__name__}")
        self._alone[id(model)] = [Hung(before), Hung(after, first=True)]
        self._handles += self._alone[id(model)]
        weakref.finalize(model, self._let_go, id(model)).atexit = False

    def _let_go(self, number: int) -> None:
        """Such a module is gone, or part of a model, where it has another name."""
        if number not in self._alone:
            return
        for handle in self._alone.pop(number):
            handle.remove()
            self._handles.remove(handle)
        self._hooked.discard(number)
        self._drop_gradient_hooks()

    def _mark(self, thing: Any, forgets: bool = True) -> None:
        """It is hooked; another object may get its number when it is gone."""
        number = id(thing)
        self._hooked.add(number)
        if forgets:
            weakref.finalize(thing, self._hooked.discard, number).atexit = False

    def is_hidden(self, module: Any) -> bool:
        """Whether a model has a call of its own, which may pass by all hooks."""
        return type(module).__call__ is not self.torch.nn.Module.__call__

    def hook(self, module: Any, prefix: str) -> Any:
        """Hooks one module under the name that its entries begin with; gives both handles."""
        self.prefixes.add(prefix)
        self._named[id(module)] = (weakref.ref(module), prefix)
        with_backward = True
        if len(module._backward_hooks) > 0 and module._is_full_backward_hook is False:
            _errors.warning(
                f"The {prefix} has registered deprecated register_backward_hook,"
                "which may cause abnormal data dump. "
                "The backward data dump for this module will be skipped."
            )
            with_backward = False
        before = Hook(self._before, prefix, with_backward)
        after = Hook(self._after, prefix)
        return (
            module.register_forward_pre_hook(before, with_kwargs=True),
            module.register_forward_hook(after, with_kwargs=True, prepend=True, always_call=True),
        )

    # Forward

    def _before(
        self, prefix: str, with_backward: bool, module: Any, args: tuple, kwargs: dict
    ) -> Any:
        loader = self.loader
        if not self.on and loader is None:
            return None
        collector = self.collector
        if not collector.enter():
            return None
        changed = None
        try:
            name = self.next_name(prefix)
            if loader is not None:
                changed = loader.replace(name, args, kwargs)
                args, kwargs = changed or (args, kwargs)
            if self.on:
                collector.module_begins(name, args, kwargs)
                backward = None
                if with_backward:
                    number = name.rpartition(".")[2]
                    backward = _Backward(self, f"{prefix}.backward.{number}")
                    hooked = self._through(args, backward.ends)
                    if hooked is not None:
                        backward.has_inputs = True
                        changed = (hooked, kwargs)
                collector.nesting.calls.append(_Open(module, name, backward))
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()
        return changed

    def _after(self, prefix: str, module: Any, args: tuple, kwargs: dict, output: Any) -> Any:
        collector = self.collector
        if collector is None:
            return None
        calls = collector.nesting.calls
        if not calls:
            return None
        if calls[-1].module is not module and not any(call.module is module for call in calls):
            return None
        if not collector.enter():
            return None
        try:
            # Calls above ours ended by an exception that no hook heard of.
            while calls[-1].module is not module:
                collector.end_module(calls.pop().name)
            call = calls.pop()
            failure = sys.exc_info()[1] if output is None else None
            if failure is not None and type(failure).__name__ != "_StopRecomputationError":
                collector.finish(call.name)
                collector.end_module(call.name)
                return None
            if self.on:
                parameters = own_parameters(module)
                self.hook_gradients(prefix, module, parameters)
                collector.module_ends(call.name, output, parameters)
            else:
                collector.end_module(call.name)
            if call.backward is not None and failure is None:
                return self._through(output, call.backward.begins)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()
        return None

    # Backward

    def _through(self, value: Any, receive: Callable[[tuple], None]) -> Any:
        """Sends the tensors of a value that need gradients through one autograd node.

        The value with the new tensors, or None where there are none; ``receive`` gets the
        gradients.
        """
        torch = self.torch
        if not torch.is_grad_enabled():
            return None
        found: list = []
        find(value, torch.Tensor, found)
        if not found:
            return None
        if torch._C._are_functorch_transforms_active():
            return None  # there are no nodes to send them through
        if torch._C._get_tracing_state() is not None:
            return None  # they would become a part of what torch.jit.trace makes
        hooked = self._node(receive, *found)
        for tensor in hooked:
            # Views may be changed in place by the module, as its inputs could be before.
            if tensor._is_view():
                self._set_meta(tensor, self._usual_meta)
        if value is found[0]:
            return hooked[0]
        return replace(value, torch.Tensor, iter(hooked))

    # Gradients of parameters

    def hook_gradients(self, prefix: str, module: Any, parameters: "dict[str, Any]") -> None:
        """Gradients of a module's parameters are recorded from now on."""
        if not self.collector.hooks_gradients:
            return
        wanted = {key: value for key, value in parameters.items() if value.requires_grad}
        known = self._graded.get(prefix)
        # Gradients of a shared parameter come in the order in which its modules were called last.
        if known is not None and prefix not in self._shared and _are_those(known, wanted):
            return
        self._graded[prefix] = [weakref.ref(value) for value in wanted.values()]
        for key, parameter in wanted.items():
            old = self._gradient_hooks.get((prefix, key))
            if old is not None:
                old.remove()
            if not parameter.is_leaf:  # made for this call, by FSDP with use_orig_params
                hook = Hook(self._record_gradient, prefix, key, len(wanted))
                self._gradient_hooks[prefix, key] = parameter.register_hook(hook)
                continue
            owner = self._owners.setdefault(id(parameter), prefix)
            if owner != prefix:
                self._shared.update((owner, prefix))
            hook = Hook(self._gradient, prefix, key, len(wanted))
            handle = parameter.register_post_accumulate_grad_hook(hook)
            self._gradient_hooks[prefix, key] = handle

    def graded_parameters(self, module: Any) -> "list[str]":
        """Names of the parameters of a module whose gradients are recorded."""
        own = own_parameters(module) if self.collector.hooks_gradients else {}
        return [key for key, value in own.items() if value.requires_grad]

    def _drop_gradient_hooks(self) -> None:
        """They come back with the next recorded calls of the modules."""
        for handle in self._gradient_hooks.values():
            handle.remove()
        self._gradient_hooks.clear()
        self._graded.clear()
        self._idle_gradients = 0

    def _gradient(self, prefix: str, key: str, count: int, parameter: Any) -> None:
        value = getattr(parameter, "main_grad", None)
        self._record_gradient(prefix, key, count, parameter.grad if value is None else value)

    def _record_gradient(self, prefix: str, key: str, count: int, value: Any) -> None:
        collector = self.collector
        if not self.on:
            self._idle_gradients += 1
            if self._idle_gradients > _IDLE_GRADIENTS:
                self._drop_gradient_hooks()
            return
        if collector is None or not collector.enter():
            return
        self._idle_gradients = 0
        try:
            if prefix in self.holders:
                self.holders[prefix].hold(prefix, key, value, count)
            else:
                collector.gradient(prefix, key, value, count)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()


def own_parameters(module: Any) -> "dict[str, Any]":
    """Those that a module holds itself, by name."""
    return {key: value for key, value in module._parameters.items() if value is not None}


def _are_those(known: "list[weakref.ref]", parameters: "dict[str, Any]") -> bool:
    if len(known) != len(parameters):
        return False
    for reference, value in zip(known, parameters.values()):
        if reference() is not value:
            return False
    return True
