// What every program finds besides the language itself. Loose on purpose: the host checks arguments again and
// explains them better than a compiler can; what must be refused here is what could never run.

interface AnyObject { [key: string]: any }
/** Further arguments by name, after a bare value: `pi.read("a.txt", { limit: 5 })`. */
interface CallOptions { [key: string]: any }

/** One thing a program can call, as `provider.name`. */
interface FabricAction {
  ref: string;
  provider: string;
  name: string;
  description: string;
  inputSchema: any;
  outputSchema?: any;
  risk: string;
  namespace?: string;
}

/** Finds actions, and calls one whose name is known only at run time. */
declare const tools: {
  providers(): Promise<{ name: string; description: string }[]>;
  list(filter?: string | AnyObject): Promise<FabricAction[]>;
  search(query: string | AnyObject): Promise<FabricAction[]>;
  describe(action: string | { ref: string }): Promise<FabricAction>;
  call(request: { ref: string; args?: any }): Promise<any>;
  /** Shows a line to the person who waits. */
  progress(message: string | AnyObject): Promise<any>;
  models(): Promise<AnyObject[]>;
};

/** Named strings of this call, each as it was sent. */
declare const π: { [name: string]: string };

/** Runs a child agent and returns its answer. */
declare function agent(prompt: string, options?: AnyObject): Promise<any>;
/** Several agents on one task, then one that weighs their reports. */
declare const council: { run(request: AnyObject): Promise<any> };
/** A child agent that may start children of its own. */
declare const rlm: { query(request: AnyObject): Promise<any> };

/** Runs functions, or a function over items, at the same time; results keep the order. */
declare function parallel<T, R>(
  items: readonly T[],
  mapper: (item: T, index: number) => R | Promise<R>,
  limit?: number | { concurrency?: number },
): Promise<R[]>;
declare function parallel<R>(
  functions: readonly (() => R | Promise<R>)[],
  limit?: number | { concurrency?: number },
): Promise<R[]>;
declare function parallel(items: any, mapper?: any, limit?: any): Promise<any[]>;
/** Takes every item through the stages on its own, all items at the same time. */
declare function pipeline<T>(
  items: readonly T[],
  ...stages: ((value: any, original: T, index: number) => any)[]
): Promise<any[]>;
/** Names the part of the work that begins. */
declare function phase(name: string | AnyObject, options?: any): any;

declare const workflow: {
  agent(prompt: string, options?: AnyObject): Promise<any>;
  [name: string]: any;
};
/** Tokens that agents of this run may use and have used. */
declare const budget: { readonly total: number; spent(): number; remaining(): number };

declare function print(...values: any[]): void;
declare function log(...values: any[]): void;
declare const console: {
  log(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
  debug(...values: any[]): void;
};

declare function setTimeout(callback: (...args: any[]) => void, delayMs?: number, ...args: any[]): number;
declare function setInterval(callback: (...args: any[]) => void, delayMs?: number, ...args: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
