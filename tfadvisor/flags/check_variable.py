"""One environment variable against what is known about it."""

from __future__ import annotations

from tfadvisor.flags.advice import Variable, variables
from tfadvisor.flags.recorded import is_newer
from tfadvisor.flags.remarks import ERROR, NOTE, WARNING, Remark, about_value
from tfadvisor.flags.settings import Setting
from tfadvisor.flags.suggest import Suggestions
from tfadvisor.flags.values import fault_of_variable, is_default_of_variable

_FAMILIES = ("TF_", "JAX_", "XLA_", "NCCL_", "CUDA_", "LIBTPU_")


def check_variable(setting: Setting, jaxlib: str, suggestions: Suggestions) -> tuple[str, list[Remark]]:
    """What the variable is for, and what is wrong with it. jaxlib: the version that reads it."""
    variable, value = variables().get(setting.name), setting.value or ""
    if variable is None:
        return "", [_unknown(setting, suggestions)]
    if variable.gone:
        return variable.about, [Remark("removed", WARNING, variable.gone, "", variable.source)]
    remarks = _names(variable, value, jaxlib)
    fault = fault_of_variable(variable, value)
    if fault:
        text = f"{fault}; {variable.consequence}" if variable.consequence else fault
        return variable.about, [
            *remarks,
            Remark("value", ERROR if variable.fatal else WARNING, text, "", variable.source),
        ]
    first = variable.value_since.get(value.lower(), "")
    if first and is_newer(first, jaxlib):
        remarks.append(Remark("value", ERROR, f"jaxlib knows the value {value} from {first} on", "", variable.source))
    if is_default_of_variable(variable, value):
        remarks.append(Remark("default", NOTE, "already the default", "", variable.source))
    remarks += [about_value(one.level, one.text, one.source) for one in variable.dangers if one.holds(value)]
    return variable.about, remarks


def _names(variable: Variable, value: str, version: str) -> list[Remark]:
    if variable.renamed and not is_newer(variable.renamed_since or "0", version):
        text = f"still read, but now called {variable.renamed}"
        return [Remark("renamed", NOTE, text, f"{variable.renamed}={value}", variable.source)]
    if variable.since and is_newer(variable.since, version):
        text = f"jaxlib reads it from {variable.since} on"
        return [Remark("unknown", WARNING, text, "", variable.source)]
    return []


def _unknown(setting: Setting, suggestions: Suggestions) -> Remark:
    near = suggestions.variable(setting.name)
    instead = f"{near}={setting.value}" if near else ""
    if near or setting.name.startswith(_FAMILIES):
        text = "not a known variable; programs ignore unknown variables silently"
        return Remark("unknown", WARNING if near else NOTE, text, instead)
    return Remark("unknown", NOTE, "not a known variable of TensorFlow, JAX, XLA, NCCL or CUDA")
