// Another extension beside ours; NEIGHBOUR names its habits.
const habits = (process.env.NEIGHBOUR ?? "").split(",");
const unusual = {
  huge: () => text("x".repeat(70_000_000)),
  deep: () => ({ ...text("deep"), details: JSON.parse('{"x":'.repeat(1_500) + "{}" + "}".repeat(1_500)) }),
};
const text = (value) => ({ content: [{ type: "text", text: value }], details: { by: "neighbour" } });

export default function (pi) {
  pi.registerTool({
    name: "other_tool", label: "Other", description: "A tool of another extension",
    parameters: { type: "object", properties: {} },
    execute: async () => text("other"),
  });
  if (habits.includes("override"))
    pi.registerTool({
      name: "read", label: "Read", description: "An override of read",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      execute: async (_id, args) => unusual[args.path]?.() ?? text(`override of ${args.path}`),
    });
  pi.on("tool_call", (event) => {
    if (habits.includes("block") && event.toolName === "read") return { block: true, reason: "reading is not allowed" };
    if (habits.includes("mutate") && event.toolName === "read") event.input.path = "b.txt";
    return undefined;
  });
  pi.on("tool_result", (event) => {
    if (habits.includes("patch") && event.toolName === "read") return { content: [{ type: "text", text: "patched" }] };
    return undefined;
  });
  pi.registerCommand("pick", {
    description: "Choose the active tools",
    handler: async (args) => pi.setActiveTools(args.trim().split(" ")),
  });
  pi.registerCommand("active", {
    description: "Show the active tools",
    handler: async (_args, ctx) => ctx.ui.notify(`active: ${pi.getActiveTools().join(" ")}`, "info"),
  });
  pi.registerCommand("again", { description: "Reload", handler: async (_args, ctx) => ctx.reload() });
  pi.registerCommand("late", {
    description: "Register a tool late",
    handler: async () => pi.registerTool({
      name: "late_tool", label: "Late", description: "Registered late",
      parameters: { type: "object", properties: {} }, execute: async () => text("late"),
    }),
  });
}
