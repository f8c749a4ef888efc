"""The part of JSON Schema that schemas of steps use, and no more: a word that is not here allows everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def problem(schema: Any, value: Any) -> str | None:
    """The first thing in which the value does not fit."""
    return next(_problems(schema, value, ""), None)


def declares(schema: Any, name: str) -> bool:
    """Whether the schema has a property of this name at its root."""
    return isinstance(schema, dict) and name in (schema.get("properties") or {})


def _problems(schema: Any, value: Any, at: str) -> Iterator[str]:
    where = at or "/"
    if schema is False:
        yield f"{where} must not be there"
    if not isinstance(schema, dict):
        return
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds is not None and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is not of type {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{where} is not {schema['const']!r}"
    if isinstance(value, dict):
        yield from _members(schema, value, at)
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _problems(schema.get("items", True), item, f"{at}/{place}")


def _members(schema: dict[str, Any], value: dict[str, Any], at: str) -> Iterator[str]:
    for name in schema.get("required") or []:
        if name not in value:
            yield f"{at}/{name} is missing"
    declared = schema.get("properties") or {}
    for name, member in value.items():
        yield from _problems(declared.get(name, schema.get("additionalProperties", True)), member, f"{at}/{name}")


def _is(value: Any, kind: str) -> bool:
    """To Python, True is a number."""
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES.get(kind, (object,)))
