// Stands in for pi-vcc: answers only the sentinel, and ends Pi with it when VCC_CRASH says so.
export default function (pi) {
  pi.on("session_before_compact", (event) => {
    if (event.customInstructions !== "__pi_vcc__") return undefined;
    return {
      compaction: {
        summary: "A summary by the stand-in for pi-vcc.",
        firstKeptEntryId: event.preparation.firstKeptEntryId,
        tokensBefore: event.preparation.tokensBefore,
        details: { compactor: "pi-vcc" },
      },
    };
  });
}
