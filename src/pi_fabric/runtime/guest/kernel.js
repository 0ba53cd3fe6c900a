// The floor of the guest: host calls, timers, values and errors as JSON.
//
// Evaluated once, together with api.js and in one function scope, before any guest code; `native` is the
// shim's interface. From then on only captured built-ins may be used here: no method call on a built-in, no
// destructuring of arrays, no spread, no for-of, no await, no template literal, and no write to an index or a key
// that an object with a prototype does not have yet. A program that redefines built-ins then breaks only itself.

const primordials = (() => {
  const { bind, call } = Function.prototype;
  const uncurryThis = bind.bind(call);
  return Object.freeze({
    __proto__: null,
    Error, InternalError, Number, Promise, String, TypeError,
    uncurryThis,
    create: Object.create,
    defineProperty: Object.defineProperty,
    freeze: Object.freeze,
    functionToString: uncurryThis(Function.prototype.toString),
    getPrototypeOf: Object.getPrototypeOf,
    isArray: Array.isArray,
    isInteger: Number.isInteger,
    parse: JSON.parse,
    regexpTest: uncurryThis(RegExp.prototype.test),
    stringify: JSON.stringify,
    stringSlice: uncurryThis(String.prototype.slice),
  });
})();

const kernel = (() => {
  const { push, wake, expect, now, refused, install } = native;
  const {
    Error, InternalError, Number, Promise, String, TypeError,
    create, defineProperty, freeze, functionToString, getPrototypeOf, isArray, isInteger, parse, regexpTest, stringify,
    stringSlice,
  } = primordials;
  const internalErrorPrototype = InternalError.prototype;
  const typeErrorPrototype = TypeError.prototype;
  const global = globalThis;

  // Lines to the host: keep in step with messages.py.
  const CALL = "[0,";
  const NOTIFY = "[1,";
  const VALUE = "[2";
  const ERROR = "[3,";
  const OUT_OF_MEMORY = "[4,";

  // An error's texts are cut at this many UTF-16 units: one error may not fill the host.
  const MAX_ERROR_TEXT = 65536;
  // Timers beyond what fits 31 bits fire at once elsewhere; here they wait as long as can be.
  const MAX_TIMER_MS = 2147483647;

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  // --- Values -------------------------------------------------------------------------------------------

  const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
  // RegExp.prototype.test looks `exec` up; an own one shields it from a program that replaces that.
  defineProperty(IDENTIFIER, "exec", { __proto__: null, value: RegExp.prototype.exec });

  const step = (path, key, holder) => {
    if (isArray(holder)) return path + "[" + key + "]";
    return regexpTest(IDENTIFIER, key) ? path + "." + key : path + "[" + stringify(key) + "]";
  };

  // JSON for what plain JSON refuses: bigints get a form of their own, cycles a path.
  const encodeSlowly = (value, what) => {
    let top = null;
    return stringify(value, function (key, item) {
      while (top !== null && top.item !== this) top = top.above;
      if (typeof item === "bigint") item = { __proto__: null, $bigint: String(item) };
      else if (!isObject(item)) return item;
      const path = top === null ? what : step(top.path, key, this);
      for (let above = top; above !== null; above = above.above) {
        if (above.item === item) {
          throw new TypeError(path + " refers back to " + above.path + "; a value with a cycle cannot leave the program");
        }
      }
      top = { __proto__: null, item, path, above: top };
      return item;
    });
  };

  // undefined when there is no JSON for `value` (undefined, functions, symbols).
  const encode = (value, what) => {
    try {
      return stringify(value);
    } catch (error) {
      // A bigint or a cycle; whatever else it was would only happen again.
      if (!isObject(error) || getPrototypeOf(error) !== typeErrorPrototype) throw error;
      return encodeSlowly(value, what);
    }
  };

  // --- Errors -------------------------------------------------------------------------------------------

  const readText = (object, key) => {
    try {
      const value = object[key];
      return typeof value === "string" ? stringSlice(value, 0, MAX_ERROR_TEXT) : undefined;
    } catch {
      return undefined;
    }
  };

  const showThrown = (value) => {
    try {
      if (typeof value === "function") return functionToString(value);
      return isObject(value) ? encode(value, "the thrown value") : String(value);
    } catch {
      return "an object that cannot be read";
    }
  };

  const isOutOfMemory = (error) => {
    if (refused() === 0) return false;
    if (error === null) return true;
    return isObject(error) && getPrototypeOf(error) === internalErrorPrototype && readText(error, "message") === "out of memory";
  };

  // --- Host calls ---------------------------------------------------------------------------------------

  const pending = create(null);
  let pendingCount = 0;
  let lastId = 0;

  const call = (ref, args) =>
    new Promise((resolve, reject) => {
      const text = encode(args, "the argument");
      // Created here and not when the answer comes, so that its stack says where the call was made.
      const error = new Error();
      const id = ++lastId;
      push(CALL, id, ",", stringify(String(ref)), ",", text === undefined ? "null" : text, "]");
      pending[id] = { __proto__: null, resolve, reject, error };
      expect(++pendingCount);
    });

  const rejectCall = (waiting, failure) => {
    const { error } = waiting;
    defineProperty(error, "message", { __proto__: null, value: failure.message, writable: true, configurable: true });
    if (failure.code !== null) {
      defineProperty(error, "code", { __proto__: null, value: failure.code, writable: true, configurable: true, enumerable: true });
    }
    waiting.reject(error);
  };

  // [[id, 0, value] | [id, 1] (undefined) | [id, 2, {message, code}], ...]
  const onAnswers = (text) => {
    const answers = parse(text);
    for (let index = 0; index < answers.length; index++) {
      const answer = answers[index];
      const waiting = pending[answer[0]];
      if (waiting === undefined) continue;
      delete pending[answer[0]];
      pendingCount--;
      if (answer[1] === 0) waiting.resolve(answer[2]);
      else if (answer[1] === 1) waiting.resolve(undefined);
      else rejectCall(waiting, answer[2]);
    }
    expect(pendingCount);
  };

  const notify = (kind, ...payload) => {
    let line = stringify(String(kind));
    for (let index = 0; index < payload.length; index++) {
      const text = encode(payload[index], "the payload");
      line += "," + (text === undefined ? "null" : text);
    }
    push(NOTIFY, line, "]");
  };

  // --- Timers: a binary heap by due time, then by age ---------------------------------------------------

  // Null prototypes: a new index is then never looked up on a prototype that the program may have changed.
  const heap = create(null);
  const timers = create(null);
  let heapSize = 0;
  let lastTimer = 0;

  const isBefore = (a, b) => a.due < b.due || (a.due === b.due && a.turn < b.turn);

  const siftUp = (timer) => {
    let index = heapSize++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, heap[parent])) break;
      heap[index] = heap[parent];
      index = parent;
    }
    heap[index] = timer;
  };

  const removeFirst = () => {
    const last = heap[--heapSize];
    delete heap[heapSize];
    if (heapSize === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heapSize) break;
      if (child + 1 < heapSize && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[index] = heap[child];
      index = child;
    }
    heap[index] = last;
  };

  const announceNext = () => {
    while (heapSize > 0 && heap[0].run === null) removeFirst();
    wake(heapSize > 0 ? heap[0].due : -1);
  };

  let turns = 0;

  const arm = (timer) => {
    timer.due = now() + timer.ms;
    timer.turn = ++turns;
    siftUp(timer);
  };

  const setTimer = (run, ms, repeat) => {
    if (typeof run !== "function") throw new TypeError("a timer needs a function to call");
    const delay = Number(ms);
    const id = ++lastTimer;
    // Not below a millisecond, so that a timer that arms itself anew lets the host in between.
    const timer = { __proto__: null, id, run, repeat: !!repeat, ms: delay >= 1 ? (delay < MAX_TIMER_MS ? delay : MAX_TIMER_MS) : 1, due: 0, turn: 0 };
    timers[id] = timer;
    arm(timer);
    announceNext();
    return id;
  };

  const clearTimer = (id) => {
    if (typeof id !== "number" || !isInteger(id)) return;
    const timer = timers[id];
    if (timer === undefined) return;
    delete timers[id];
    timer.run = null;
    announceNext();
  };

  // Run one due timer; true when another is due.
  const onTick = () => {
    announceNext();
    if (heapSize > 0 && heap[0].due <= now()) {
      const timer = heap[0];
      removeFirst();
      if (!timer.repeat) delete timers[timer.id];
      try {
        const { run } = timer;
        run();
      } catch {
        // As in a browser, a failing callback ends neither the program nor its other timers.
      }
      if (timer.repeat && timer.run !== null) arm(timer);
      announceNext();
    }
    return heapSize > 0 && heap[0].due <= now();
  };

  // --- The run ------------------------------------------------------------------------------------------

  const starters = create(null);
  let starterCount = 0;

  const onStart = (text) => {
    const settings = parse(text);
    for (let index = 0; index < starterCount; index++) {
      const starter = starters[index];
      starter(settings);
    }
  };

  const onValue = (value) => {
    let text;
    if (typeof value === "function") text = stringify(functionToString(value));
    else if (typeof value === "symbol") text = stringify(String(value));
    else text = encode(value, "the returned value");
    if (text === undefined) push(VALUE, "]");
    else push(VALUE, ",", text, "]");
  };

  const onError = (error) => {
    const isReadable = isObject(error);
    let message = isReadable ? readText(error, "message") : undefined;
    let name = isReadable ? readText(error, "name") : undefined;
    const stack = isReadable ? readText(error, "stack") : undefined;
    if (message === undefined) {
      name = "Thrown";
      message = stringSlice(String(showThrown(error)), 0, MAX_ERROR_TEXT);
    }
    const texts = stringify(name || "Error") + "," + stringify(message) + "," + stringify(stack || "");
    push(isOutOfMemory(error) ? OUT_OF_MEMORY : ERROR, texts, "]");
  };

  install(onStart, onAnswers, onTick, onValue, onError);
  // Of the host environment this one comes with the engine itself.
  delete global.queueMicrotask;

  return freeze({
    __proto__: null,
    primordials,
    // call(ref, args) -> Promise: ask the host; `args` becomes JSON now. Rejects with an Error with `code`.
    call,
    // notify(kind, ...payload): tell the host; kept in order with the calls.
    notify,
    // setTimer(run, ms, repeat) -> id, clearTimer(id): what is still waiting when the program ends is dropped.
    setTimer,
    clearTimer,
    // define(name, value): a global that the program can neither replace nor delete.
    define(name, value) {
      defineProperty(global, name, { __proto__: null, value });
    },
    // onStart(run): call `run({strings, surface})` before the program of a run starts.
    onStart(run) {
      starters[starterCount++] = run;
    },
  });
})();
