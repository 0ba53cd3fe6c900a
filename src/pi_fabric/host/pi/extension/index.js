// pi-fabric inside Pi: registers fabric_exec and hands everything over to Python (see ../sidecar.py).
// Nothing here may throw out of an event or leave a promise without a catch: that would end Pi.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as host from "@earendil-works/pi-coding-agent";
import { prepareArguments } from "./arguments.js";
import { registerCommand } from "./command.js";
import { Compaction } from "./compaction.js";
import { CodeMode } from "./mode.js";
import { agentDir, findPython } from "./python.js";
import { liveSession } from "./session.js";
import { Sidecar } from "./sidecar.js";
import { restoreSkills } from "./skills.js";
import { anySignal, observeRunner, owned, ToolRunner } from "./tools.js";

const HERE = dirname(fileURLToPath(import.meta.url));
const TOOL = "fabric_exec";
// The first request may wait this long to learn the mode; after it Pi goes on with its own tools.
const MODE_WAIT_MS = 1_500;
// The longest program may run for a day (its own deadline is Python's); hung processes are found by
// heartbeat long before.
const EXECUTE_MS = 25 * 3_600_000;

export default function activate(pi) {
  try {
    new Extension(pi).register();
  } catch (error) {
    // A throw out of here would end Pi.
    console.error(`pi-fabric could not be set up: ${error?.stack ?? error}`);
  }
}

class Extension {
  constructor(pi) {
    this.pi = pi;
    this.manifest = JSON.parse(readFileSync(`${HERE}/manifest.json`, "utf8"));
    // Nested calls and hidden declarations came with the built-in codemode extension in Pi 0.99.
    this.canHide = typeof host.createCodemodeExtension === "function";
    this.mode = new CodeMode(pi, { canHide: this.canHide, owner: TOOL });
    this.executions = new Map();
    this.owner = {};
    this.tools = new ToolRunner(host, pi, {
      executions: this.executions,
      owner: this.owner,
      mode: this.mode,
      notifyUpdate: (call, partial) => this.sidecar.tell("host.tool.update", { call, partial }),
    });
    this.sidecar = new Sidecar({
      command: () => this.command(),
      hello: () => this.hello(),
      handlers: this.handlers(),
      onReady: (info) => this.safely(() => this.onReady(info)),
      onLost: (error, loss) => this.safely(() => this.onLost(error, loss)),
    });
    this.compaction = new Compaction(this.sidecar, (text, level) => this.warn(text, level));
  }

  register() {
    const { pi } = this;
    if (!this.canHide) observeRunner(host);
    this.declare(true);
    registerCommand(pi, this);
    this.compaction.register(pi);
    pi.on("session_start", (_event, ctx) => this.safely(() => {
      this.ctx = ctx;
      this.sidecar.start();
    }));
    pi.on("before_agent_start", (event, ctx) => this.beforeAgentStart(event, ctx));
    pi.on("tool_call", (event) => this.onToolCall(event));
    pi.on("tool_result", (event) => this.onToolResult(event));
    pi.on("session_shutdown", () => this.safely(() => {
      this.sidecar.stop();
      this.mode.release();
      this.ctx = undefined;
    }));
  }

  declare(isFullCodeMode) {
    const { tool } = this.manifest;
    this.declaredMode = isFullCodeMode;
    this.pi.registerTool(owned({
      name: TOOL,
      label: tool.label,
      description: isFullCodeMode ? tool.description : tool.orchestrationDescription,
      promptSnippet: tool.promptSnippet,
      promptGuidelines: isFullCodeMode ? tool.promptGuidelines : [],
      parameters: tool.parameters,
      exposure: "model-only",
      reachesTools: () => "all",
      prepareArguments,
      prepareLoadout: (loadout) => this.mode.prepareLoadout(loadout),
      execute: (id, params, signal, onUpdate, ctx) => this.execute({ id, params, signal, onUpdate, ctx }),
    }, this.owner));
  }

  async execute({ id, params, signal, onUpdate, ctx }) {
    this.executions.set(id, { ctx, signal, onUpdate });
    try {
      const result = await this.sidecar.request(
        "execute",
        { execution: id, arguments: params, hasUI: ctx.hasUI === true, cwd: ctx.cwd },
        { timeoutMs: EXECUTE_MS, signal },
      );
      return { ...result, isError: result.details?.success !== true };
    } finally {
      this.executions.delete(id);
    }
  }

  // A hidden tool still answers a model that remembers it. Programs alone may use it, for approvals
  // and the trace are there.
  onToolCall({ toolName, parentToolCallId }) {
    try {
      if (parentToolCallId || !this.mode.hides(toolName)) return undefined;
      return { block: true, reason: `call pi.${toolName}(...) in a program of ${TOOL}; ${toolName} is no tool here` };
    } catch {
      return undefined; // a throw would block whatever tool was called
    }
  }

  // Before 0.99 Pi takes an error only from a throw, which loses the details; a hook of ours may
  // mark the result as failed and keep them.
  onToolResult(event) {
    try {
      if (event.toolName === TOOL && !event.isError && event.details?.success === false) return { isError: true };
      this.tools.onToolResult(event);
    } catch {
      // An unmarked failure still says in its text that it is one.
    }
    return undefined;
  }

  async beforeAgentStart(event, ctx) {
    try {
      this.ctx ??= ctx;
      await this.sidecar.settled(MODE_WAIT_MS);
      // While the model thinks, Python can start what the first program would wait for.
      this.sidecar.tell("turn", {});
      return this.mode.isOwner ? restoreSkills(host, event, this) : undefined;
    } catch (error) {
      this.warn(`pi-fabric could not prepare the turn: ${error?.message ?? error}`);
      return undefined;
    }
  }

  onReady(info) {
    if (this.isLost) this.warn("Fabric's Python process runs again.", "info");
    this.isLost = false;
    for (const notice of info.notices ?? []) this.warn(notice);
    this.compaction.engine = info.compactionEngine;
    if (this.ctx) this.compaction.follow(this.ctx);
    const isFull = info.fullCodeMode === true;
    if (isFull !== this.declaredMode) this.declare(isFull);
    if (!isFull) this.mode.release();
    else if (this.engineFailure) this.warn(withOwnTools(this.engineFailure));
    else this.mode.take(this.ctx?.sessionManager);
  }

  onLost(error, { isLasting }) {
    if (!this.isLost) this.warn(error.message);
    this.isLost = true;
    // Twice in a row means that it will not come back at once: the model gets Pi's tools again.
    if (isLasting) this.yield(error.message);
  }

  /** Nothing can run programs: the model gets Pi's own tools back, until Python is started anew. */
  yield(reason) {
    if (!this.mode.isOwner) return;
    this.mode.release();
    this.warn(withOwnTools(reason));
  }

  command() {
    const { python, origin } = findPython(agentDir(host), HERE);
    // -P: a folder named like a module in the project must not be imported in its place.
    const args = ["-P", "-m", "pi_fabric.cli.sidecar"];
    return { python, origin, args, env: process.env, cwd: this.ctx?.cwd ?? process.cwd() };
  }

  hello() {
    const { ctx } = this;
    this.engineFailure = undefined;
    return {
      protocol: this.manifest.protocol,
      piVersion: host.VERSION ?? "unknown",
      mode: ctx?.mode ?? "unknown",
      cwd: ctx?.cwd ?? process.cwd(),
      agentDir: agentDir(host),
      isTrusted: ctx?.isProjectTrusted?.() === true,
      hasUI: ctx?.hasUI === true,
    };
  }

  handlers() {
    return {
      "host.tool": (params, call) => this.tools.run(params, call),
      "host.confirm": ({ execution, title, message }, { signal }) => {
        const outer = this.executions.get(execution);
        if (!outer?.ctx.hasUI) return false;
        return outer.ctx.ui.confirm(title, message, { signal: anySignal(signal, outer.signal) });
      },
      "host.models": async () => {
        const models = (await this.ctx?.modelRegistry?.getAvailable?.()) ?? [];
        return models.map(({ provider, id, name }) => ({ provider, id, name: name ?? id }));
      },
      "host.session": () => liveSession(this.ctx),
      "execute.update": ({ execution, content, details }) => {
        this.executions.get(execution)?.onUpdate?.({ content, details });
      },
      "engine.failed": ({ text }) => {
        this.engineFailure = text; // may arrive before the answer of `initialize`
        this.yield(text);
      },
    };
  }

  /** Tell the person; a session that is gone takes no message, and that is no reason to fail. */
  warn(text, level = "warning") {
    this.safely(() => {
      if (this.ctx?.hasUI) this.ctx.ui.notify(text, level);
      // Where Pi shows no messages, standard error is the person's.
      else if (this.ctx && level === "warning") console.error(text);
    });
  }

  safely(action) {
    try {
      action();
    } catch (error) {
      console.error(`pi-fabric: ${error?.stack ?? error}`);
    }
  }
}

const withOwnTools = (reason) => `${reason}\nThe model works with Pi's own tools meanwhile.`;
