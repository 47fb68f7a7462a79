"""Writes tfadvisor/advice/flags/recorded.json: which flags each jaxlib and TensorFlow
accepts, as they say themselves.

    python benchmarks/record_flags.py                        every jaxlib of the index from 0.4.30 on
    python benchmarks/record_flags.py --tensorflow PYTHON…   and the TensorFlow that each of these interpreters has

Each jaxlib is unpacked into a folder of its own and asked in a process of its own:
`XLA_FLAGS=--help` makes XLA print every flag with type, default and meaning, and end.
Newer versions print the first 15,000 bytes only, as their log keeps no more; the whole
text is then in the memory of the process, which is held in its write to a full pipe
while it is read.

What the help says is then tried, one flag at a time: a flag that the help names and the
library refuses, or a flag of another version that it accepts, ends the recording. Flags
of text whose field in the library's own XLA schema is an enumeration are tried with its
words, and those accepted are recorded.

No accelerator is needed: a library for the CPU knows every GPU flag. Needs Linux, pip
and the protobuf package.
"""

from __future__ import annotations

import argparse
import array
import datetime
import fcntl
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).parents[1] / "tfadvisor" / "flags" / "recorded.json"
OLDEST = (0, 4, 30)
LIBRARIES = {"jaxlib": ("XLA_FLAGS",), "tensorflow": ("XLA_FLAGS", "TF_XLA_FLAGS")}
NEEDED = ("numpy", "scipy", "ml_dtypes")  # what jaxlib imports
NONSENSE = "no-such-word"
PAGE = 4096
SET_PIPE_SIZE = (
    1031  # F_SETPIPE_SZ, which the fcntl module names from Python 3.10 on Linux only
)
HELD_S = 120
WORD = re.compile(r"\b[A-Za-z_]{2,}\b")
FLAG = re.compile(r"^\t--(\w+)=(.*?)[ ]*\t(\w+)\t(.*?)(?=\n\t--|\Z)", re.M | re.S)


class Place(NamedTuple):
    """One installed version: the interpreter that runs it, and what that needs to find
    it.
    """

    package: str
    version: str
    python: Path
    path: str

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("XLA_", "TF_", "JAX_"))
        }
        return {
            **kept,
            "PYTHONPATH": self.path if self.package == "jaxlib" else "",
            **variables,
        }

    def command(self, mode: str, variable: str) -> list[str]:
        return [str(self.python), __file__, mode, self.package, variable]


# Inside the library's own process


def start(library: str, variable: str) -> None:
    """Makes the library read its flags, which ends the process when it refuses one."""
    if library == "jaxlib":
        from jaxlib import xla_client

        xla_client.CompileOptions()
        return
    import tensorflow as tf

    number = tf.constant(1.0)  # reads TF_XLA_FLAGS
    if variable == "XLA_FLAGS":
        tf.function(lambda x: x + 1, jit_compile=True)(number)


def try_flags(library: str, variable: str) -> None:
    """Reads one setting a line, answers with one line of JSON: [exit status, the end of
    what was said].
    """
    if library == "jaxlib":
        from jaxlib import xla_client  # noqa: F401
    else:
        import tensorflow  # noqa: F401
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # refusals abort the process
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(write, 1)
            os.dup2(write, 2)
            os.close(read)
            os.environ[variable] = line.rstrip("\n")
            start(library, variable)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as said:
            text = said.read().decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
        print(json.dumps([status, text[:2000]]), flush=True)


# Asking


def usage(place: Place, variable: str) -> str:
    """The whole help text."""
    read, write = os.pipe()
    fcntl.fcntl(write, SET_PIPE_SIZE, PAGE)
    # One heap that never shrinks: the text is freed before it is written.
    heap = {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    }
    heap["TF_CPP_MIN_LOG_LEVEL"] = "2"  # else notes of an import fill the pipe
    environment = place.environment(**heap, **{variable: "--help"})
    asked = subprocess.Popen(
        place.command("--start", variable), env=environment, stdout=write, stderr=write
    )
    os.close(write)
    try:
        texts = _held_texts(asked, read)
        with os.fdopen(read, "rb") as said:
            texts.append(said.read())
    finally:
        asked.wait()
    longest = max(
        (text[text.find(b"Flags:") :] for text in texts if b"Flags:" in text),
        key=len,
        default=b"",
    )
    return longest.decode("utf-8")


def _held_texts(process: subprocess.Popen[bytes], pipe: int) -> list[bytes]:
    """What a process holds that waits for its reader; nothing when it ends without
    waiting. Two looks must agree.
    """
    texts: list[bytes] = []
    until = time.monotonic() + HELD_S
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.5)
        number = array.array("i", [0])
        fcntl.ioctl(pipe, termios.FIONREAD, number)
        seen = list(_texts_in_memory(process.pid)) if number[0] else []
        if seen and seen == texts:
            break
        texts = seen
    return texts


def _texts_in_memory(process: int) -> Iterator[bytes]:
    try:
        with (
            Path(f"/proc/{process}/maps").open() as maps,
            Path(f"/proc/{process}/mem").open("rb", 0) as memory,
        ):
            for line in maps:
                if "[heap]" in line:
                    first, last = (int(one, 16) for one in line.split()[0].split("-"))
                    memory.seek(first)
                    held = memory.read(last - first)
                    for found in re.finditer(rb"\nFlags:\n\t--", held):
                        yield held[found.start() + 1 : held.find(b"\0", found.start())]
    except (OSError, OverflowError):
        return  # it ended meanwhile


def flags_in(text: str) -> dict[str, dict[str, Any]]:
    """Name -> type, default (texts without their quotes) and help on one line."""
    flags = {}
    for name, default, kind, about in FLAG.findall(text):
        plain = default[1:-1] if kind == "string" else default
        flags[name] = {"type": kind, "default": plain, "help": " ".join(about.split())}
    return flags


class Tries:
    """A process of the library that tells of any setting whether it is accepted."""

    def __init__(self, place: Place, variable: str) -> None:
        self._process = subprocess.Popen(
            place.command("--try", variable),
            env=place.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Tries:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def is_unknown(self, flag: str) -> bool:
        return "Unknown flag" in self._answer(flag)[1]

    def is_accepted(self, flag: str) -> bool:
        return self._answer(flag)[0] == 0

    def _answer(self, flag: str) -> tuple[int, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{flag}\n")
        self._process.stdin.flush()
        status, said = json.loads(self._process.stdout.readline())
        return status, said


def ask(place: Place, variable: str) -> dict[str, Any]:
    """Every flag of one version, each tried with its own default, and the words that
    texts are limited to.
    """
    flags = flags_in(usage(place, variable))
    if not flags:
        raise SystemExit(
            f"{place.package} {place.version} prints no help for {variable}, as "
            "TensorFlow 2.16 does not"
        )
    limited = enumerations(place) if variable == "XLA_FLAGS" else {}
    with Tries(place, variable) as tries:
        for name, flag in flags.items():
            if tries.is_unknown(f"--{name}={flag['default']}"):
                raise SystemExit(
                    f"{place.package} {place.version} refuses {name}, which its help "
                    "names"
                )
            if flag["type"] == "string" and name in limited:
                flag["words"] = accepted_words(name, limited[name], flag["help"], tries)
    return flags


def accepted_words(
    name: str, enumeration: list[str], about: str, tries: Tries
) -> dict[str, Any] | None:
    """words: those accepted, without the prefix where it may be left out; None where
    any word is accepted.

    any_case: whether their case matters not. list: whether several may be joined by commas. signs: whether +word and
    -word add to the default and take from it. empty: whether it may be empty. loose: whether a list may have blanks and
    empty parts.
    """
    if tries.is_accepted(f"--{name}={NONSENSE}"):
        return None
    prefix = os.path.commonprefix(enumeration)  # noqa: RUF071
    prefix = prefix[: prefix.rfind("_") + 1]
    short = [word[len(prefix) :] for word in enumeration]
    spellings = dict.fromkeys(
        [
            *short,
            *enumeration,
            *map(str.lower, [*short, *enumeration]),
            *WORD.findall(about),
        ]
    )
    words = [word for word in spellings if tries.is_accepted(f"--{name}={word}")]
    any_case = bool(words) and all(
        tries.is_accepted(f"--{name}={word.swapcase()}") for word in words
    )
    if any_case:
        words = list({word.upper(): word for word in reversed(words)}.values())[::-1]
    full = [word for word in words if prefix and word.upper().startswith(prefix)]
    optional = bool(full) and all(word[len(prefix) :] in words for word in full)
    return {
        "words": [word for word in words if word not in full] if optional else words,
        "prefix": prefix if optional else "",
        "any_case": any_case,
        "loose": len(words) > 1
        and tries.is_accepted(f'--{name}="{words[0]}, {words[1]},"'),
        "list": len(words) > 1 and tries.is_accepted(f"--{name}={words[0]},{words[1]}"),
        "empty": tries.is_accepted(f"--{name}="),
        "signs": bool(words) and tries.is_accepted(f"--{name}=+{words[0]}"),
    }


def enumerations(place: Place) -> dict[str, list[str]]:
    """Fields of XLA's DebugOptions that are enumerations -> their words, with and
    without the prefix they share.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    for library in sorted(
        Path(place.path).rglob("*.so*"), key=lambda file: -file.stat().st_size
    )[:4]:
        held = library.read_bytes()
        for found in re.finditer(
            rb"\n[\x09-\x40](?:[\w/]*/)?xla/xla\.proto\x12\x03xla", held
        ):
            schema = FileDescriptorProto.FromString(
                held[found.start() : _end_of_message(held, found.start())]
            )
            options = next(
                (one for one in schema.message_type if one.name == "DebugOptions"), None
            )
            if options is not None:
                enums = {
                    f".xla.DebugOptions.{one.name}": one for one in options.enum_type
                }
                enums |= {f".xla.{one.name}": one for one in schema.enum_type}
                return {
                    field.name: [value.name for value in enums[field.type_name].value]
                    for field in options.field
                    if field.type_name in enums
                }
    return {}


def _end_of_message(held: bytes, at: int) -> int:
    """Where a FileDescriptorProto ends that starts here: after the last of its fields,
    all of which have a length.
    """
    while held[at] in (0x0A, 0x12, 0x1A, 0x22, 0x2A, 0x32, 0x3A, 0x42, 0x4A, 0x62):
        length, shift, at = 0, 0, at + 1
        while True:
            length |= (held[at] & 0x7F) << shift
            shift += 7
            at += 1
            if held[at - 1] < 0x80:
                break
        at += length
    return at


# Installing


def versions_of_jaxlib(python: Path) -> list[str]:
    """Every version of the index from the oldest on, oldest first."""
    said = _output([python, "-m", "pip", "index", "versions", "jaxlib"])
    listed = re.search(r"^Available versions: (.*)$", said, re.M)
    assert listed, said
    return sorted(
        (one for one in listed.group(1).split(", ") if _order(one) >= OLDEST),
        key=_order,
    )


def installed_jaxlib(version: str, python: Path, folder: Path) -> Place:
    """Downloads one wheel and unpacks it."""
    place = folder / f"jaxlib-{version}"
    if not (place / "jaxlib").exists():
        shutil.rmtree(place, ignore_errors=True)
        wanted = f"jaxlib=={version}"
        _output(
            [
                python,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--only-binary=:all:",
                "-d",
                place,
                wanted,
            ]
        )
        (wheel,) = place.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(place)
        wheel.unlink()
    return Place("jaxlib", version, python, str(place))


def tensorflow_of(python: Path) -> Place:
    """The TensorFlow that an interpreter has."""
    asked = "import tensorflow as t; print(t.__version__); print(t.__path__[0])"
    version, path = _output([python, "-c", asked]).split("\n")[:2]
    return Place("tensorflow", version, python, path)


def environment_in(folder: Path, python: Path) -> Path:
    """A virtual environment with what jaxlib imports; its interpreter."""
    inside = folder / "environment" / "bin" / "python"
    if not inside.exists():
        _output([python, "-m", "venv", inside.parents[1]])
        _output([inside, "-m", "pip", "install", *NEEDED])
    return inside


def _output(command: Iterable[object]) -> str:
    return subprocess.run(
        [str(one) for one in command], check=True, capture_output=True, text=True
    ).stdout


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


# Writing


def record_all(places: Iterable[Place], folder: Path) -> list[dict[str, Any]]:
    """Asks each version, unless an earlier call in the same folder did."""
    answers: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for place in places:
        for variable in LIBRARIES[place.package]:
            kept = folder / f"{place.package}-{place.version}-{variable}.json"
            if not kept.exists():
                kept.write_text(json.dumps(ask(place, variable)))
            answers.setdefault((variable, place.package), {})[place.version] = (
                json.loads(kept.read_text())
            )
            print(
                f"{place.package} {place.version}: "
                f"{len(json.loads(kept.read_text()))} in {variable}",
                flush=True,
            )
    return [
        table(variable, library, asked)
        for (variable, library), asked in answers.items()
    ]


def try_foreign_flags(
    places: Iterable[Place], tables: list[dict[str, Any]], folder: Path
) -> None:
    """Every flag that another version knows must be refused by one whose help does not
    name it.
    """
    for place in places:
        for variable in LIBRARIES[place.package]:
            own = json.loads(
                (
                    folder / f"{place.package}-{place.version}-{variable}.json"
                ).read_text()
            )
            every = {
                name
                for one in tables
                if one["variable"] == variable
                for name in one["flags"]
            }
            with Tries(place, variable) as tries:
                wrong = [
                    name
                    for name in sorted(every - own.keys())
                    if not tries.is_unknown(f"--{name}=1")
                ]
            if wrong:
                raise SystemExit(
                    f"{place.package} {place.version} accepts what its help does not "
                    f"name: {wrong}"
                )


def table(
    variable: str, library: str, asked: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Flag -> periods [first version, last version, type, default, words, help]; null
    for a help as in the last period.
    """
    versions = sorted(asked, key=_order)
    flags: dict[str, list[list[Any]]] = {}
    for name in sorted({name for flags_then in asked.values() for name in flags_then}):
        periods = flags.setdefault(name, [])
        last: tuple[Any, ...] | None = None
        told = None
        for version in versions:
            flag = asked[version].get(name)
            now = flag and (
                flag["type"],
                flag["default"],
                flag.get("words"),
                flag["help"],
            )
            if now and now == last:
                periods[-1][1] = version
            elif now:
                periods.append(
                    [version, version, *now[:3], None if now[3] == told else now[3]]
                )
                told = now[3]
            last = now
    return {
        "variable": variable,
        "library": library,
        "versions": versions,
        "flags": flags,
    }


def write(tables: list[dict[str, Any]]) -> None:
    """One flag a line, sorted, so that a new recording shows what changed."""
    parts = []
    for one in tables:
        flags = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(periods)}"
            for name, periods in one["flags"].items()
        )
        head = json.dumps(
            {name: one[name] for name in ("variable", "library", "versions")}
        )
        parts.append(f'{head[:-1]}, "flags": {{\n{flags}\n}}}}')
    about = {
        "about": "Written by benchmarks/record_flags.py from each library's own help; every "
        "entry was tried.",
        "periods": [
            "first version",
            "last version",
            "type",
            "default",
            "accepted words",
            "help, null as before",
        ],
        "recorded": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}, no accelerator",
    }
    TARGET.write_text(
        json.dumps(about)[:-1] + ', "tables": [\n' + ",\n".join(parts) + "\n]}\n",
        encoding="utf-8",
    )
    print(f"{TARGET.stat().st_size:,} bytes")


def main(arguments: list[str]) -> None:
    if arguments and arguments[0] in ("--start", "--try"):
        (start if arguments[0] == "--start" else try_flags)(*arguments[1:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--jaxlib", nargs="+", metavar="V", help="only these versions of jaxlib"
    )
    parser.add_argument(
        "--tensorflow",
        nargs="+",
        type=Path,
        default=[],
        metavar="PYTHON",
        help="interpreters that have TensorFlow",
    )
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="3.12 runs every version so far",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where to install; answers found there are not asked for again",
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="flags-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        python = environment_in(folder, given.python)
        places = [
            installed_jaxlib(version, python, folder)
            for version in given.jaxlib or versions_of_jaxlib(python)
        ]
        places += [tensorflow_of(one) for one in given.tensorflow]
        tables = record_all(places, folder)
        try_foreign_flags(places, tables, folder)
        write(tables)


if __name__ == "__main__":
    main(sys.argv[1:])
