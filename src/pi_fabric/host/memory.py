"""A host in memory: files in a dictionary and answers in a list. For tests, here and elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio.lowlevel

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.host import ApprovalQuestion, HostPorts, LiveSession, ToolResult

IMAGE_SUFFIX = ".png"


class MemoryHost:
    """Offers core tools over files in memory, and a person who answers as told.

    Args:
        files: Text by path; changed by `write` and `edit`. A path that ends in `.png` is an image.
        answers: What the person says to each question in turn; None is a host without a person.
        session: Where programs run; None is a host without a session.
    """

    def __init__(
        self,
        files: Mapping[str, str] | None = None,
        *,
        answers: Sequence[bool] | None = None,
        session: LiveSession | None = None,
    ) -> None:
        self.files = dict(files or {})
        self.calls: list[tuple[str, JsonObject]] = []
        """Each tool call that arrived, in order."""
        self.questions: list[ApprovalQuestion] = []
        self.has_ui = answers is not None
        self.session = session
        """May be changed at any time, as a person may navigate at any time."""
        self._answers = list(answers or ())

    @property
    def ports(self) -> HostPorts:
        """This host's ports."""
        return HostPorts(tools=self, approvals=self, models=_NoModels(), session=self)

    async def run(
        self, name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
    ) -> ToolResult:
        """Run one tool on the files in memory; `bash` echoes its command."""
        del call_id, cwd, update
        self.calls.append((name, args))
        # As with a real tool, the answer never comes in the same turn of the loop.
        await anyio.lowlevel.checkpoint()
        match name:
            case "write":
                created = args["path"] not in self.files
                self.files[args["path"]] = args["content"]
                return ToolResult(text="written", details={"created": created})
            case "bash":
                return ToolResult(text=args["command"])
            case "ls" | "find" | "grep":
                return ToolResult(text="\n".join(sorted(self.files)))
            case "edit":
                return self._edit(args)
            case _:
                return self._read(args["path"])

    async def confirm(self, question: ApprovalQuestion) -> bool:
        """The next of the given answers; no when there is none left."""
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else False

    async def current(self) -> LiveSession | None:
        """`session` as it is now."""
        await anyio.lowlevel.checkpoint()
        return self.session

    def _read(self, path: str) -> ToolResult:
        if path not in self.files:
            return ToolResult(text=f"{path}: no such file", is_error=True)
        if path.endswith(IMAGE_SUFFIX):
            image = ImageBlock(data=self.files[path], mime_type="image/png")
            return ToolResult(text=f"[image {path}]", images=(image,))
        return ToolResult(text=self.files[path])

    def _edit(self, args: JsonObject) -> ToolResult:
        text = self.files.get(args["path"], "")
        for edit in args["edits"]:
            if edit["oldText"] not in text:
                return ToolResult(text=f"{args['path']}: text not found", is_error=True)
            text = text.replace(edit["oldText"], edit["newText"], -1 if edit.get("all") else 1)
        self.files[args["path"]] = text
        return ToolResult(text="edited", details={"replacements": len(args["edits"])})


class _NoModels:
    async def list(self) -> Sequence[JsonObject]:
        """None."""
        return []
