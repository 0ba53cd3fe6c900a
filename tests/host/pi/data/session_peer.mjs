// The extension's end of the line, in front of a context that real Pi shows rarely: which one, the second
// argument says; the first is the extension's folder.
const [, , extension, kind] = process.argv;
const { Peer } = await import(`${extension}/rpc.js`);
const { liveSession } = await import(`${extension}/session.js`);

const stale = {
  get sessionManager() {
    throw new Error("This extension ctx is stale after session replacement or reload.");
  },
};
const holding = (branch, leafId) => ({
  sessionManager: { getSessionFile: () => undefined, getLeafId: () => leafId, getBranch: () => branch },
});
const contexts = {
  none: [undefined],
  replaced: [stale, holding([{ id: "a" }], "a")],
  odd: [holding([{ id: "a" }, { id: 7 }, {}, null, { id: { deep: 1 } }, { id: "b" }], 7)],
  empty: [holding([], null)],
  long: [holding(Array.from({ length: 50_000 }, () => ({ id: crypto.randomUUID() })), "end")],
};
const asked = contexts[kind];
const handlers = { "host.session": () => liveSession(asked.length > 1 ? asked.shift() : asked[0]) };
new Peer({ input: process.stdin, output: process.stdout, handlers, onGarbage: console.error });
