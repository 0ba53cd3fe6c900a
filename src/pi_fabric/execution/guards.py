"""What a run may not call, whatever its approvals say."""

from pi_fabric.base.errors import LimitReached, Unavailable
from pi_fabric.base.jsonvalue import JsonObject

FULL_CODE_PROVIDERS = frozenset({"pi", "extensions"})
"""Shut unless full code mode gives Fabric the host's tools."""
CHILD_REFS = frozenset({"agents.run", "agents.spawn", "agents.create"})
"""Calls that start a child; they share one cap per execution."""


class FullCodeGuard:
    """Keeps `pi.*` and `extensions.*` shut in orchestration-only mode, computed references included."""

    def __init__(self, *, full_code_mode: bool) -> None:
        self._is_open = full_code_mode

    @property
    def shut(self) -> dict[str, str]:
        """Namespaces that programs cannot use, and why."""
        reason = "is shut because fullCodeMode is false"
        return {} if self._is_open else {name: f"{name}.* {reason}" for name in sorted(FULL_CODE_PROVIDERS)}

    @property
    def hidden(self) -> frozenset[str]:
        """Providers that discovery does not show."""
        return frozenset() if self._is_open else FULL_CODE_PROVIDERS

    def __call__(self, ref: str, args: JsonObject) -> None:
        """Refuse a call that the mode shuts."""
        provider = ref.partition(".")[0]
        if not self._is_open and provider in FULL_CODE_PROVIDERS:
            raise Unavailable(
                f"{ref}: {self.shut[provider]}",
                "Use the agent's own tools, or set fullCodeMode to true.",
            )


class ChildCapGuard:
    """Counts the children that one execution starts."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._started = 0

    def __call__(self, ref: str, args: JsonObject) -> None:
        """Count a call that starts a child; refuse it over the cap."""
        if ref not in CHILD_REFS:
            return
        if self._started >= self._limit:
            raise LimitReached(
                "starting agents in one run",
                self._limit,
                "children",
                hint="see subagents.maxPerExecution and agentBudget",
            )
        self._started += 1
