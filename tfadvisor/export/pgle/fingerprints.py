"""The fingerprint that XLA gave a program before it scheduled it, by which its scheduler finds the costs that are meant for it.

Written by `TagWithFingerprint` in openxla/xla, xla/service/gpu/gpu_hlo_schedule.cc: among the module's frontend attributes,
earlier among those of the entry computation's root. XLA's own converter of traces still looks at the root only
(`GetHloModuleFingerprint` in xla/python/xplane_to_profile_instructions.cc), so it finds none in programs of today.
"""

from __future__ import annotations

from tfadvisor.errors import TraceError
from tfadvisor.hlo.format.find_modules import find_modules
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.format.wire import Entry, Proto, message_of, messages_of, number_of, text_of
from tfadvisor.xplane.columns import HostTrace

Program = tuple[str, int | None]
"""The module's name and its id, which events carry as `hlo_module` and `program_id`; None where an event has no id."""

_ATTRIBUTE = "fingerprint_before_lhs"
_ID = 5
_OF_MODULE, _OF_INSTRUCTION = 19, 68
"""The fields of HloModuleProto and HloInstructionProto that hold frontend attributes."""
_MAP = 1


def fingerprints(trace: HostTrace, *, of_modules: bool) -> dict[Program, str]:
    """The programs of a trace that carry one. Programs whose HLO is damaged carry none.

    of_modules: also those that only the module carries, which XLA's own converter misses.
    """
    found: dict[Program, str] = {}
    modules = find_modules(trace)
    for key in modules.keys:
        try:
            module = modules.open(key)
            one = _fingerprint(module, of_modules)
        except TraceError:
            continue
        if one:
            found[module.name, number_of(module.fields, _ID)] = one
    return found


def _fingerprint(module: Module, of_modules: bool) -> str:
    root = module.entry.root
    mine = _attribute(root.proto, root.fields, _OF_INSTRUCTION)
    return mine or (_attribute(module.proto, module.fields, _OF_MODULE) if of_modules else "")


def _attribute(proto: Proto, fields: list[Entry], holder: int) -> str:
    for entry in messages_of(proto, message_of(proto, fields, holder), _MAP):
        if text_of(proto, entry, 1) == _ATTRIBUTE:
            return text_of(proto, entry, 2)
    return ""
