"""`fabric.workflow.*`: phases and what a program tells about its own work."""

from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject
from pi_fabric.protocol.events import ActivityUpdated, EventSink, PhaseStarted, ProgressReported


class Workflow:
    """Phases of one run in order, and its activity, told to the run's sink."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._phases: list[str] = []

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases so far."""
        return tuple(self._phases)

    async def phase(self, args: JsonObject) -> Json:
        """Begin a phase.

        Returns:
            `{name, index, id?}`; index counts from 0.

        Raises:
            InvalidArguments: If the name is blank or no text.
        """
        name = args.get("name")
        if not isinstance(name, str) or not name.strip():
            raise InvalidArguments("phase", ["name: must be a non-blank string"], schema_paths=["name"])
        index = len(self._phases)
        self._phases.append(name)
        phase_id = _text(args.get("id"))
        total = args.get("total")
        self._sink(
            PhaseStarted(
                index=index,
                name=name,
                id=phase_id,
                description=_text(args.get("description")),
                total=total if isinstance(total, int | float) else None,
            )
        )
        return {"name": name, "index": index} | ({} if phase_id is None else {"id": phase_id})

    async def configure(self, args: JsonObject) -> Json:
        """Name and describe the whole workflow; returns what was stored."""
        self._sink(ActivityUpdated(kind="workflow", data=args))
        return args

    async def item(self, args: JsonObject) -> Json:
        """Set one item of work; returns what was stored.

        Raises:
            InvalidArguments: If the item has no id.
        """
        if not _text(args.get("id")):
            raise InvalidArguments("workflow.item", ["id: must be a non-blank string"], schema_paths=["id"])
        self._sink(ActivityUpdated(kind="item", data=args))
        return args

    async def event(self, args: JsonObject) -> Json:
        """Report that something happened."""
        self._sink(ActivityUpdated(kind="event", data=args))
        return UNDEFINED

    async def progress(self, args: JsonObject) -> Json:
        """Show a line to the person who waits."""
        message = args.get("message")
        self._sink(ProgressReported(message=message if isinstance(message, str) else ""))
        return UNDEFINED


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
