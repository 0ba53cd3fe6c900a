// The Python process: started in the background, watched, restarted with back-off. Whatever happens
// to it, Pi goes on: every event has a listener, every wait a bound.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { Peer, Unanswered } from "./rpc.js";

// From spawn to the answer of `initialize`; 0.2-0.4 s is usual, a cold disk takes seconds.
const START_MS = Number(process.env.PI_FABRIC_START_MS) || 15_000;
// While a call waits, a sidecar that leaves three of these in a row unanswered is taken for hung.
const HEARTBEAT_MS = Number(process.env.PI_FABRIC_HEARTBEAT_MS) || 5_000;
const MISSED_BEATS = 3;
// A process that has let a request wait too long must answer this at once, or is taken for hung.
const PROBE_MS = 2_000;
// Its own orderly end has three bounded steps of 2 s; after that it is not coming.
const STOP_MS = 8_000;
// Delay before the next start after the n-th failure in a row; then it waits to be needed again.
const BACK_OFF_MS = [0, 1_000, 4_000, 15_000];
// One that has lived this long had started well: its end is a first failure.
const STEADY_MS = 10_000;
// A program that is not our sidecar floods its stdout; ours writes nothing but frames.
const MAX_GARBAGE = 200;
const TAIL_CHARS = 4_096;
const TAIL_LINES = 12;

export class Sidecar {
  #run;
  #failures = 0;
  #calls = 0;
  #isStopped = false;
  #retry;
  #beat;
  #tail = "";
  starts = 0;
  garbage = 0;

  /**
   * `command()` gives {python, origin, args, env, cwd} and `hello()` the parameters of `initialize`;
   * `onReady(info)` and `onLost(error, {isLasting})` hear about each start and each loss.
   */
  constructor({ command, hello, handlers, onReady, onLost }) {
    Object.assign(this, { command, hello, handlers, onReady, onLost });
  }

  /** What `initialize` answered; undefined while there is no live process. */
  get info() {
    return this.#run?.info;
  }

  get pid() {
    return this.#run?.child?.pid;
  }

  get uptimeMs() {
    return this.info ? Date.now() - this.#run.startedAt : 0;
  }

  /** Start now unless it runs; never throws and never waits. */
  start() {
    this.#isStopped = false;
    this.ensure().catch(() => {});
  }

  /** The live line, started when there is none. Rejects with a text for the person. */
  ensure() {
    if (this.#isStopped) return Promise.reject(new Error("Fabric has ended with its session."));
    clearTimeout(this.#retry);
    if (this.#run) return this.#run.ready;
    const run = { startedAt: Date.now(), missed: 0, garbage: 0 };
    this.#run = run;
    run.ready = this.#launch(run);
    return run.ready;
  }

  /** Wait for a start that is under way, at most `ms`; tells whether it is ready. Never rejects. */
  async settled(ms) {
    if (!this.#run) return false;
    let timer;
    const expired = new Promise((resolve) => (timer = setTimeout(resolve, ms, false)));
    const ready = this.#run.ready.then(() => true, () => false);
    const isReady = await Promise.race([ready, expired]);
    clearTimeout(timer);
    return isReady;
  }

  /** One request; Node stays alive and the process is watched for as long as it takes. */
  async request(method, params, options) {
    this.#watch(+1);
    try {
      const peer = await unlessAborted(this.ensure(), options?.signal);
      return await peer.request(method, params, options);
    } catch (error) {
      if (error instanceof Unanswered) this.#probe();
      throw error;
    } finally {
      this.#watch(-1);
    }
  }

  /** Tell it something, if it is there. */
  tell(method, params) {
    if (this.info) this.#run.peer.notify(method, params);
  }

  /** End it. Not awaited: Pi's exit must not wait for us, and Python ends when its stdin does. */
  stop() {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    const run = this.#run;
    this.#run = undefined;
    if (!run) return;
    run.error ??= new Error("Fabric has ended with its session.");
    run.peer?.close(run.error);
    run.child?.stdin?.end();
    if (run.missed > 0) killGroup(run.child);
    // One that is only stopped ends by itself as soon as it may go on.
    else signalGroup(run.child, "SIGCONT");
    setTimeout(() => killGroup(run.child), STOP_MS).unref();
  }

  /** End it and start again with a clean record. */
  restart() {
    this.stop();
    this.#isStopped = false;
    this.#failures = 0;
    return this.ensure();
  }

  async #launch(run) {
    this.#tail = "";
    this.starts += 1;
    let noStart = (error) => `it could not be started: ${error?.message ?? error}`;
    try {
      const { python, origin, args, env, cwd } = this.command();
      noStart = (error) => existsSync(cwd)
        ? `${python} (from ${origin}) could not be started: ${error?.message ?? error}`
        : `it could not be started: the folder ${cwd} is not there any more`;
      // Its own group: Ctrl-C in the terminal is Pi's to interpret.
      const stdio = ["pipe", "pipe", "pipe"];
      run.child = spawn(python, args, { cwd, env, stdio, detached: true, windowsHide: true });
      run.child.on("error", (error) => this.#lost(run, noStart(error)));
      // Node gives no pipes where the system has no descriptors left.
      if (!run.child.stdout) throw new Error("too many files are open");
    } catch (error) {
      throw this.#lost(run, noStart(error));
    }
    this.#listen(run);
    try {
      run.info = await run.peer.request("initialize", this.hello(), { timeoutMs: START_MS, isBackground: true });
    } catch (error) {
      throw this.#lost(run, `no right answer at its start: ${error?.message ?? error}`);
    }
    this.onReady(run.info);
    return run.peer;
  }

  #listen(run) {
    const { child } = run;
    run.peer = new Peer({
      input: child.stdout,
      output: child.stdin,
      handlers: this.handlers,
      onGarbage: (what) => this.#onGarbage(run, what),
    });
    child.stderr.on("data", (chunk) => this.#remember(chunk.toString("utf8")));
    child.stderr.on("error", () => {});
    // Nothing can come any more from one that has closed its stdout, whether it ends or not.
    child.stdout.once("end", () => later(1_000, () => this.#lost(run, "it has closed its standard output")));
    // `close` brings the last words on stderr, but a grandchild may hold the pipes: `exit` gets a
    // little time and then counts.
    child.on("exit", (code, signal) => {
      const report = () => this.#lost(run, `it ended (${signal ?? `exit code ${code}`})`);
      child.once("close", report);
      later(200, report);
    });
    // Pi must be able to end while Python idles; a waiting call holds Node by its heartbeat.
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref?.();
  }

  #onGarbage(run, what) {
    this.garbage += 1;
    run.garbage += 1;
    if (run.garbage <= 5) this.#remember(`[on stdout, not a frame] ${what}\n`);
    if (run.garbage > MAX_GARBAGE && !run.info) this.#lost(run, "what it writes are not frames");
  }

  #remember(text) {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
  }

  /** Settle the loss of one run, plan the next start, and return the error to show. */
  #lost(run, reason) {
    if (run.error) return run.error;
    const words = this.#tail.trim().split("\n").slice(-TAIL_LINES).join("\n");
    run.error = new Error(`Fabric's Python process is not there: ${reason}.\n`
      + (words ? `Its last words:\n${words}\n` : "")
      + "Run `pi-fabric doctor` to find the cause, `/fabric reload` to start it again.");
    if (this.#run === run) this.#run = undefined;
    killGroup(run.child);
    run.peer?.close(run.error);
    this.#plan(run);
    this.onLost(run.error, { isLasting: this.#failures > 1 });
    return run.error;
  }

  #plan(run) {
    if (run.info && Date.now() - run.startedAt > STEADY_MS) this.#failures = 0;
    const delay = BACK_OFF_MS[this.#failures];
    this.#failures += 1;
    if (delay === undefined || this.#isStopped) return;
    this.#retry = setTimeout(() => this.ensure().catch(() => {}), delay);
    this.#retry.unref();
  }

  #watch(change) {
    this.#calls += change;
    if ((this.#calls > 0) === (this.#beat !== undefined)) return;
    clearInterval(this.#beat);
    this.#beat = this.#calls > 0 ? setInterval(() => this.#pulse(), HEARTBEAT_MS) : undefined;
  }

  #probe() {
    const run = this.#run;
    if (!run?.info) return;
    run.peer.request("ping", {}, { timeoutMs: PROBE_MS, isBackground: true }).catch((error) => {
      if (error instanceof Unanswered) this.#lost(run, "it no longer answers, so it was ended");
    });
  }

  #pulse() {
    const run = this.#run;
    if (!run?.info) return;
    if (run.missed >= MISSED_BEATS) {
      this.#lost(run, `no sign of life for ${(HEARTBEAT_MS * MISSED_BEATS) / 1000} s, so it was ended`);
      return;
    }
    run.missed += 1;
    const timeoutMs = HEARTBEAT_MS * (MISSED_BEATS + 1);
    run.peer.request("ping", {}, { timeoutMs, isBackground: true }).then(
      () => (run.missed = 0),
      () => {},
    );
  }
}

/** The promise, unless the signal fires first. */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Error("aborted before Fabric's Python process was ready"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A little after the event at hand, when what belongs to it has arrived too. */
function later(ms, action) {
  setTimeout(action, ms).unref();
}

function killGroup(child) {
  signalGroup(child, "SIGKILL");
}

function signalGroup(child, signal) {
  if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal); // no groups on this platform, or already gone
  }
}
