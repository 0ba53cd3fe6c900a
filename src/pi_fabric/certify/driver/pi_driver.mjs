// Drives the functions of an installed Pi, and our extension beside them, for the certification.
//
// One request a line on standard input, {id, method, params}; one answer a line, {id, result} or
// {id, error}. Started with the folder of Pi's package and the file of our extension.
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [piFolder, extensionFile] = process.argv.slice(2);
const rootUrl = pathToFileURL(join(piFolder, "dist", "index.js")).href;
const HOST = "@earendil-works/pi-coding-agent";

// Pi maps this import of its extensions to itself; outside Pi it has to be done for it.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === HOST) return { url: rootUrl, shortCircuit: true };
    if (specifier.startsWith("@earendil-works/")) return next(specifier, { ...context, parentURL: rootUrl });
    return next(specifier, context);
  },
});

const pi = await import(rootUrl);
// Its own session uses these; the package's root does not export all of them.
const compaction = await import(pathToFileURL(join(piFolder, "dist", "core", "compaction", "compaction.js")).href);
const { default: activate } = await import(pathToFileURL(extensionFile).href);

class Session {
  constructor({ cwd, sessionDir, settings, contextWindow }) {
    Object.assign(this, { cwd, settings, contextWindow });
    this.manager = pi.SessionManager.create(cwd, sessionDir);
    this.handlers = new Map();
    this.notices = [];
    activate(this.extensionApi());
  }

  // What an extension may call while it is loaded; what it does not need here does nothing.
  extensionApi() {
    const on = (event, handler) => {
      this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler]);
      return () => {};
    };
    const known = { on, getActiveTools: () => [], getAllTools: () => [], getCommands: () => [] };
    return new Proxy(known, { get: (target, name) => target[name] ?? (() => undefined) });
  }

  // Without a model: nothing is known of a window, so Fabric's fallback cut applies.
  context() {
    return {
      sessionManager: this.manager,
      cwd: this.cwd,
      mode: "rpc",
      hasUI: true,
      ui: { notify: (text) => this.notices.push(String(text)), confirm: async () => false },
      isProjectTrusted: () => false,
      model: undefined,
    };
  }

  async emit(event, payload) {
    let result;
    for (const handler of this.handlers.get(event) ?? []) {
      const returned = await handler({ type: event, ...payload }, this.context());
      if (returned) result = returned;
    }
    return result;
  }

  append(messages) {
    return messages.map((message) => {
      const id = this.manager.appendMessage(message);
      return { id, contextIds: ids(this.manager.buildContextEntries()) };
    });
  }

  // As Pi's own session does it: is it time, what would be summarized, ask the extensions, store.
  async compact({ suffix = "", instructions }) {
    const branch = this.manager.getBranch();
    const { messages } = this.manager.buildSessionContext();
    const { tokens } = compaction.estimateContextTokens(messages);
    const isEligible = pi.shouldCompact(tokens, this.contextWindow, this.settings);
    const prepared = compaction.prepareCompaction(branch, this.settings);
    const facts = {
      tokens,
      isEligible,
      isPrepared: prepared !== undefined,
      isSplitTurn: prepared?.isSplitTurn === true,
      previousSummary: prepared?.previousSummary ?? null,
      branch: branch.map(outline),
    };
    if (!isEligible || !prepared) return { ...facts, kind: "ineligible", reads: [] };
    const reads = new Set();
    const note = (name) => typeof name === "string" && reads.add(name);
    const preparation = new Proxy(prepared, {
      get(target, name, receiver) {
        note(name);
        return Reflect.get(target, name, receiver);
      },
      // The other way to a value; `in` and a list of names give none away.
      getOwnPropertyDescriptor(target, name) {
        note(name);
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    });
    const { signal } = new AbortController();
    const reason = instructions ? "manual" : "threshold";
    const customInstructions = instructions ?? undefined;
    const event = { preparation, branchEntries: branch, customInstructions, reason, willRetry: false, signal };
    const answer = await this.emit("session_before_compact", event);
    const told = { ...facts, reads: [...reads], notices: this.notices.splice(0) };
    if (answer?.cancel) return { ...told, kind: "cancel" };
    if (!answer?.compaction) return { ...told, kind: "none" };
    return { ...told, kind: "compaction", ...(await this.store(answer.compaction, suffix)) };
  }

  async store({ summary, firstKeptEntryId, tokensBefore, details }, suffix) {
    const id = this.manager.appendCompaction(summary + suffix, firstKeptEntryId, tokensBefore, details, true);
    await this.emit("session_compact", { compactionEntry: this.manager.getEntry(id), fromExtension: true });
    const entry = this.manager.getEntry(id);
    return {
      summary,
      // Said here: on the way to Python half a character would become a whole one.
      isText: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(summary)) === summary,
      firstKeptEntryId,
      tokensBefore,
      details,
      compactionId: id,
      stored: { summary: entry.summary, details: entry.details, firstKeptEntryId: entry.firstKeptEntryId },
      contextIds: ids(this.manager.buildContextEntries()),
      publicContextIds: ids(pi.buildContextEntries(this.manager.getEntries(), this.manager.getLeafId())),
    };
  }
}

const ids = (entries) => entries.map(({ id }) => id);

/** What the checks need of an entry: its place, which calls it makes or answers, and from where it keeps. */
function outline({ id, type, message, firstKeptEntryId }) {
  const calls = (Array.isArray(message?.content) ? message.content : [])
    .filter((part) => part?.type === "toolCall")
    .map((part) => part.id);
  const answers = message?.role === "toolResult" ? message.toolCallId : null;
  return { id, type, role: message?.role ?? null, calls, answers, keepsFrom: firstKeptEntryId ?? null };
}

let session;

const methods = {
  info: () => ({
    version: pi.VERSION,
    node: process.version,
    exports: Object.fromEntries(
      ["SessionManager", "buildContextEntries", "buildSessionContext", "shouldCompact", "prepareCompaction"]
        .map((name) => [name, shape(name)]),
    ),
  }),
  async open(params) {
    await methods.close();
    session = new Session(params);
    await session.emit("session_start", { reason: "startup" });
    return { file: session.manager.getSessionFile() ?? null, id: session.manager.getSessionId() };
  },
  append: ({ messages }) => session.append(messages),
  compact: (params) => session.compact(params),
  // A boundary that names no entry, as a faulty extension may have stored it.
  storeCompaction: ({ summary, firstKeptEntryId }) =>
    session.manager.appendCompaction(summary, firstKeptEntryId, 1, {}, true),
  // Many small sessions at once, each with its own messages.
  create: ({ cwd, sessionDir, sessions }) =>
    sessions.map((messages) => {
      const manager = pi.SessionManager.create(cwd, sessionDir);
      const entryIds = messages.map((message) => manager.appendMessage(message));
      return { file: manager.getSessionFile(), id: manager.getSessionId(), entryIds };
    }),
  async close() {
    const open = session;
    session = undefined;
    await open?.emit("session_shutdown", { reason: "quit" });
    return null;
  },
};

function shape(name) {
  const found = pi[name] ?? compaction[name];
  const isFound = typeof found === "function";
  return { isPublic: typeof pi[name] === "function", isFound, parameters: isFound ? found.length : null };
}

function answer(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

let rest = "";
let last = Promise.resolve();
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) last = last.then(() => serve(line));
});
process.stdin.on("end", () => last.then(() => methods.close()).finally(() => process.exit(0)));

async function serve(line) {
  const { id, method, params } = JSON.parse(line);
  try {
    answer({ id, result: await methods[method](params ?? {}) });
  } catch (error) {
    answer({ id, error: String(error?.stack ?? error) });
  }
}
