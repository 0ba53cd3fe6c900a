"""Which providers there are, and what they offer at this moment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.base.errors import Unavailable, UnknownAction
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.base.nearest import nearest
from pi_fabric.protocol.actions import Action, Provider

# A name in a message; a program may make up one of any length.
MAX_NAME_BYTES = 80
PROVIDER_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Why a namespace of the guest answers with an error."""

    reason: str
    """What is missing or switched off; a sentence."""
    hint: str = ""
    """What to do."""
    is_declared: bool = True
    """False keeps the namespace from the type checker too: a setting switched it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The provider and action that a reference means."""

    provider: Provider
    action: Action


class Catalogue:
    """Every action on offer, taken once at the start of an execution; refreshed on a miss."""

    def __init__(self, providers: Mapping[str, Provider], absent: Mapping[str, Absence]) -> None:
        self._providers = providers
        self._absent = absent
        self._actions: dict[str, dict[str, Action]] = {}

    async def load(self) -> None:
        """Ask each provider for its actions."""
        for name, provider in self._providers.items():
            self._actions[name] = {action.name: action for action in await provider.actions()}

    @property
    def providers(self) -> Mapping[str, Provider]:
        """Providers by name, in the order of registration."""
        return self._providers

    @property
    def absent(self) -> Mapping[str, Absence]:
        """Namespaces that answer with an error, by name."""
        return self._absent

    def actions_of(self, provider: str) -> Sequence[Action]:
        """Actions of one provider in its own order; empty when there is no such provider."""
        return list(self._actions.get(provider, {}).values())

    def find(self, ref: str) -> Resolved | None:
        """Look a reference up without asking anybody."""
        provider, _, name = ref.partition(".")
        action = self._actions.get(provider, {}).get(name)
        return None if action is None else Resolved(provider=self._providers[provider], action=action)

    async def resolve(self, ref: str) -> Resolved:
        """Find the action that `ref` (`provider.action`) means.

        Raises:
            Unavailable: If the namespace exists and cannot answer.
            UnknownAction: If there is nothing of this name; suggests the nearest.
        """
        found = self.find(ref)
        if found is not None:
            return found
        provider, dot, name = ref.partition(".")
        if provider in self._absent:
            absence = self._absent[provider]
            raise Unavailable(absence.reason, absence.hint)
        if not dot or not name or provider not in self._providers:
            raise self._unknown_provider(ref, provider)
        fresh = {action.name: action for action in await self._providers[provider].actions()}
        self._actions[provider] = fresh
        if name not in fresh:
            close = [f"{provider}.{other}" for other in nearest(name, fresh, count=2)]
            raise UnknownAction(
                ref, f"{provider} has no action {clip_bytes(name, MAX_NAME_BYTES)!r}.", suggestions=close
            )
        return Resolved(provider=self._providers[provider], action=fresh[name])

    def _unknown_provider(self, ref: str, provider: str) -> UnknownAction:
        if "." not in ref:
            return UnknownAction(ref, "a reference has the form provider.action.")
        known = ", ".join(sorted(self._providers))
        close = nearest(provider, self._providers)
        return UnknownAction(
            ref,
            f"no provider {clip_bytes(provider, MAX_NAME_BYTES)!r}; there are {known}.",
            suggestions=close,
        )


class Registry:
    """The providers of this process, in the order in which they are listed."""

    def __init__(self, providers: Iterable[Provider], *, absent: Mapping[str, Absence] | None = None) -> None:
        self._providers: dict[str, Provider] = {}
        self._absent = dict(absent or {})
        for provider in providers:
            self._add(provider)

    async def catalogue(self) -> Catalogue:
        """What is on offer now."""
        catalogue = Catalogue(self._providers, self._absent)
        await catalogue.load()
        return catalogue

    def _add(self, provider: Provider) -> None:
        if not PROVIDER_NAME.fullmatch(provider.name):
            raise ValueError(f"provider name {provider.name!r} must match {PROVIDER_NAME.pattern}")
        if provider.name in self._providers:
            raise ValueError(f"two providers are named {provider.name!r}")
        self._providers[provider.name] = provider


def listing(provider: Provider, action: Action) -> JsonObject:
    """One action as `tools.list` and `tools.describe` show it."""
    shown: JsonObject = {
        "ref": f"{provider.name}.{action.name}",
        "provider": provider.name,
        "name": action.name,
        "description": action.description,
        "inputSchema": action.input_schema,
    }
    if action.output_schema is not None:
        shown["outputSchema"] = action.output_schema
    shown["risk"] = action.risk
    if action.namespace is not None:
        shown["namespace"] = action.namespace
    return shown
