"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Write one JSON object.")]

ProjectOption: TypeAlias = Annotated[
    Path, typer.Option("--cwd", help="Folder of the project.", exists=True, file_okay=False)
]
