"""Kinds `instructions` and `encode`: what may be asked of a compaction."""

from kinds.compare import differences
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.encode import encode_request
from pi_fabric.compaction.instructions import InstructionError, decode_instructions
from pi_fabric.compaction.request import CompactRequest, RequestRefused


def check_instructions(case: JsonObject) -> list[str]:
    """Compare the lines and the policy, or the code of the refusal."""
    decoded = decode_instructions(case["input"]["source"])
    if isinstance(decoded, InstructionError):
        actual: JsonObject = {"ok": False, "code": decoded.code, "sourceBytes": decoded.source_bytes}
    else:
        actual = {"ok": True, "requestLines": list(decoded.lines), "policy": decoded.policy.to_json()}
    return differences(case["output"], actual)


def check_encode(case: JsonObject) -> list[str]:
    """Compare the encoded text, or the code of the refusal."""
    given: JsonObject = case["input"]["request"]
    preserve = given.get("preserve")
    request = CompactRequest(
        instructions=given.get("instructions"), preserve=None if preserve is None else tuple(preserve)
    )
    try:
        actual: JsonObject = {"ok": True, "encoded": encode_request(request)}
    except RequestRefused as error:
        actual = {"ok": False, "code": error.refusal}
    return differences(case["output"], actual)
