"""The names of the package: all there, all documented, loaded only when used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import agentsession as ags


def test_every_public_name_resolves() -> None:
    assert set(ags.__all__) == {name for names in ags._HOMES.values() for name in names}
    assert len(set(ags.__all__)) == len(ags.__all__)
    for name in ags.__all__:
        assert getattr(ags, name) is not None
        assert name in dir(ags)


def test_public_classes_and_functions_are_documented() -> None:
    for name in ags.__all__:
        value = getattr(ags, name)
        if isinstance(value, type) or callable(value):
            assert value.__doc__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(ags, "nothing_of_that_name")


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    code = (
        "import sys, agentsession; "
        "print([m for m in sys.modules if m.startswith('agentsession.')], 'msgspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['agentsession._lazily'] False"


def test_no_public_name_is_that_of_a_module() -> None:
    # Importing the module would put it in the name's place.
    modules = {path.stem for path in Path(ags.__file__).parent.glob("*.py")}
    modules |= {path.name for path in Path(ags.__file__).parent.iterdir() if path.is_dir()}
    assert modules.isdisjoint(ags.__all__)
