// Keeps the user's skills known to the model while Pi's own reader is hidden.

const LOADER_LINE = /^.*load a skill's file.*$/im;
const OUR_LINE = "Use pi.read inside fabric_exec to load a skill's file when the task matches its description.";

/** Pi's own catalogue with only its loader line changed; empty when there are no skills. */
export function catalogue(host, skills) {
  if (!skills?.length || typeof host.formatSkillsForPrompt !== "function") return "";
  const text = host.formatSkillsForPrompt(skills).trim();
  if (!text) return "";
  return LOADER_LINE.test(text) ? text.replace(LOADER_LINE, OUR_LINE) : `${OUR_LINE}\n${text}`;
}

/** Put the catalogue into the request of `before_agent_start`; the same bytes at every turn. */
export function restoreSkills(host, event, { canHide, ctx }) {
  const text = catalogue(host, event.systemPromptOptions?.skills);
  if (!text) return undefined;
  if (canHide) {
    // Named as Pi's own section, so that it replaces it and stands in the same place.
    event.systemPromptOptions.sections.skills = text;
    return undefined;
  }
  // The event's text is older than the hiding when that has happened only just now. The handler's own
  // context would repeat it; the session's knows better.
  const isStale = event.systemPrompt.includes("<available_skills>");
  const prompt = isStale ? ctx.getSystemPrompt() : event.systemPrompt;
  const end = prompt.lastIndexOf("\nCurrent date:");
  const at = end < 0 ? prompt.length : end;
  return { systemPrompt: `${prompt.slice(0, at)}\n\n${text}${prompt.slice(at)}` };
}
