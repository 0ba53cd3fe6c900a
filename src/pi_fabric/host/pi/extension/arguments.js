// What Pi's own validation would refuse although its meaning is plain. Everything else is repaired
// in Python, where the error texts are.

/** Runs before Pi validates; valid input is returned unchanged. */
export function prepareArguments(args) {
  if (typeof args === "string" || isTextList(args)) return { code: joined(args) };
  if (args === null || typeof args !== "object") return args;
  // `code` too: Pi would make an empty program of null, and the model would never learn of its mistake.
  const kept = Object.entries(args).filter(([, value]) => value !== null);
  const isUntouched = kept.length === Object.keys(args).length && !isTextList(args.code)
    && typeof args.display !== "string";
  if (isUntouched) return args;
  const prepared = Object.fromEntries(kept);
  if (isTextList(prepared.code)) prepared.code = joined(prepared.code);
  if (typeof prepared.display === "string") prepared.display = { name: prepared.display };
  return prepared;
}

const isTextList = (value) => Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
const joined = (value) => (Array.isArray(value) ? value.join("\n") : value);
