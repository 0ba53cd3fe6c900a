// Which Python runs the sidecar: PI_FABRIC_PYTHON, what the installer wrote, the environment that
// this folder is installed in, `.venv` of the checkout that it is part of, else python3 from PATH.
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Pi's agent folder; `getAgentDir` of the host when it exports it. */
export function agentDir(host) {
  if (typeof host.getAgentDir === "function") return host.getAgentDir();
  return process.env.PI_CODING_AGENT_DIR || join(homedir(), ".pi", "agent");
}

/** The interpreter and where the choice comes from, for messages. */
export function findPython(directory, extensionDir) {
  const chosen = process.env.PI_FABRIC_PYTHON;
  if (chosen) return { python: chosen, origin: "PI_FABRIC_PYTHON" };
  const file = join(directory, "fabric", "python.json");
  try {
    const { python } = JSON.parse(readFileSync(file, "utf8"));
    if (typeof python === "string" && python) return { python, origin: file };
  } catch {
    // Not written yet, or by hand: the next place is as good.
  }
  const installed = /^(.*)[\\/](?:lib[\\/]python3[^\\/]*|Lib)[\\/]site-packages[\\/]/.exec(extensionDir)?.[1];
  const checkout = /^(.*)[\\/]src[\\/]pi_fabric[\\/]/.exec(extensionDir)?.[1];
  const environment = installed ?? (checkout && join(checkout, ".venv"));
  for (const name of ["bin/python3", "Scripts/python.exe"]) {
    const python = environment && join(environment, name);
    if (python && existsSync(python)) return { python, origin: "the environment of this package" };
  }
  return { python: "python3", origin: "PATH" };
}
