"""TypeScript, the language of programs: check, emit, declarations, positions."""

from pi_fabric.runtime.typescript.compiler import Compiler, find_compiler
from pi_fabric.runtime.typescript.declarations import generate_declarations
from pi_fabric.runtime.typescript.model import (
    COMPILER_HINT,
    Diagnostic,
    PositionMap,
    Prepared,
    Refused,
)
from pi_fabric.runtime.typescript.render import recovery_hint, render
from pi_fabric.runtime.typescript.service import MAX_PROGRAM_BYTES, TypeScript

__all__ = [
    "COMPILER_HINT",
    "MAX_PROGRAM_BYTES",
    "Compiler",
    "Diagnostic",
    "PositionMap",
    "Prepared",
    "Refused",
    "TypeScript",
    "find_compiler",
    "generate_declarations",
    "recovery_hint",
    "render",
]
