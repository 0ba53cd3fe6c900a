// Ends Pi in the middle of a compaction, as a broken extension may.
export default function (pi) {
  pi.on("session_before_compact", () => {
    process.stderr.write(`vcc: cannot go on with ${process.env.BENCH_TEST_KEY}\n`);
    process.exit(7);
  });
}
