"""What the clock asks TensorFlow and JAX: whether they work already, to wait for their
devices, and what they are.
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from tfadvisor_hook.compilations import Compilations

NAMES = ("jax", "tensorflow")
_VERSIONS = ("jax", "jaxlib", "tensorflow", "keras", "torch", "numpy")


class Frameworks:
    """Those that the program has imported by now."""

    def __init__(self) -> None:
        """Nothing is imported yet."""
        self.compilations = Compilations()
        self.watched: set[str] = set()

    def compiled(self) -> int:
        """How often they have traced or compiled since they were seen first."""
        for name in NAMES:
            if name not in self.watched and _is_ready(sys.modules.get(name)):
                self.watched.add(name)
                self.compilations.watch(name)
        return int(self.compilations.count)

    def ready(self) -> bool:
        """Whether one has compiled or has its devices; so is a program with neither
        framework.
        """
        if self.compiled() or not any(name in sys.modules for name in NAMES):
            return True
        bridge = sys.modules.get("jax._src.xla_bridge")
        return bool(getattr(bridge, "_backends", None)) or _context() is not None

    def wait(self) -> None:
        """Until the devices have done all that they were told to do."""
        for wait in (_wait_for_jax, _wait_for_tensorflow):
            try:
                wait()
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                sys.stderr.write(f"tfadvisor: devices are not waited for: {why}\n")

    def about(self) -> dict[str, Any]:
        """Versions, and the kind of the first device."""
        versions = {"python": platform.python_version()}
        for name in _VERSIONS:
            if name in sys.modules:
                version = getattr(sys.modules[name], "__version__", "")
                versions[name] = str(version)
        try:
            device, devices = _devices()
        except Exception:
            device, devices = "", 0
        return {"versions": versions, "device": device, "devices": devices}


def _is_ready(module: Any) -> bool:
    if module is None:
        return False
    spec = getattr(module, "__spec__", None)
    return not getattr(spec, "_initializing", False)


def _jax_with_devices() -> Any:
    bridge = sys.modules.get("jax._src.xla_bridge")
    return sys.modules.get("jax") if getattr(bridge, "_backends", None) else None


def _wait_for_jax() -> None:
    jax = _jax_with_devices()
    if jax is not None:
        for array in jax.live_arrays():
            if not array.is_deleted():
                array.block_until_ready()
        jax.effects_barrier()


def _context() -> Any:
    """TensorFlow's, None before it has its devices."""
    module = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(module, "_context", None)
    return context if getattr(context, "_initialized", False) else None


def _wait_for_tensorflow() -> None:
    context = _context()
    if context is None:
        return
    sys.modules["tensorflow.python.eager.context"].async_wait()
    wait: Any = sys.modules.get("tensorflow")
    for name in ("test", "experimental", "sync_devices"):
        wait = getattr(wait, name, None)
    if wait is not None and context.num_gpus():
        wait()


def _devices() -> tuple[str, int]:
    """(the first one as the framework calls it, how many the program uses); "" and 0
    where there is none yet.
    """
    jax = _jax_with_devices()
    if jax is not None:
        first = jax.devices()[0]
        return str(first.device_kind), int(jax.local_device_count())
    if _context() is None:
        return "", 0

    config: Any = sys.modules["tensorflow"].config
    devices = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")
    gpus = config.list_physical_devices("GPU")
    if not gpus:
        return "cpu", len(devices)
    details = config.experimental.get_device_details(gpus[0])
    return str(details.get("device_name", "gpu")), len(devices)
