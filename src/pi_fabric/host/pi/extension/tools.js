// Runs a core tool of Pi for a program: through Pi's own pipeline where it can be reached (0.99 and
// later), else through the tool's definition, or the definition of the extension that overrides it.
import { CORE_TOOLS } from "./mode.js";

const OWNER = Symbol.for("pi-fabric.owner");
const PATCHED = Symbol.for("pi-fabric.patched");

/** Fires when one of both does; the second may be missing. */
export const anySignal = (first, second) => (second ? AbortSignal.any([first, second]) : first);

/** Marks a definition of ours, so that the runner that registered it can be recognised. */
export function owned(definition, owner) {
  return Object.assign(definition, { [OWNER]: owner });
}

/** Before 0.99: learn which runner serves us, for it alone knows other extensions' tools. */
export function observeRunner(host) {
  const prototype = host.ExtensionRunner?.prototype;
  const original = prototype?.getAllRegisteredTools;
  if (typeof original !== "function" || prototype[PATCHED]) return;
  prototype[PATCHED] = true;
  prototype.getAllRegisteredTools = function getAllRegisteredTools() {
    const tools = original.call(this);
    for (const { definition } of tools) if (definition?.[OWNER]) definition[OWNER].runner = this;
    return tools;
  };
}

/** Serves `host.tool`. `executions` maps a call of fabric_exec to {ctx, signal}. */
export class ToolRunner {
  constructor(host, pi, { executions, owner, mode, notifyUpdate }) {
    Object.assign(this, { host, pi, executions, owner, mode, notifyUpdate });
    this.executedInputs = new Map();
  }

  /** Keep what a nested call was run with after every hook has had its say. */
  onToolResult(event) {
    if (event.parentToolCallId && this.executions.has(event.parentToolCallId))
      this.executedInputs.set(event.toolCallId, event.input);
  }

  async run({ execution, call, name, args }, { signal }) {
    if (!CORE_TOOLS.includes(name)) throw new Error(`${name} is not a core tool of Pi`);
    const outer = this.executions.get(execution);
    if (!outer) throw new Error("the program that made this call has ended");
    const joined = anySignal(signal, outer.signal);
    const onUpdate = (partial) => this.notifyUpdate(call, partial);
    return typeof outer.ctx.executeTool === "function"
      ? this.#throughPi(outer.ctx, { name, args, signal: joined, onUpdate })
      : this.#throughDefinition(outer.ctx, { id: `${execution}/${call}`, name, args, signal: joined, onUpdate });
  }

  async #throughPi(ctx, { name, args, signal, onUpdate }) {
    const outcome = await ctx.executeTool(name, args, { signal, onUpdate });
    const executed = this.executedInputs.get(outcome.toolCall?.id);
    this.executedInputs.delete(outcome.toolCall?.id);
    return answer(outcome.result, outcome.isError === true, args, executed);
  }

  async #throughDefinition(ctx, { id, name, args, signal, onUpdate }) {
    if (!this.mode.mayCall || !this.pi.getAllTools().some((tool) => tool.name === name))
      return failure(`Tool ${name} not found: it is not enabled in this session`);
    const override = this.owner.runner
      ?.getAllRegisteredTools()
      .find((tool) => tool.definition.name === name)?.definition;
    if (override) return this.#throughOverride(override, { id, name, args, signal, onUpdate });
    const create = this.host[`create${name[0].toUpperCase()}${name.slice(1)}ToolDefinition`];
    if (typeof create !== "function") throw new Error(`this Pi exports no definition of ${name}`);
    const definition = create(ctx.cwd);
    return this.#settle(() => definition.execute(id, prepared(definition, args), signal, onUpdate, ctx), args);
  }

  // Other extensions' hooks see a call of an override as they would see the model's own.
  async #throughOverride(definition, { id, name, args, signal, onUpdate }) {
    const { runner } = this.owner;
    const event = { type: "tool_call", toolName: name, toolCallId: id, input: prepared(definition, args) };
    const verdict = await runner.emitToolCall?.(event);
    if (verdict?.block) return failure(verdict.reason || "another extension blocked this call");
    const before = await this.#settle(
      () => definition.execute(id, event.input, signal, onUpdate, runner.createContext()), args, event.input);
    const patch = await runner.emitToolResult?.({
      type: "tool_result", toolName: name, toolCallId: id, input: event.input,
      content: before.content, details: before.details, isError: before.isError,
    });
    return patch ? { ...before, ...defined(patch) } : before;
  }

  async #settle(execute, args, executed) {
    try {
      return answer(await execute(), false, args, executed);
    } catch (error) {
      return failure(error?.message ?? error);
    }
  }
}

const prepared = (definition, args) => definition.prepareArguments?.(structuredClone(args)) ?? structuredClone(args);
const defined = (patch) => Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
const failure = (text) => ({ content: [{ type: "text", text: String(text) }], isError: true });

function answer(result, isError, sent, executed) {
  const isChanged = executed !== undefined && JSON.stringify(executed) !== JSON.stringify(sent);
  return {
    content: result?.content ?? [],
    details: result?.details,
    isError: isError || result?.isError === true,
    ...(isChanged ? { executedArgs: executed } : {}),
  };
}
