"""Kinds `livecut`, `instructions` and `encode`: where a branch is cut and what may be asked."""

from kinds.compare import differences
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.compaction.budget import read_budget
from pi_fabric.compaction.cut import Empty, find_live_cut
from pi_fabric.compaction.encode import encode_request
from pi_fabric.compaction.instructions import InstructionError, decode_instructions
from pi_fabric.compaction.request import CompactRequest, RequestRefused


def check_livecut(case: JsonObject) -> list[str]:
    """Compare the cut and its figures; without options nothing is known of the model."""
    options: JsonObject = case["input"]["options"] or {"tokensBefore": 0, "budget": {}}
    given: JsonObject = options["budget"]
    budget = read_budget(
        context_window=given.get("contextWindow"),
        target_ratio=given.get("targetContextRatio"),
        settings=given,
    )
    cut = find_live_cut(case["input"]["entries"], tokens_before=options["tokensBefore"], budget=budget)
    if isinstance(cut, Empty):
        return differences(case["output"], {"kind": "empty"})
    actual: JsonObject = {
        "kind": "cut",
        "firstKeptEntryId": cut.first_kept_entry_id,
        "summarizedEntryIds": list(cut.summarized_ids),
        "firstSummarizedEntryId": cut.summarized_ids[0],
        "lastSummarizedEntryId": cut.summarized_ids[-1],
        "lastTimestamp": cut.timestamp,
        "budget": None if cut.figures is None else cut.figures.to_json(),
    }
    return differences(case["output"], actual)


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
