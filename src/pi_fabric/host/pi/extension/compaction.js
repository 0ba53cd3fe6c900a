// Pi asks before it summarizes; Python answers from the session's file. What comes back is checked here,
// and whatever goes wrong, Pi summarizes by itself.
//
// Handlers run in the order in which extensions were loaded, and the last result counts: one that is
// loaded after ours may replace it.

// From Pi's question to our answer, a start of Python included. A session of 50 MB takes 2 s from the
// disk; a model that summarizes takes longer than this.
const ANSWER_MS = Number(process.env.PI_FABRIC_COMPACT_MS) || 20_000;
// Python knows at once whether a program has asked for a compaction.
const TAKE_MS = 2_000;
// Pi tells nobody that the agent has settled before the compaction has ended which a program asked for.
// Ours takes a moment, a model's rarely more than a minute; a session must not hang on it for ever.
const COMMIT_MS = Number(process.env.PI_FABRIC_COMMIT_MS) || 180_000;
const MAX_SUMMARY_BYTES = 32 * 1024;
// A branch summary carries its facts in at most 128 KiB; a compaction's record has far less.
const MAX_DETAILS_BYTES = 160 * 1024;
const MAX_NOTICE_CHARS = 400;
const PI_VCC = "__pi_vcc__";
// Pi says only that it was cancelled. Whoever asked for it learns why, and so does whose request was too
// long for the model; at the threshold it would be told again after each turn.
const CAUSES = {
  "over-target": "its summary would not make the context smaller than the target",
  "empty-live-window": "nothing has been said since the last compaction",
  "no-source-events": "nothing in this session can be summarized",
};

export class Compaction {
  /** `warn(text, level)` tells the person. */
  constructor(sidecar, warn) {
    Object.assign(this, { sidecar, warn });
    this.engine = undefined; // as configured; known once Python has answered
  }

  register(pi) {
    const instead = "\nPi summarizes with the model instead.";
    const guarded = (what, handler, end = instead) => async (event, ctx) => {
      try {
        return await handler.call(this, event, ctx);
      } catch (error) {
        // An answer that comes after an abort interests nobody, and Pi knows of the abort.
        if (!event.signal?.aborted) this.warn(bounded(`Fabric could not ${what}: ${reason(error)}`) + end);
        return undefined;
      }
    };
    pi.on("session_before_compact", guarded("compact this session", this.beforeCompact));
    pi.on("session_before_tree", guarded("summarize the branch", this.beforeTree));
    for (const event of ["session_start", "turn_end", "session_compact", "session_tree"])
      pi.on(event, (_event, ctx) => this.follow(ctx));
    pi.on("agent_settled", guarded("see whether a compaction was asked for", this.settled, ""));
  }

  /** Let Python read on while nobody waits for it. Never throws. */
  follow(ctx) {
    try {
      const file = this.engine === "fabric" ? ctx.sessionManager.getSessionFile() : undefined;
      if (file) this.sidecar.tell("session", { file, leafId: ctx.sessionManager.getLeafId() });
    } catch {
      // It will read all of it when it is asked.
    }
  }

  async beforeCompact(event, ctx) {
    const { preparation, branchEntries, customInstructions } = event;
    if (this.engine === "pi" || customInstructions === PI_VCC) return undefined;
    const answer = await this.#ask("compact", branchEntries, event.signal, ctx, {
      tokensBefore: preparation.tokensBefore,
      settings: preparation.settings,
      contextWindow: ctx.model?.contextWindow,
      customInstructions,
      reason: event.reason,
      hasPiVccResult: Boolean(event._piVccOverriding),
    });
    if (answer.kind !== "compaction") return this.#declined(answer, event.reason !== "threshold");
    const { summary, firstKeptEntryId, details } = checked(answer);
    if (firstKeptEntryId !== "" && !branchEntries.some((entry) => entry.id === firstKeptEntryId))
      throw new Error("the answer keeps from an entry that is not on the branch");
    // `pi -p` prints the last message of what is left, which the model's answer must then be.
    if (firstKeptEntryId === "" && ctx.mode === "print" && event.reason !== "overflow") return undefined;
    event._fabricCompaction = true; // pi-vcc, loaded later, leaves it to us
    return { compaction: { summary, firstKeptEntryId, tokensBefore: preparation.tokensBefore, details } };
  }

  async beforeTree(event, ctx) {
    const { userWantsSummary, replaceInstructions, entriesToSummarize, oldLeafId, customInstructions } =
      event.preparation;
    // Instructions that replace Pi's prompt are for a model.
    if (!userWantsSummary || replaceInstructions || this.engine === "pi") return undefined;
    const answer = await this.#ask("summarizeBranch", entriesToSummarize, event.signal, ctx, {
      oldLeafId,
      customInstructions,
    });
    if (answer.kind !== "summary") return this.#declined(answer);
    return { summary: checked(answer) };
  }

  /** The one place where what a program has asked for is carried out: no turn is under way. */
  async settled(_event, ctx) {
    this.follow(ctx);
    if (!this.sidecar.info) return;
    try {
      const taken = await this.sidecar.request("compact.take", {}, { timeoutMs: TAKE_MS });
      if (!taken) return;
      this.sidecar.tell("compact.finished", await committed(ctx, taken.customInstructions ?? undefined));
    } catch (error) {
      // It may have been taken all the same, and then the slot would stay shut.
      this.sidecar.tell("compact.finished", { error: reason(error) });
      throw error;
    }
  }

  #declined({ kind, cause, notice }, isTold = false) {
    if (kind === "none") return undefined;
    if (kind !== "cancel") throw new Error(`the answer is of an unknown kind: ${String(kind).slice(0, 40)}`);
    if (notice) this.warn(bounded(`Fabric did not summarize: ${notice}`), "error");
    else if (isTold && CAUSES[cause]) this.warn(`Fabric did not compact: ${CAUSES[cause]}.`, "info");
    return { cancel: true };
  }

  /** Ask with the ids alone; entries that are not on the disk go along the second time. */
  async #ask(method, entries, signal, ctx, fields) {
    const expired = AbortSignal.timeout(ANSWER_MS);
    const options = { signal: signal ? AbortSignal.any([signal, expired]) : expired, graceMs: 0 };
    const file = ctx.sessionManager.getSessionFile() ?? null;
    const params = { file, ids: entries.map(({ id }) => id), sent: file ? [] : entries, ...fields };
    try {
      const answer = await this.sidecar.request(method, params, options);
      if (answer?.kind !== "wanted") return answer ?? {};
      const wanted = new Set(answer.ids);
      const sent = entries.filter(({ id }) => wanted.has(id));
      return (await this.sidecar.request(method, { ...params, sent }, options)) ?? {};
    } catch (error) {
      throw expired.aborted ? new Error(`no answer came within ${ANSWER_MS / 1000} s`) : error;
    }
  }
}

/** How Pi's compaction ended: its result, or `{error}`. Never rejects. */
function committed(ctx, customInstructions) {
  return new Promise((resolve) => {
    const failed = (error) => resolve({ error: String(error?.message ?? error) });
    const overdue = `it had not ended after ${COMMIT_MS / 1000} s; Pi may still end it`;
    const timer = setTimeout(failed, COMMIT_MS, overdue);
    timer.unref(); // Pi may end meanwhile
    const ended = (settle) => (value) => {
      clearTimeout(timer);
      settle(value);
    };
    try {
      ctx.compact({ customInstructions, onComplete: ended(resolve), onError: ended(failed) });
    } catch (error) {
      ended(failed)(error);
    }
  });
}

/** The parts of an answer that may go into the session. Throws when they may not. */
function checked({ summary, firstKeptEntryId, details }) {
  if (typeof summary !== "string" || summary.trim() === "") throw new Error("the answer has no summary");
  if (Buffer.byteLength(summary) > MAX_SUMMARY_BYTES) throw new Error("the summary is longer than 32 KiB");
  if (firstKeptEntryId !== undefined && typeof firstKeptEntryId !== "string")
    throw new Error("the answer does not say what is kept");
  if (details === null || typeof details !== "object" || Array.isArray(details))
    throw new Error("the answer has no details");
  if (Buffer.byteLength(JSON.stringify(details)) > MAX_DETAILS_BYTES)
    throw new Error("the details are longer than 160 KiB");
  return firstKeptEntryId === undefined ? { summary, details } : { summary, firstKeptEntryId, details };
}

const reason = (error) => String(error?.message ?? error).split("\n", 1)[0];

const bounded = (text) =>
  text.length > MAX_NOTICE_CHARS ? `${text.slice(0, MAX_NOTICE_CHARS).toWellFormed()}…` : text;
