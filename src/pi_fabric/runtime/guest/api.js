// The guest's library: every name a program finds besides the language itself.
//
// Runs once, in one scope with kernel.js and before any guest code, and holds on to nothing that a program can
// redefine: only `kernel` and the built-ins captured here. No template literals: the engine builds them with
// String.prototype.concat, which a program may have replaced. What it sends to the host:
//   "ref"    a call with one argument object
//   "@ref"   a call with its values (`pi.read("a")`), which the host brings into shape
//   "=ref"   a reference that the program computed (`tools.call`), which never means Fabric's own
{
  const { Promise: $Promise, Proxy: $Proxy, Error: $Error, TypeError: $TypeError, Array: $Array, String: $String } = globalThis;
  const { freeze, keys, create, hasOwn } = Object;
  const { isArray } = Array;
  const { isFinite } = Number;
  const { min, max, ceil } = Math;
  const { stringify } = JSON;
  const promiseThen = Function.prototype.call.bind(Promise.prototype.then);

  const run = { strings: create(null), tokenTotal: Infinity, tokensSpent: 0 };

  const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
  const asObject = (value) => (isObject(value) ? value : {});
  const reject = (error) => $Promise.reject(error);

  // ---- namespaces ---------------------------------------------------------------------------------------

  // Language machinery asks for these: a symbol, `then` of what is awaited, `toJSON` of what is serialised.
  const isMachinery = (key) => typeof key === "symbol" || key === "then" || key === "toJSON";
  // Answers every name; writing to it is ignored.
  const namespace = (target, answer) =>
    new $Proxy(target, {
      get: (own, key) => (hasOwn(own, key) ? own[key] : isMachinery(key) ? undefined : answer(key)),
      set: () => true,
      defineProperty: () => true,
      deleteProperty: () => true,
    });

  // An action that takes one argument object, by its full reference.
  const action = (ref) => (args) => kernel.call(ref, args === undefined ? {} : args);
  const actions = (provider, names) => {
    const object = create(null);
    for (let i = 0; i < names.length; i++) object[names[i]] = action(provider + "." + names[i]);
    return object;
  };
  const open = (provider, names) => namespace(actions(provider, names), (name) => action(provider + "." + name));

  const CORE_TOOLS = ["read", "bash", "edit", "write", "grep", "find", "ls"];
  const isCoreTool = (name) => {
    for (let i = 0; i < CORE_TOOLS.length; i++) if (CORE_TOOLS[i] === name) return true;
    return false;
  };

  // Actions that take their values in several shapes.
  const shaped = (provider) => namespace({}, (name) => (...values) => kernel.call("@" + provider + "." + name, values));
  kernel.define("pi", shaped("pi"));
  kernel.define("extensions", namespace({}, (name) => action("extensions." + name)));
  kernel.define("memory", shaped("memory"));
  kernel.define("state", open("state", ["transition", "get", "history", "complexity", "verify", "goal", "checkGoal"]));
  kernel.define("schema", open("schema", ["status", "hypothesize", "verify", "commit", "abort"]));
  kernel.define("compact", open("compact", ["request", "status", "cancel"]));
  kernel.define("mesh", freeze(actions("mesh", ["self", "publish", "read", "members", "get", "list", "put", "delete"])));

  const AGENT_ACTIONS = [
    "run", "spawn", "wait", "status", "main", "peers", "models", "stop", "cleanup", "create", "ask", "tell", "steer",
    "followUp", "setSteeringMode", "setFollowUpMode", "actorStatus", "setEvents", "setInstructions", "messages",
    "remove", "log",
  ];
  const agents = actions("agents", AGENT_ACTIONS);
  agents.list = () => kernel.call("agents.list", {});
  agents.actors = () => kernel.call("agents.actors", {});
  kernel.define("agents", freeze(agents));

  // Calling a server itself is a mistake that deserves a better answer than "not a function".
  const noTool = (name) => {
    const call = () =>
      reject(new $Error("mcp." + name + " is a server; call one of its tools, as in mcp." + name + ".tool(args)"));
    // A tool of these names must not be hidden by the function's own.
    delete call.name;
    delete call.length;
    return call;
  };
  const server = (name) => namespace(noTool(name), (tool) => action("mcp." + name + "." + tool));
  const mcp = {
    servers: () => kernel.call("mcp.$servers", {}),
    reload: () => kernel.call("mcp.$reload", {}),
    register: action("mcp.$register"),
    call: action("mcp.$call"),
  };
  kernel.define("mcp", namespace(mcp, server));

  // ---- discovery ----------------------------------------------------------------------------------------

  const discovery = (name, shorthand) => (args) =>
    kernel.call("fabric.discovery." + name, typeof args === "string" && shorthand ? { [shorthand]: args } : asObject(args));
  const tools = {
    providers: () => kernel.call("fabric.discovery.providers", {}),
    list: discovery("list", "query"),
    search: discovery("search", "query"),
    describe: discovery("describe", "ref"),
    call: (request) => {
      const { ref, args } = asObject(request);
      if (typeof ref !== "string") return reject(new $TypeError("tools.call: ref is required, as in { ref: 'pi.read', args }"));
      return kernel.call("=" + ref, asObject(args));
    },
    progress: (args) => kernel.call("fabric.workflow.progress", typeof args === "string" ? { message: args } : asObject(args)),
    models: () => kernel.call("fabric.discovery.models", {}),
  };
  kernel.define("tools", namespace(tools, (name) => {
    if (!isCoreTool(name)) return undefined;
    return () => reject(new $Error("tools." + name + " does not exist; call pi." + name + "(...)"));
  }));

  // ---- concurrency --------------------------------------------------------------------------------------

  let operations = 0;
  // Traces the helper's own work as one operation around what it does.
  const traced = async (ref, args, work) => {
    const id = operations++;
    kernel.notify("operation", "begin", ref, { ...args, id });
    try {
      const result = await work();
      kernel.notify("operation", "end", id, true);
      return result;
    } catch (error) {
      kernel.notify("operation", "end", id, false);
      throw error;
    }
  };

  const concurrencyOf = (option, count) => {
    const asked = isObject(option) ? option.concurrency : option;
    if (asked === undefined) return count;
    if (typeof asked !== "number" || !isFinite(asked) || asked < 1) {
      throw new $TypeError("parallel: concurrency must be a number of at least 1, got " + $String(asked));
    }
    return min(ceil(asked), count);
  };

  const inParallel = (jobs, width) => new $Promise((resolve, fail) => {
    const results = new $Array(jobs.length);
    let next = 0;
    let left = jobs.length;
    if (left === 0) return resolve(results);
    const lane = async () => {
      while (next < jobs.length) {
        const index = next++;
        results[index] = await jobs[index]();
        if (--left === 0) resolve(results);
      }
    };
    for (let i = 0; i < width; i++) promiseThen(lane(), undefined, fail);
  });

  const parallelJobs = (items, mapper) => {
    const jobs = [];
    for (let i = 0; i < items.length; i++) {
      const job = mapper === undefined ? items[i] : () => mapper(items[i], i);
      if (typeof job !== "function") {
        throw new $TypeError("parallel: item " + i + " is not a function; pass a mapper or functions");
      }
      jobs[i] = job;
    }
    return jobs;
  };

  const parallel = (items, second, third) => {
    const mapper = typeof second === "function" ? second : undefined;
    const option = mapper ? third : second;
    const itemCount = isArray(items) ? items.length : 0;
    let width;
    let problem;
    try {
      if (!isArray(items)) throw new $TypeError("parallel: the first argument must be an array");
      if (second !== undefined && !mapper && typeof second !== "number" && !isObject(second)) {
        throw new $TypeError("parallel: the second argument must be a function or a concurrency");
      }
      width = concurrencyOf(option, itemCount);
    } catch (error) {
      problem = error;
    }
    const args = width === undefined ? { kind: "parallel", itemCount } : { kind: "parallel", itemCount, concurrency: width };
    return traced("fabric.workflow.parallel", args, () => {
      if (problem) throw problem;
      return inParallel(parallelJobs(items, mapper), width);
    });
  };

  const pipeline = (items, ...stages) => {
    const itemCount = isArray(items) ? items.length : 0;
    const args = { kind: "pipeline", itemCount, stageCount: stages.length };
    return traced("fabric.workflow.pipeline", args, () => {
      if (!isArray(items)) throw new $TypeError("pipeline: the first argument must be an array");
      for (let i = 0; i < stages.length; i++) {
        if (typeof stages[i] !== "function") throw new $TypeError("pipeline: stage " + (i + 1) + " is not a function");
      }
      return parallel(items, async (original, index) => {
        let value = original;
        for (let i = 0; i < stages.length; i++) value = await stages[i](value, original, index);
        return value;
      });
    });
  };
  kernel.define("parallel", parallel);
  kernel.define("pipeline", pipeline);

  // ---- phases and activity ------------------------------------------------------------------------------

  const phase = (name, options) =>
    kernel.call("fabric.workflow.phase", isObject(name) ? name : { ...asObject(options), name });
  kernel.define("phase", phase);

  const line = (values) => {
    let text = "";
    for (let i = 0; i < values.length; i++) text += (i ? " " : "") + shown(values[i]);
    return text;
  };
  // What a program throws may be anything; printing must not fail for it.
  const why = (error) => {
    try {
      return typeof error.message === "string" ? ": " + error.message : "";
    } catch {
      return "";
    }
  };
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value === undefined) return "";
    try {
      if (value instanceof $Error) return $String(value.name) + ": " + $String(value.message);
      if (typeof value === "symbol" || typeof value === "function" || typeof value === "bigint") return $String(value);
      return stringify(value);
    } catch (error) {
      return "[cannot be shown" + why(error) + "]";
    }
  };
  const print = (...values) => kernel.notify("log", line(values));
  kernel.define("print", print);
  kernel.define("log", print);
  kernel.define("console", freeze({ log: print, info: print, warn: print, error: print, debug: print }));

  // ---- agents, councils, recursion ----------------------------------------------------------------------

  const tokensOf = (record) => {
    const usage = asObject(asObject(record).usage);
    return (isFinite(usage.input) ? usage.input : 0) + (isFinite(usage.output) ? usage.output : 0);
  };
  // A run that counts against the token budget, and is not started when nothing is left of it.
  const budgetedRun = async (args) => {
    if (run.tokensSpent >= run.tokenTotal) {
      throw new $Error("the token budget of " + run.tokenTotal + " is used up (" + run.tokensSpent + " spent); raise tokenBudget");
    }
    const record = await kernel.call("agents.run", args);
    run.tokensSpent += tokensOf(record);
    return record;
  };
  const answerOf = (record) => {
    const { status, value, text, error, name } = asObject(record);
    if (status !== "completed") {
      const cause = error ? ": " + error : "";
      throw new $Error("agent " + (name ?? "") + " ended " + (status ?? "without a status") + cause);
    }
    return value === undefined || value === null ? text : value;
  };
  const agent = async (prompt, options) => {
    const { label, ...rest } = asObject(options);
    return answerOf(await budgetedRun({ ...rest, ...(label === undefined ? {} : { name: label }), task: prompt }));
  };
  kernel.define("agent", agent);

  const rlm = {
    query: async (args) => {
      const { runner } = asObject(args);
      if (runner !== undefined && runner !== "pi") throw new $Error("rlm.query: only the pi runner can recurse");
      return budgetedRun({ ...asObject(args), runner: "pi", recursive: true });
    },
  };
  kernel.define("rlm", freeze(rlm));

  const roleName = (role) => (typeof role === "string" ? role : asObject(role).name ?? stringify(role));
  const council = {
    run: async (request) => {
      const { task, roles, synthesize = true, ...options } = asObject(request);
      if (typeof task !== "string" || !isArray(roles) || roles.length === 0) {
        throw new $TypeError("council.run: task and a non-empty list of roles are required");
      }
      const jobs = [];
      for (let i = 0; i < roles.length; i++) {
        const name = roleName(roles[i]);
        const prompt = "You are the council's " + name + ". Work on this from that angle alone.\n\n" + task;
        jobs[i] = () => budgetedRun({ ...options, name, task: prompt });
      }
      const records = await inParallel(jobs, jobs.length);
      if (!synthesize) return records;
      let reports = "";
      for (let i = 0; i < records.length; i++) {
        const { status, text, error } = asObject(records[i]);
        const report = status === "completed" ? text : "(" + status + ": " + (error ?? "no report") + ")";
        reports += "\n\n## " + roleName(roles[i]) + "\n" + report;
      }
      return answerOf(await budgetedRun({
        ...options,
        name: "synthesis",
        task: "Weigh these reports and give one answer to the task.\n\n# Task\n" + task + "\n\n# Reports" + reports,
      }));
    },
  };
  kernel.define("council", freeze(council));

  const activity = (name) => (args) => kernel.call("fabric.workflow." + name, asObject(args));
  kernel.define("workflow", freeze({
    agent, parallel, pipeline, phase,
    configure: activity("configure"),
    item: activity("item"),
    event: (args) => kernel.call("fabric.workflow.event", typeof args === "string" ? { message: args } : asObject(args)),
    log: print,
  }));

  kernel.define("budget", freeze({
    get total() { return run.tokenTotal; },
    spent: () => run.tokensSpent,
    remaining: () => max(0, run.tokenTotal - run.tokensSpent),
  }));

  // ---- named strings, timers ----------------------------------------------------------------------------

  const noString = (key) => {
    const known = keys(run.strings);
    let names = "";
    for (let i = 0; i < known.length; i++) names += (i ? ", " : "") + known[i];
    const tool = isCoreTool(key) ? "; did you mean pi." + key + "?" : "";
    return new $Error("π." + key + " was not passed in `strings` (there is " + (names || "none") + ")" + tool);
  };
  kernel.define("π", new $Proxy(create(null), {
    get: (_, key) => {
      if (isMachinery(key)) return undefined;
      if (!hasOwn(run.strings, key)) throw noString(key);
      return run.strings[key];
    },
    has: (_, key) => hasOwn(run.strings, key),
    ownKeys: () => keys(run.strings),
    getOwnPropertyDescriptor: (_, key) =>
      hasOwn(run.strings, key) ? { value: run.strings[key], enumerable: true, configurable: true } : undefined,
    set: () => true,
    defineProperty: () => true,
    deleteProperty: () => true,
  }));

  const timer = (repeat) => (callback, delay, ...args) => {
    if (typeof callback !== "function") throw new $TypeError("a timer needs a function");
    return kernel.setTimer(() => callback(...args), isFinite(delay) && delay > 0 ? delay : 0, repeat);
  };
  kernel.define("setTimeout", timer(false));
  kernel.define("setInterval", timer(true));
  kernel.define("clearTimeout", (id) => kernel.clearTimer(id));
  kernel.define("clearInterval", (id) => kernel.clearTimer(id));

  kernel.onStart(({ strings, surface }) => {
    run.strings = strings;
    run.tokenTotal = surface.tokenBudget ?? Infinity;
  });
}
