"""Settings as typed dataclasses that can be read from YAML and ``key=value``, and written with their explanations."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from brgcn.errors import SettingsError

T = TypeVar("T")
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def setting(default: Any, help: str) -> Any:
    """A field of a settings dataclass with its explanation."""
    return dataclasses.field(default=default, metadata={"help": help})


def build(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of ``cls`` from plain values; an unknown key or a wrong type names the key and the nearest known."""
    return update(cls(), values, where)


def update(settings: T, values: Mapping[str, Any], where: str) -> T:
    """A copy with ``values`` put in, each checked against the type of its field."""
    hints = get_type_hints(type(settings))
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    changes = {}
    for key, value in values.items():
        if key not in names:
            near = difflib.get_close_matches(str(key), names, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise SettingsError(f"unknown setting {key!r}", where=where, remedy=f"{hint}Known: {', '.join(names)}.")
        changes[key] = _coerce(key, value, hints[key], where)
    try:
        return dataclasses.replace(settings, **changes)  # type: ignore[type-var]
    except SettingsError as error:
        raise SettingsError(error.message, where=where, remedy=error.remedy) from None


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file, or an error that names file and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingsError("there is no such file", where=str(path), remedy="Check the path.") from None
    except IsADirectoryError:
        message = "this is a folder, but a file is expected"
        raise SettingsError(message, where=str(path), remedy="Name a file inside it.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        message = f"the text is not valid UTF-8 ({error.reason})"
        raise SettingsError(message, where=f"{path}, line {line}", remedy="Save the file as UTF-8.") from None
    except OSError as error:
        raise SettingsError(f"the file cannot be read ({error.strerror})", where=str(path)) from None
    try:
        content = yaml.safe_load(text)
    except ValueError as error:  # what looks like a date and is none
        raise SettingsError(f"not valid YAML ({error})", where=str(path), remedy="Put it in quotes.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None)
        message = f"not valid YAML: {problem}" if problem else "not valid YAML"
        raise SettingsError(message, where=f"{path}{place}", remedy="Write one 'key: value' per line.") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        message = "this is a list or a single value, but settings are needed"
        raise SettingsError(message, where=str(path), remedy="Write one 'key: value' per line.")
    return content


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """``["hidden=32"]`` as a mapping; values are read as YAML does."""
    values = {}
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign or not key.strip():
            raise SettingsError(
                f"--set {assignment!r} is not of the form key=value", remedy="For example --set hidden=32"
            )
        try:
            values[key.strip()] = yaml.safe_load(text) if text else ""
        except (yaml.YAMLError, ValueError):
            values[key.strip()] = text
    return values


def to_yaml(settings: Any, *, explain: bool = False) -> str:
    """One line per setting, in the order of the dataclass; with its explanation above it when ``explain``."""
    lines = []
    for field in dataclasses.fields(settings):
        if explain:
            lines.append(f"# {field.metadata.get('help', '')}")
        value = yaml.safe_dump(getattr(settings, field.name)).strip().removesuffix("\n...")
        lines.append(f"{field.name}: {value}")
    return "\n".join(lines) + "\n"


def _coerce(key: str, value: Any, kind: Any, where: str) -> Any:
    """Numbers written as text (YAML reads 1e-3 as text) become numbers, and where a text is wanted ``true`` is one
    (YAML reads it as a truth value); everything else must fit as it is."""
    if get_origin(kind) in (Union, types.UnionType):
        if value is None:
            return None
        kind = next(k for k in get_args(kind) if k is not type(None))
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and not isinstance(value, bool):
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
    if kind is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            return float(value)
    if kind is str and isinstance(value, str | bool):
        return value if isinstance(value, str) else str(value).lower()
    raise SettingsError(f"{key} must be {_KINDS.get(kind, kind)}, not {value!r}", where=where)
