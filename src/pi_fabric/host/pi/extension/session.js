// The session as Pi holds it right now. Nothing of it is kept here: a move in the tree appends nothing, so
// only Pi's own getters know of it.

/**
 * Serves `host.session`: where the session is persisted, its leaf, and the ids of the active branch, root
 * first. Null without a session; the getters of a context that Pi has replaced throw, and the caller of
 * this learns why.
 */
export function liveSession(ctx) {
  if (!ctx) return null;
  const { sessionManager } = ctx;
  return {
    file: sessionManager.getSessionFile() ?? null,
    leafId: sessionManager.getLeafId() ?? null,
    // Pi reads any JSON as an entry, also one without an id.
    ids: sessionManager.getBranch().map((entry) => entry?.id),
  };
}
