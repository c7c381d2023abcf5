from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from brgcn.config import build, parse_assignments, read_yaml, setting, to_yaml, update
from brgcn.errors import SettingsError


@dataclass(frozen=True)
class Example:
    width: int = setting(16, "how wide")
    rate: float = setting(0.1, "how fast")
    name: str = setting("a", "what it is called")
    deep: bool = setting(False, "whether it is deep")
    limit: int | None = setting(None, "where it ends")


def test_values_keep_their_types() -> None:
    made = build(Example, {"width": 4.0, "rate": "1e-3", "deep": True, "limit": 3, "name": "x"}, "here")
    assert made == Example(4, 0.001, "x", True, 3)
    assert isinstance(made.width, int)
    assert build(Example, {"rate": 1}, "here").rate == 1.0
    assert update(made, {"limit": None}, "here").limit is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"widht": 3}, "here: unknown setting 'widht'\n  Did you mean width"),
        ({"width": "wide"}, "width must be a whole number, not 'wide'"),
        ({"width": 1.5}, "width must be a whole number"),
        ({"width": True}, "width must be a whole number"),
        ({"rate": "fast"}, "rate must be a number"),
        ({"deep": 1}, "deep must be true or false"),
        ({"name": 3}, "name must be a text"),
    ],
)
def test_wrong_values_name_the_key(values, message) -> None:
    with pytest.raises(SettingsError, match=message):
        build(Example, values, "here")


def test_yaml_round_trip_with_explanations() -> None:
    made = Example(3, 0.5, "yes: no", True)
    text = to_yaml(made, explain=True)
    assert "# how wide\nwidth: 3\n" in text
    assert build(Example, yaml.safe_load(text), "here") == made


def test_a_text_may_look_like_a_truth_value() -> None:
    assert build(Example, parse_assignments(["name=true"]), "x").name == "true"


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b=x=y", "c=true", "d="]) == {"a": 1, "b": "x=y", "c": True, "d": ""}
    with pytest.raises(SettingsError, match="key=value"):
        parse_assignments(["nonsense"])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a: 1\nb: ]\n", "line 2"), (b"- 1\n- 2\n", "key: value"), (b"\xff\xfe", "not valid UTF-8")],
)
def test_bad_yaml_names_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=message) as caught:
        read_yaml(path)
    assert "c.yaml" in str(caught.value)
    with pytest.raises(SettingsError, match="there is no such file"):
        read_yaml(tmp_path / "absent.yaml")
