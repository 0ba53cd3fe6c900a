// Another extension that moves in the tree of the session, and that may take part in compactions;
// COMPACTION_NEIGHBOUR names its habits.
const habits = (process.env.COMPACTION_NEIGHBOUR ?? "").split(",");
const result = (event, summary) => ({
  compaction: { summary, firstKeptEntryId: "", tokensBefore: event.preparation.tokensBefore },
});

export default function (pi) {
  pi.registerCommand("go", {
    description: "Navigate: JSON of {to, ...options}, where `to` is an entry's id",
    handler: async (args, ctx) => {
      const { to, ...options } = JSON.parse(args);
      await ctx.navigateTree(to, options);
    },
  });
  pi.on("session_before_compact", async (event) => {
    if (habits.includes("pi-vcc")) {
      event._piVccOverriding = true;
      return result(event, "by pi-vcc");
    }
    if (habits.includes("claims")) return result(event, `claimed: ${event._fabricCompaction === true}`);
    if (habits.includes("slow")) await new Promise((resolve) => setTimeout(resolve, 2_000));
    return undefined;
  });
}
