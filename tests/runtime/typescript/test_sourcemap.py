import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.emit import Emitted, Emitter
from pi_fabric.runtime.typescript.sourcemap import Segment, ShiftedPositions, decode_mappings

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def encode(number: int) -> str:
    rest = -number * 2 + 1 if number < 0 else number * 2
    digits = ""
    while True:
        rest, digit = rest >> 5, rest & 31
        digits += ALPHABET[digit | (32 if rest else 0)]
        if not rest:
            return digits


def place_of(emitted: Emitted, text: str, *, nth: int = 0) -> tuple[int, int]:
    """Line and column of `text` in the script, as the engine counts: columns in UTF-8 bytes."""
    start = -1
    for _ in range(nth + 1):
        start = emitted.javascript.index(text, start + 1)
    before = emitted.javascript[:start].replace("\r\n", "\n").split("\n")
    return len(before), len(before[-1].encode()) + 1


def test_a_known_map_decodes_to_its_segments() -> None:
    assert decode_mappings("AAAA,SAASA;;EACA") == [
        [Segment(0, 0, 0), Segment(9, 0, 9)],
        [],
        [Segment(2, 1, 9)],
    ]


def test_a_segment_without_a_source_is_left_out() -> None:
    assert decode_mappings("A,CAAA") == [[Segment(1, 0, 0)]]


def test_a_character_outside_the_alphabet_is_an_error() -> None:
    with pytest.raises(ValueError, match="encodes no number"):
        decode_mappings("AA*A")


@given(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 2**20), st.integers(0, 2**20)), max_size=30))
def test_decoding_undoes_encoding(triples: list[tuple[int, int, int]]) -> None:
    ordered = sorted(triples)
    fields: list[str] = []
    column = line = source_column = 0
    for triple in ordered:
        deltas = (triple[0] - column, 0, triple[1] - line, triple[2] - source_column)
        fields.append("".join(encode(delta) for delta in deltas))
        column, line, source_column = triple

    assert decode_mappings(",".join(fields)) == [[Segment(*triple) for triple in ordered]]


def test_an_uncompiled_program_is_one_line_lower() -> None:
    positions = ShiftedPositions("a();\n'é😀'; b();")

    assert [positions.locate(line, 3) for line in (1, 2, 4)] == [None, (1, 3), None]
    assert positions.locate(3, 11) == (2, 8)


PROGRAM = """\
// comment
interface A {
  x: number }

enum E { A = 1,
  B }
class P { constructor(private a: number,
   readonly b = 2) {} }

const f = (x: number): void => {
  if (x) throw new Error('here ' + E[x]);
};

f(1 as any);
"""


@pytest.mark.anyio
@pytest.mark.requirement("typescript:positions:script")
async def test_positions_lead_back_over_types_that_are_gone(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit(PROGRAM)

    assert emitted.positions.locate(*place_of(emitted, "new Error")) == (11, 16)
    assert emitted.positions.locate(*place_of(emitted, "f(1)")) == (14, 1)


@pytest.mark.anyio
async def test_columns_behind_an_astral_character_are_exact(compiler: Compiler) -> None:
    code = "const s: string = '😀'; throw new Error(s);"
    emitted = await Emitter(compiler, limit_s=20).emit(code)

    assert emitted.positions.locate(*place_of(emitted, "new Error")) == (1, 31)


@pytest.mark.anyio
async def test_separators_inside_strings_do_not_move_lines(compiler: Compiler) -> None:
    code = "const s = 'a\u2028b' as string;\r\nconst t = `\u2029\r\n`;\r\nthrow new Error(s + t);"
    emitted = await Emitter(compiler, limit_s=20).emit(code)

    assert emitted.positions.locate(*place_of(emitted, "new Error")) == (4, 7)


@pytest.mark.anyio
async def test_helpers_and_the_wrapper_have_no_position(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("using x = null as any;\nthrow new Error('y');")

    assert emitted.positions.locate(*place_of(emitted, "__addDisposableResource")) is None
    assert emitted.positions.locate(*place_of(emitted, "async function program")) is None
    assert emitted.positions.locate(*place_of(emitted, "new Error('y')")) == (2, 7)


@pytest.mark.anyio
async def test_a_position_inside_a_piece_that_stayed_the_same_is_exact(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("const   n: number =   'abcdef'.length;")
    line, column = place_of(emitted, "def'")

    assert emitted.positions.locate(line, column) == (1, 27)


@pytest.mark.anyio
async def test_a_line_beyond_the_script_has_no_position(compiler: Compiler) -> None:
    emitted = await Emitter(compiler, limit_s=20).emit("return 1;")

    assert emitted.positions.locate(99, 1) is None
