"""Where the entries of a Claude Code log hang: ids and parents from uuids and parentUuids.

Every parent is an entry given before or null, and every id is given once, so the tree has no cycles
whatever the log says.

- A record that gives no entry hands its place to its children.
- A parent that is not in the log (records are lost, and some are never written) is replaced by the entry
  before it of the same agent, never by one of another agent.
- The blocks of one answer are several records. When it calls several tools, the log hangs each result on
  its own block, so that all but one are off the branch: results and answers go to the end of the answer.
- A uuid that comes again with the same content gives nothing, with another content an id of its own.
"""

from collections.abc import Hashable, Sequence

from pi_fabric.base.jsonvalue import Json, JsonObject, is_object, stringify, text_or_empty
from pi_fabric.history.session.translation import entry_of

_MAIN = ""


class Answer:
    """One answer of the model, with the results of its calls, as far as the log has told it."""

    __slots__ = ("agent", "seen", "tail")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.tail: str | None = None
        """Its last entry."""
        self.seen: set[int] = set()
        """Hashes of its parts: what is streamed twice is given once."""


class Links:
    """Places the entries of a log; keeps ids and hashes, no texts."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._repeats: dict[str, int] = {}
        self._tails: dict[str, str | None] = {}
        self._contents: set[int] = set()
        self._answers: dict[tuple[str, str], Answer] = {}
        self._answer_of: dict[str, Answer] = {}
        self._last: dict[str, str] = {}
        self._last_id: str | None = None

    def place(
        self, record: JsonObject, bodies: Sequence[JsonObject], *, own_id: str, timestamp: str
    ) -> list[JsonObject]:
        """Make entries of what a record says.

        Args:
            record: As decoded from the log.
            bodies: Entries without id and parent; used up.
            own_id: For a record without a uuid.
            timestamp: For all of them.
        """
        uuid = text_or_empty(record.get("uuid"))
        agent = _agent_of(record)
        parent = self._parent_of(record, agent)
        if not bodies:
            if uuid:
                self._tails.setdefault(uuid, parent)
            return []
        if uuid and not _is_first((uuid, stringify(list(bodies))), self._contents):
            return []
        answer = self._answer_for(record, bodies, agent, parent)
        if answer is not None:
            parent = answer.tail or parent
            bodies = _new_bodies(bodies, answer)
        entries: list[JsonObject] = []
        base = self.unused(uuid or own_id)
        for index, body in enumerate(bodies):
            entry_id = base if not index else self.unused(f"{base}/{index}")
            entries.append(entry_of(body, entry_id=entry_id, parent_id=parent, timestamp=timestamp))
            parent = self._keep(entry_id, agent, answer)
        if uuid:
            self._tails[uuid] = parent
        return entries

    def entry_id(self, uuid: Json) -> str | None:
        """The last entry that a record gave, or that stands for it; None for an unknown one."""
        return self._tails.get(uuid) if isinstance(uuid, str) else None

    def leaf_behind_agent(self) -> str | None:
        """The last entry of the main conversation, when another agent's follows it; else None."""
        main = self._last.get(_MAIN)
        return main if main != self._last_id else None

    def unused(self, wanted: str) -> str:
        """The id, or a like one, that no entry has; it stays free until it is kept."""
        if wanted not in self._ids:
            return wanted
        # Counted, since a log may repeat one uuid thousands of times.
        count = self._repeats.get(wanted, 1) + 1
        while f"{wanted}~{count}" in self._ids:
            count += 1
        self._repeats[wanted] = count
        return f"{wanted}~{count}"

    def _parent_of(self, record: JsonObject, agent: str) -> str | None:
        # A boundary of a compaction has no parent, but a logical one.
        named = record.get("parentUuid") or record.get("logicalParentUuid")
        if not named and "parentUuid" in record:
            return None
        if isinstance(named, str) and named in self._tails:
            return self._tails[named]
        return self._last.get(agent)

    def _answer_for(
        self, record: JsonObject, bodies: Sequence[JsonObject], agent: str, parent: str | None
    ) -> Answer | None:
        """The answer that a record continues, begins or gives a result to; None for everything else."""
        before = self._answer_of.get(parent) if parent else None
        if before is not None and before.agent != agent:
            before = None
        roles = {_role_of(body) for body in bodies}
        if "assistant" not in roles:
            return before if "toolResult" in roles else None
        message = record.get("message")
        message_id = text_or_empty(message.get("id")) if is_object(message) else ""
        own = self._answers.get((agent, message_id)) if message_id else None
        if own is not None:
            return own
        answer = Answer(agent)
        # Behind all results of the answer before it, wherever the log hangs it.
        answer.tail = before.tail if before is not None else None
        if message_id:
            self._answers[agent, message_id] = answer
        return answer

    def _keep(self, entry_id: str, agent: str, answer: Answer | None) -> str:
        self._ids.add(entry_id)
        self._last[agent] = self._last_id = entry_id
        if answer is not None:
            answer.tail = entry_id
            self._answer_of[entry_id] = answer
        return entry_id


def _agent_of(record: JsonObject) -> str:
    if record.get("isSidechain") is not True:
        return _MAIN
    return f"agent-{text_or_empty(record.get('agentId'))}"


def _role_of(body: JsonObject) -> Json:
    message = body.get("message")
    return message.get("role") if is_object(message) else None


def _new_bodies(bodies: Sequence[JsonObject], answer: Answer) -> list[JsonObject]:
    """The bodies without the parts of the answer that were given before."""
    new: list[JsonObject] = []
    for body in bodies:
        if _role_of(body) == "assistant":
            message = body["message"]
            message["content"] = [
                part for part in message["content"] if _is_first(stringify(part), answer.seen)
            ]
            if not message["content"]:
                continue
        new.append(body)
    return new


def _is_first(key: Hashable, seen: set[int]) -> bool:
    known = len(seen)
    seen.add(hash(key))
    return len(seen) > known
