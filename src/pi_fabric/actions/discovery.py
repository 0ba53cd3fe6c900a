"""`tools.*`: what a program can find out about what it can call."""

from collections.abc import Iterator, Sequence

from pi_fabric.actions.registry import Catalogue, listing
from pi_fabric.base.errors import InvalidArguments, UnknownAction
from pi_fabric.base.jsonvalue import Json, JsonObject, is_number, stringify, text_or_empty
from pi_fabric.base.nearest import nearest
from pi_fabric.protocol.actions import Action, Provider

LIST_DEFAULT, LIST_MAX = 100, 1000
SEARCH_DEFAULT, SEARCH_MAX = 30, 100
# Weights of the ranking: an exact reference beats everything that only mentions the words.
EXACT, PREFIX, CONTAINS, MENTIONS = 100, 30, 10, 1


class Discovery:
    """Answers from one execution's catalogue; providers that are shut for it are not shown."""

    def __init__(self, catalogue: Catalogue, *, hidden: frozenset[str]) -> None:
        self._catalogue = catalogue
        self._hidden = hidden

    def providers(self) -> list[JsonObject]:
        """Name and description of each provider, sorted by name."""
        shown = sorted(self._shown(), key=lambda provider: provider.name)
        return [{"name": provider.name, "description": provider.description} for provider in shown]

    def list(self, args: JsonObject) -> Sequence[JsonObject]:
        """Actions by provider, namespace and a substring of name or description.

        Raises:
            UnknownAction: If the provider does not exist.
        """
        wanted = args.get("provider")
        names = [provider.name for provider in self._shown()]
        if wanted is not None and wanted not in names:
            known = ", ".join(sorted(names))
            raise UnknownAction(
                str(wanted), f"no such provider; there are {known}.", suggestions=nearest(str(wanted), names)
            )
        query = text_or_empty(args.get("query")).lower()
        limit = _limit(args.get("limit"), default=LIST_DEFAULT, maximum=LIST_MAX)
        matching = [
            listing(provider, action)
            for provider, action in self._actions()
            if wanted in (None, provider.name)
            and args.get("namespace") in (None, action.namespace)
            and query in f"{action.name}\n{action.description}".lower()
        ]
        return matching[:limit]

    def search(self, args: JsonObject) -> Sequence[JsonObject]:
        """Actions whose reference or description has every word of the query, best first.

        Equal ones are in order of reference; a blank query finds nothing.
        """
        query = text_or_empty(args.get("query")).strip().lower()
        words = query.split()
        if not words:
            return []
        limit = _limit(args.get("limit"), default=SEARCH_DEFAULT, maximum=SEARCH_MAX)
        scored = [
            (-_score(query, shown), shown["ref"], shown)
            for shown in (listing(provider, action) for provider, action in self._actions())
            if _mentions(words, f"{shown['ref']}\n{shown['description']}")
        ]
        return [shown for _, _, shown in sorted(scored, key=lambda item: item[:2])][:limit]

    def describe(self, args: JsonObject) -> JsonObject:
        """One action by its reference.

        Raises:
            InvalidArguments: If no reference was given.
            UnknownAction: If it does not exist.
        """
        ref = args.get("ref")
        if not isinstance(ref, str) or not ref:
            raise InvalidArguments("tools.describe", ["ref: is required and missing"])
        shown = {f"{provider.name}.{action.name}": (provider, action) for provider, action in self._actions()}
        if ref not in shown:
            raise UnknownAction(ref, "no such action.", suggestions=nearest(ref, shown, count=2))
        return listing(*shown[ref])

    def _shown(self) -> Iterator[Provider]:
        for name, provider in self._catalogue.providers.items():
            if name not in self._hidden:
                yield provider

    def _actions(self) -> Iterator[tuple[Provider, Action]]:
        for provider in self._shown():
            for action in self._catalogue.actions_of(provider.name):
                yield provider, action


def _score(query: str, shown: JsonObject) -> int:
    ref = str(shown["ref"]).lower()
    everything = f"{ref}\n{shown['description']}\n{shown.get('namespace', '')}\n".lower()
    everything += stringify(shown["inputSchema"]).lower()
    return (
        (EXACT if ref == query else 0)
        + (PREFIX if ref.startswith(query) else 0)
        + (CONTAINS if query in ref else 0)
        + (MENTIONS if query in everything else 0)
    )


def _mentions(words: Sequence[str], text: str) -> bool:
    lower = text.lower()
    return all(word in lower for word in words)


def _limit(value: Json, *, default: int, maximum: int) -> int:
    if not is_number(value):
        return default
    return max(1, min(maximum, int(value)))
