// Full code mode: Pi's core tools leave the model's view while Fabric serves them inside a program,
// and come back as the user had them.
//
// Pi 0.99 and later hide declarations and keep the tools callable; before, a tool can only be made
// inactive. A selection that the user or another extension makes afterwards is left as it is.
// Whoever starts Pi without fabric_exec keeps Pi's tools, and whoever starts it without any core tool
// (--no-builtin-tools) gets none of them through a program.

export const CORE_TOOLS = ["read", "bash", "edit", "write", "grep", "find", "ls"];
const MEMORY_ENTRY = "pi-fabric:tools";

const isCore = (name) => CORE_TOOLS.includes(name);
const sameNames = (left, right) => left.length === right.length && left.every((name) => right.includes(name));

export class CodeMode {
  #selection = [];
  #expected = [];
  isOwner = false;

  /** `owner` is the name of our tool. */
  constructor(pi, { canHide, owner }) {
    this.pi = pi;
    this.canHide = canHide;
    this.owner = owner;
  }

  /** Take the core tools over. Remembers the user's selection; taking twice changes nothing. */
  take(sessionManager) {
    if (this.isOwner) return;
    const active = this.pi.getActiveTools();
    if (!active.includes(this.owner)) return;
    const registered = this.pi.getAllTools().map((tool) => tool.name);
    this.#selection = active.filter(isCore);
    this.isOwner = true;
    if (!this.canHide) {
      this.#expected = [];
      this.pi.setActiveTools(active.filter((name) => !isCore(name)));
      return;
    }
    // Inactive tools cannot be called from a program either, so all of them become active, hidden.
    this.#expected = this.#selection.length > 0 ? CORE_TOOLS.filter((name) => registered.includes(name)) : [];
    this.#recall(sessionManager);
    this.pi.setActiveTools([...active, ...this.#expected.filter((name) => !active.includes(name))]);
  }

  /** Whether programs may call a core tool, as far as the selection goes that was taken over. */
  get mayCall() {
    return !this.isOwner || this.#selection.length > 0;
  }

  /** Whether the model does not see a tool that it could call all the same, from memory. */
  hides(name) {
    if (!this.canHide || !this.isOwner || !isCore(name)) return false;
    return sameNames(this.pi.getActiveTools().filter(isCore), this.#expected);
  }

  /** Give the remembered selection back, unless somebody has chosen another one meanwhile. */
  release() {
    if (!this.isOwner) return;
    const active = this.pi.getActiveTools();
    const isOurs = sameNames(active.filter(isCore), this.#expected);
    this.isOwner = false;
    const others = active.filter((name) => !isCore(name));
    this.pi.setActiveTools(isOurs ? [...this.#selection, ...others] : active);
  }

  /** Which of the declared tools a request leaves out; Pi calls this at every change of the set. */
  prepareLoadout(loadout) {
    if (!this.isOwner) return undefined;
    const core = loadout.declared.map((tool) => tool.name).filter(isCore);
    return sameNames(core, this.#expected) ? { hiddenDeclarations: core } : undefined;
  }

  // Pi 1.x writes the active set into the session, so a resumed one starts with ours; the user's
  // own is kept beside it.
  #recall(sessionManager) {
    const kept = sessionManager?.getBranch?.().findLast(
      (entry) => entry.type === "custom" && entry.customType === MEMORY_ENTRY,
    )?.data?.selection;
    if (Array.isArray(kept) && sameNames(this.#selection, this.#expected)) this.#selection = kept.filter(isCore);
    else if (!sameNames(this.#selection, this.#expected))
      this.pi.appendEntry(MEMORY_ENTRY, { selection: this.#selection });
  }
}
