// `/fabric status | reload | providers`: shows texts that Python composes, and what only Pi's side knows.

const USAGE = "usage: /fabric status | reload | providers";
const ANSWER_MS = 10_000;

export function registerCommand(pi, extension) {
  const verbs = { status, reload, providers };
  pi.registerCommand("fabric", {
    description: "Fabric: status, reload, providers",
    // A menu over a word that is complete would take the Enter that was meant to send it.
    getArgumentCompletions: (prefix) =>
      Object.keys(verbs)
        .filter((verb) => verb !== prefix && verb.startsWith(prefix))
        .map((verb) => ({ value: verb, label: verb })),
    handler: async (args, ctx) => {
      const verb = args.trim() || "status";
      if (!Object.hasOwn(verbs, verb)) return ctx.ui.notify(USAGE, "warning");
      try {
        return ctx.ui.notify(await verbs[verb](extension), "info");
      } catch (error) {
        return ctx.ui.notify(String(error?.message ?? error), "error");
      }
    },
  });
}

async function status({ sidecar, mode }) {
  const { text } = await sidecar.request("status", {}, { timeoutMs: ANSWER_MS });
  const seconds = Math.round(sidecar.uptimeMs / 1000);
  return [
    text,
    `sidecar: pid ${sidecar.pid}, up ${seconds} s, ${sidecar.starts - 1} restarts, ${sidecar.garbage} stray lines`,
    `Pi's core tools: ${mode.isOwner ? "inside fabric_exec (pi.*)" : "with the model"}`,
  ].join("\n");
}

async function reload({ sidecar, executions }) {
  if (executions.size > 0) return "A program is running. Abort it or wait for its end, then reload.";
  await sidecar.restart();
  return "Fabric's Python process was started anew with the present configuration.";
}

async function providers({ sidecar }) {
  return (await sidecar.request("providers", {}, { timeoutMs: ANSWER_MS })).text;
}
