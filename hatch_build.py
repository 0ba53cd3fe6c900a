"""Build hook: puts quickjs.wasm into the wheel, or next to the source of an editable install."""

import importlib.util
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE_PATH = "pi_fabric/runtime/engines/quickjs/quickjs.wasm"


class QuickJsHook(BuildHookInterface[Any]):
    """Asks for a compiler only when the module is not cached, so that most installs take seconds."""

    PLUGIN_NAME = "custom"

    @cached_property
    def _recipe(self) -> ModuleType:
        path = Path(self.root, "native", "quickjs", "build.py")
        spec = importlib.util.spec_from_file_location("quickjs_build", path)
        assert spec is not None
        assert spec.loader is not None
        recipe = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(recipe)
        return recipe

    def dependencies(self) -> list[str]:
        """What the build environment needs besides hatchling."""
        return list(self._recipe.build_requirements())

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Have the module built and placed."""
        if not self._recipe.is_cached():
            self.app.display_info("compiling QuickJS-NG to WebAssembly, about a minute, once on this machine")
        try:
            module: Path = self._recipe.build_module()
        except self._recipe.BuildError as error:
            sys.exit(str(error))
        if version == "editable":
            target = Path(self.root, "src", PACKAGE_PATH)
            # Renamed into place: a worker may be reading the old one.
            new = target.with_suffix(".new")
            new.write_bytes(module.read_bytes())
            new.replace(target)
        else:
            build_data["force_include"][str(module)] = PACKAGE_PATH
