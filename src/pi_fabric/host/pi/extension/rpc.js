// Newline-delimited JSON-RPC 2.0 over two byte streams, requests in both directions.
// A frame ends at byte 0x0A and nowhere else: U+2028 and friends are text.

const CANCELLED = -32800;
const METHOD_NOT_FOUND = -32601;
const HANDLER_FAILED = -32000;
// A frame longer than this is not ours; the other side has the same bound.
const MAX_LINE_BYTES = 64 * 1024 * 1024;

export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(String(message ?? "unknown error"));
    this.code = code;
    this.data = data;
  }
}

/** No answer came in time: the other side may hang. */
export class Unanswered extends Error {}

/** Cuts a byte stream into lines; an over-long line is dropped and reported. */
export class LineCutter {
  #parts = [];
  #bytes = 0;
  #isSkipping = false;

  constructor({ onLine, onOverlong }) {
    this.onLine = onLine;
    this.onOverlong = onOverlong;
  }

  push(chunk) {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#keep(rest.subarray(0, end));
      this.#flush();
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
  }

  #keep(part) {
    if (this.#isSkipping || part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= MAX_LINE_BYTES) return;
    this.#parts = [];
    this.#isSkipping = true;
    this.onOverlong();
  }

  #flush() {
    const line = this.#isSkipping ? "" : Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    this.#isSkipping = false;
    if (line.trim()) this.onLine(line);
  }
}

/** One end of the line. Never throws out of an event; a broken peer rejects what waits for it. */
export class Peer {
  #nextId = 1;
  #waiting = new Map();
  #serving = new Map();
  #closed;

  constructor({ input, output, handlers, onGarbage }) {
    this.output = output;
    this.handlers = handlers;
    this.onGarbage = onGarbage;
    const cutter = new LineCutter({
      onLine: (line) => this.#receive(line),
      onOverlong: () => onGarbage("a line longer than 64 MiB"),
    });
    input.on("data", (chunk) => cutter.push(chunk));
    input.on("error", () => {});
    output.on("error", () => {});
  }

  /** Reject everything that waits and abort everything being served. */
  close(error) {
    if (this.#closed) return;
    this.#closed = error;
    for (const entry of this.#waiting.values()) entry.settle(() => entry.reject(error));
    for (const controller of this.#serving.values()) controller.abort(error);
    this.#serving.clear();
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  /**
   * Ask the other side. After `signal` fires it has `graceMs` to answer all the same, so that an
   * aborted program can still hand over its trace. `isBackground` lets Node end meanwhile.
   */
  request(method, params, { timeoutMs, signal, graceMs = 3000, isBackground = false } = {}) {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const entry = { resolve, reject, timers: [], onAbort: undefined };
      entry.settle = (deliver) => {
        if (!this.#waiting.delete(id)) return;
        for (const timer of entry.timers) clearTimeout(timer);
        signal?.removeEventListener("abort", entry.onAbort);
        deliver();
      };
      const giveUp = (ms, message) => {
        const timer = setTimeout(() => {
          this.notify("$/cancel", { id });
          entry.settle(() => reject(new Unanswered(message)));
        }, ms);
        if (isBackground) timer.unref();
        entry.timers.push(timer);
      };
      entry.onAbort = () => {
        this.notify("$/cancel", { id });
        giveUp(graceMs, `${method} was aborted; no answer came within ${graceMs / 1000} s`);
      };
      this.#waiting.set(id, entry);
      if (timeoutMs) giveUp(timeoutMs, `no answer to ${method} came within ${timeoutMs / 1000} s`);
      const problem = this.#send({ id, method, params });
      if (problem) return entry.settle(() => reject(new Error(`the call of ${method} ${problem}`)));
      if (signal?.aborted) return entry.onAbort();
      return signal?.addEventListener("abort", entry.onAbort, { once: true });
    });
  }

  // Gives what keeps a frame from being sent, for the one that it was to answer or to ask.
  #send(message) {
    if (this.#closed || this.output.destroyed || this.output.writableEnded) return undefined;
    const { frame, problem } = framed(message);
    if (problem === undefined) {
      this.output.write(frame);
      return undefined;
    }
    if (message.id !== undefined && !message.method)
      this.#send({ id: message.id, error: { code: HANDLER_FAILED, message: `the result ${problem}` } });
    return problem;
  }

  #receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.onGarbage(`not JSON: ${line.slice(0, 120)}`);
    }
    if (message === null || typeof message !== "object" || message.jsonrpc !== "2.0")
      return this.onGarbage(`not JSON-RPC: ${line.slice(0, 120)}`);
    if (typeof message.method === "string") return this.#serve(message);
    const entry = this.#waiting.get(message.id);
    if (!entry) return undefined; // answered too late: the caller has given up
    return entry.settle(() =>
      message.error ? entry.reject(new RpcError(message.error)) : entry.resolve(message.result),
    );
  }

  #serve({ id, method, params }) {
    if (method === "$/cancel") return void this.#serving.get(params?.id)?.abort();
    const controller = new AbortController();
    if (id !== undefined) this.#serving.set(id, controller);
    const answer = (message) => {
      if (id === undefined) return;
      this.#serving.delete(id);
      this.#send({ id, ...message });
    };
    const run = async () => {
      const handler = Object.hasOwn(this.handlers, method) ? this.handlers[method] : undefined;
      if (!handler) throw new RpcError({ code: METHOD_NOT_FOUND, message: `unknown method ${method}` });
      return handler(params ?? {}, { signal: controller.signal });
    };
    run().then(
      (result) => answer({ result: result ?? null }),
      (error) => answer({ error: {
        code: controller.signal.aborted ? CANCELLED : (error?.code ?? HANDLER_FAILED),
        message: String(error?.message ?? error),
      } }),
    );
    return undefined;
  }
}

function framed(message) {
  try {
    const frame = `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
    if (Buffer.byteLength(frame) <= MAX_LINE_BYTES) return { frame };
    return { problem: "is larger than 64 MiB; ask for less at once" };
  } catch (error) {
    return { problem: `cannot be written as JSON: ${String(error?.message ?? error).split("\n", 1)[0]}` };
  }
}
