"""Kinds of memory: `tokenizer`, `normalize`, `digest`, `recall`, `expand` and `sessions`.

Of the texts of entries only the words are compared: every word of the recorded text but its label words is
in ours, in order, and what ours has besides is a label of ours.
"""

import atexit
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isclose
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from kinds.compare import differences
from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.config.normalize import normalize
from pi_fabric.memory import Current, Memory
from pi_fabric.memory.building import Builder, Options, Task
from pi_fabric.memory.cache import Cache
from pi_fabric.memory.entries import EntryReader, cut_text
from pi_fabric.memory.lineage import LiveBranch
from pi_fabric.memory.model import Privacy
from pi_fabric.memory.source import Source
from pi_fabric.memory.tokenizer import tokenize
from pi_fabric.runtime.engines.quickjs.engine import QuickJsEngine
from pi_fabric.runtime.regex import SandboxRegex

PLACE: Final = "<CORPUS>"
SHARED_CORPUS: Final = Path(__file__).parents[4] / "shared" / "goldens" / "corpus"
DEFAULT_CWD: Final = "/work/proj-a"
# The recording's own label words, and ours, as tokens.
THEIR_LABELS: Final = frozenset(
    ["tool", "toolresult", "error", "exit", "bash", "fabric", "operation", "branch", "phase", "compaction"]
)
OUR_LABELS: Final = frozenset(
    (
        "bash", "branchfact", "compactionsummary", "errormessage", "exitcode", "fabricoperation",
        "fabricphase", "iserror", "phase", "ref", "toolcall", "toolresult",
    )
)  # fmt: skip
# By how many words two texts may differ that were cut to the same length with other labels.
CUT_WORDS: Final = 8
REPEATS: Final = 3
SCORE_SHARE: Final = 1e-9
CUT_SCORE_SHARE: Final = 0.01
CUT_INDEX_SHARE: Final = 1e-4
FALLBACK_ID: Final = "fallback-id"


def check_tokenizer(case: JsonObject) -> list[str]:
    """Compare the words."""
    return differences(case["output"]["tokens"], tokenize(case["input"]["text"]), "tokens")


def check_normalize(case: JsonObject) -> list[str]:
    """Compare lineage, header, coverage and entries."""
    given = case["input"]
    privacy = given["privacy"]
    corpus = _Corpus.of(case)
    source = Source(corpus.real(given["file"]))
    lineage = source.lines.lineage(given["branches"], _live(given.get("liveBranch")))
    reader = EntryReader(
        session_file=source.path,
        privacy=Privacy(
            thinking=privacy.get("indexThinking", False), tool_output=privacy.get("indexToolOutput", True)
        ),
    )
    entries = [entry for line in source.entries(lineage) for entry in reader.read(*line)]
    for entry in entries:
        cut_text(entry, given["maxEntryChars"])
    reasons = set(reader.reasons | lineage.reasons | source.reasons)
    reasons |= {"max_entry_chars"} if any(entry.truncated for entry in entries) else set()
    header: JsonObject = {"sessionId": source.session_id, "cwd": source.cwd}
    if source.parent_session is not None:
        header["parentSession"] = source.parent_session
    actual: JsonObject = {
        "kind": "ok",
        "lineage": {
            "leafId": lineage.leaf_id,
            "ordinals": None if lineage.ordinals is None else list(lineage.ordinals),
            "fingerprint": lineage.fingerprint,
            "coverageReasons": sorted(lineage.reasons),
        },
        "header": header if source.has_header else None,
        "indexCoverage": {"complete": not reasons, "reasons": sorted(reasons)},
        "entries": [corpus.shown(msgspec.to_builtins(entry)) for entry in entries],
    }
    return _compare(case["output"], actual)


def check_digest(case: JsonObject) -> list[str]:
    """Compare the cold record, and that its size on the disk is the one it tells."""
    given, expected = case["input"], case["output"]
    corpus = _Corpus.of(case)
    config = normalize({"memory": given["options"]}).config.memory
    options = Options(
        branches=given["branches"],
        max_entry_chars=config.max_entry_chars,
        thinking=config.index_thinking,
        tool_output=config.index_tool_output,
        max_vocabulary_bytes=given["options"].get("maxColdVocabularyBytes", 512 * 1024),
        max_cache_bytes=given["options"].get("maxColdCacheBytes", 1024 * 1024),
    )
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.prepare()
        task = Task(file=corpus.real(given["file"]), tier="cold")
        [built] = Builder(cache, options).build([task])
        if built.row is None:
            return differences(expected, {"kind": "ok", "persisted": False}) if expected["persisted"] else []
        data = cache.record(built.row.record).read_bytes()
    record = corpus.shown(json.loads(data))
    found = [] if record.pop("cacheBytes") == len(data) else ["cacheBytes is not the size of the file"]
    record.pop("cacheSourceRatio")
    digest = dict(expected["digest"])
    if digest["sessionId"] == FALLBACK_ID:
        # The recording was given another name for a file that has none of its own.
        digest |= {"sessionId": Path(given["file"]).stem, "cwd": ""}
    ours = set(record.pop("vocabulary"))
    theirs = set(digest.pop("vocabulary"))
    if not record["indexCoverage"]["reasons"]:
        found += [f"vocabulary: {word!r} is missing" for word in sorted(theirs - ours - THEIR_LABELS)]
        found += [f"vocabulary: {word!r} is not expected" for word in sorted(ours - theirs - OUR_LABELS)]
    for one in (record, digest):
        one["indexCoverage"] = {**one["indexCoverage"], "vocabularyBytes": 0}
        one.pop("cacheBytes", None)
        one.pop("cacheSourceRatio", None)
    actual: JsonObject = {"kind": "ok", "persisted": True, "digest": record}
    return found + differences({**expected, "digest": digest}, actual)


async def check_memory(case: JsonObject) -> list[str]:
    """Compare an action's answer: from an empty index, at once again, and as another process gives it."""
    given, expected = case["input"], case["output"]
    corpus = await anyio.to_thread.run_sync(_Corpus.of, case)
    settings = {"hotSessions": 50, "regexTimeoutMs": 2000, **given.get("config", {})}
    environ = {"PI_CODING_AGENT_DIR": corpus.real(f"{PLACE}/agent"), "HOME": "/nowhere"}
    args: JsonObject = corpus.with_real_paths(given["args"])
    if given["action"] == "recall":
        args["detail"] = "full"
    current = None
    if given.get("sessionFile") is not None:
        file = corpus.real(given["sessionFile"])
        current = Current(file=file, branch=_live(given.get("liveBranch")))
    # A second question may index what the first one's budget left.
    repeats = 1 if settings.keys() & {"maxSyncSessions", "maxSyncSourceBytes"} else REPEATS
    found: list[str] = []
    async with anyio.TemporaryDirectory() as folder:
        config = replace(normalize({"memory": settings}).config.memory, index_dir=folder)
        async with QuickJsEngine(spare=False) as engine:
            regex = SandboxRegex(engine)
            if args.get("queryMode") == "regex":
                await regex.prepare()
            memory = Memory(config=config, environ=environ, regex=regex)
            for repeat in range(repeats):
                if repeat == repeats - 1:
                    memory = Memory(config=config, environ=environ, regex=regex)
                actual = corpus.shown(await _ask(memory, given, args, current))
                found += [f"{line} (question {repeat + 1})" for line in _compare(expected, actual)]
    return found


async def _ask(memory: Memory, given: JsonObject, args: JsonObject, current: Current | None) -> JsonObject:
    actions = {"recall": memory.recall, "expand": memory.expand, "sessions": memory.sessions}
    try:
        result = await actions[given["action"]](
            args, cwd=Path(given.get("cwd", DEFAULT_CWD)), current=current
        )
    except RequestError:
        return {"kind": "throws"}
    return {"kind": "result", "result": result}


def _live(value: Json) -> LiveBranch | None:
    if not is_object(value):
        return None
    ids = (entry.get("id") for entry in value["entries"] if is_object(entry))
    return LiveBranch(ids=tuple(one for one in ids if isinstance(one, str)), leaf_id=value["leafId"])


def _compare(expected: JsonObject, actual: JsonObject) -> list[str]:
    """Differences of two answers, with the texts of entries compared word by word."""
    theirs, ours = _Texts.taken_from(expected), _Texts.taken_from(actual)
    found = differences(theirs.rest, ours.rest)
    share = theirs.score_share
    found += [
        f"score: {old} expected, {new} found"
        for old, new in zip(theirs.scores, ours.scores, strict=not found)
        if not isclose(old, new, rel_tol=share)
    ]
    if not found and len(theirs.texts) == len(ours.texts):
        pairs = zip(theirs.texts, ours.texts, strict=True)
        found = [line for pair in pairs if (line := _text_difference(*pair))]
    return found


def _text_difference(theirs: tuple[str, bool], ours: tuple[str, bool]) -> str:
    old = [word for word in tokenize(theirs[0]) if word not in THEIR_LABELS | OUR_LABELS]
    new = [word for word in tokenize(ours[0]) if word not in THEIR_LABELS | OUR_LABELS]
    if theirs[1] or ours[1]:
        # Cut to a length, so that longer labels leave less of the text; the last word may be a part of one.
        shorter = min(len(old), len(new))
        if abs(len(old) - len(new)) > CUT_WORDS:
            return f"text: {theirs[0][:80]!r} and {ours[0][:80]!r} are cut at different places"
        old, new = old[: shorter - 1], new[: shorter - 1]
    return "" if old == new else f"text: expected {theirs[0][:80]!r}, found {ours[0][:80]!r}"


@dataclass(slots=True)
class _Texts:
    """An answer without its texts, and the texts in order."""

    rest: Json = None
    texts: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """With whether each was cut."""

    scores: list[float] = field(default_factory=list[float])
    """Of segments."""

    @property
    def score_share(self) -> float:
        """How exactly scores are compared.

        Labels of other lengths leave more or less of a text that is cut, and so change what a word weighs:
        much where such a text is part of the answer, a little where one is part of the index.
        """
        if any(is_cut for _, is_cut in self.texts):
            return CUT_SCORE_SHARE
        return CUT_INDEX_SHARE if "max_entry_chars" in json.dumps(self.rest) else SCORE_SHARE

    @classmethod
    def taken_from(cls, answer: Json) -> "_Texts":
        taken = cls()
        taken.rest = taken._strip(answer)
        return taken

    def _strip(self, value: Json) -> Json:
        if is_array(value):
            return [self._strip(item) for item in value]
        if not is_object(value):
            return value
        if value.get("kind") == "throws":
            # Which sentence or code says so is nobody's contract.
            return {"kind": "throws"}
        # Children of an entry keep their own `text` fields, which are the source's.
        if "entryId" in value and "index" in value and "text" in value:
            self.texts.append((value["text"], value.get("truncated", False)))
            value = {key: item for key, item in value.items() if key != "text"}
            return {key: self._strip(item) for key, item in sorted(value.items())}
        if "exactMatches" in value:
            self.scores.append(value["score"])
            value = {key: item for key, item in value.items() if key != "score"}
        ours_alone = ("message", "text") if "code" in value or "coverage" in value else ()
        return {key: self._strip(item) for key, item in sorted(value.items()) if key not in ours_alone}


class _Corpus:
    """A copy of the recorded sessions with their recorded times."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @classmethod
    def of(cls, case: JsonObject) -> "_Corpus":
        """The corpus beside the file of a case, else the one that is shared."""
        beside = Path(case["folder"]) / "corpus"
        return cls(_copied(str(beside if beside.is_dir() else SHARED_CORPUS)))

    def real(self, text: str) -> str:
        """A path of the recording as one on this machine."""
        return text.replace(PLACE, self._folder)

    def with_real_paths(self, value: Json) -> Json:
        """The same for every text within."""
        return json.loads(json.dumps(value).replace(PLACE, self._folder))

    def shown(self, value: Json) -> Json:
        """What we answered, with paths as in the recording."""
        return json.loads(json.dumps(value).replace(self._folder, PLACE))


@lru_cache(maxsize=1)
def _copied(corpus: str) -> str:
    folder = tempfile.mkdtemp(prefix="pi-fabric-corpus-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    manifest = json.loads((Path(corpus) / "manifest.json").read_bytes())
    for one in manifest["files"]:
        target = Path(folder) / one["file"]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(corpus) / one["file"], target)
        os.utime(target, ns=(one["mtimeMs"] * 1_000_000,) * 2)
    return folder
