"""Add a bill of materials (CycloneDX 1.6, PEP 770) to the wheel: the locked Python packages and the C++ libraries.

The wheel contains none of them. pip installs the packages, and CMake finds the libraries where it builds the sources.
"""

import json
import pathlib
import re
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PINNED = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)
_FOUND = re.compile(r"^ *find_(?:package\((\w+) ?([\d.]+)?|library\((\w+?)(?:_LIBRARY)? )(.*)\)", re.MULTILINE)
_OF_THE_COMPILER = {"threads", "openmp"}
_FOR_TESTS = {"gtest"}


class BillOfMaterials(BuildHookInterface):  # type: ignore[type-arg]
    """hatchling calls this for every wheel, so that a wheel from the sdist is the same wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name, "kappa-validation.cdx.json")
        document = bill(pathlib.Path(self.root), self.metadata.version)
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()


def bill(root: pathlib.Path, version: str) -> dict[str, Any]:
    """Return the document, without time and serial number: equal sources give equal files."""
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    packages = [{**_component("pypi", name, release), "scope": "required"} for name, release in _PINNED.findall(lock)]
    suite = {**_component("pypi", "kappa-validation", version), "type": "application"}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**suite, "licenses": [{"license": {"id": "BSD-3-Clause"}}]}},
        "components": [*packages, *libraries(root)],
    }


def libraries(root: pathlib.Path) -> list[dict[str, Any]]:
    """Return the C++ libraries of all CMakeLists.txt with the oldest versions that these accept."""
    merged: dict[str, dict[str, Any]] = {}
    for path in sorted(path for top in ("emt_app", "reframe_checks") for path in (root / top).rglob("CMakeLists.txt")):
        for package, oldest, library, options in _FOUND.findall(path.read_text(encoding="utf-8")):
            name = (package or library).lower()
            if name in _OF_THE_COMPILER:
                continue
            entry = merged.setdefault(name, {**_component("generic", name), "scope": "optional"})
            if name in _FOR_TESTS:
                entry["scope"] = "excluded"
            elif "REQUIRED" in options:
                entry["scope"] = "required"
            if oldest:
                entry["properties"] = [{"name": "kappa:oldest-version", "value": oldest}]
    return [merged[name] for name in sorted(merged)]


def _component(kind: str, name: str, version: str = "") -> dict[str, Any]:
    purl = f"pkg:{kind}/{name}" + (f"@{version}" if version else "")
    return {"type": "library", "bom-ref": purl, "name": name, **({"version": version} if version else {}), "purl": purl}
