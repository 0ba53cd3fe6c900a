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
export function restoreSkills(host, event, { canHide }) {
  const text = catalogue(host, event.systemPromptOptions?.skills);
  if (!text) return undefined;
  if (canHide) {
    // Named as Pi's own section, so that it replaces it and stands in the same place.
    event.systemPromptOptions.sections.skills = text;
    return undefined;
  }
  if (event.systemPrompt.includes("<available_skills>")) return undefined;
  const end = event.systemPrompt.lastIndexOf("\nCurrent date:");
  const at = end < 0 ? event.systemPrompt.length : end;
  return { systemPrompt: `${event.systemPrompt.slice(0, at)}\n\n${text}${event.systemPrompt.slice(at)}` };
}
