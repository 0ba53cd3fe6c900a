// Prints what an installed Pi makes of session files: node pi_context.mjs PI_PACKAGE FILE...
import { readFileSync } from "node:fs";

const [home, ...files] = process.argv.slice(2);
const sessions = await import(`${home}/dist/core/session-manager.js`);
const compaction = await import(`${home}/dist/core/compaction/compaction.js`);

function sizeOf(entries) {
  if (!compaction.estimateProjectedContextTokens) return null;
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  for (let at = entries.at(-1); at; at = byId.get(at.parentId)) path.unshift(at);
  return compaction.estimateProjectedContextTokens(sessions.buildSessionProjection(entries), path).tokens;
}

const results = files.map((file) => {
  const all = sessions.parseSessionEntries(readFileSync(file, "utf8"));
  sessions.migrateSessionEntries(all);
  const entries = all.filter((entry) => entry.type !== "session");
  const { messages } = sessions.buildSessionContext(entries);
  return {
    contents: messages.map((message) => [message.role, message.content ?? message.summary ?? null]),
    estimates: messages.map((message) => compaction.estimateTokens(message)),
    size: sizeOf(entries),
  };
});
process.stdout.write(JSON.stringify(results));
