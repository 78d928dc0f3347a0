import { expect, test } from "vitest";
import { KeySpace } from "./key-space.ts";
import { RequestBatches } from "./request-batches.ts";

/** What a window call, a hold and a settlement of one call get from this reply. */
async function outcomesOf(reply: unknown) {
  const batches = new RequestBatches({
    instanceId: "one",
    newToken: () => "t",
    connection: { run: async () => reply },
    keys: new KeySpace("p:"),
    scriptTime: () => "",
  });
  const outcomes = await Promise.allSettled([
    batches.countCall("ws", ["key", "5"]),
    batches.moveMoney("ws", "1", ["h", "r", "3", "", ""]),
    batches.moveMoney("ws", "1", ["s", "q", "2"]),
  ]);
  return outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason.name));
}

const NOW_US = 5;
const WINDOW = [4, 60, "v"] as const;

test("SCALE-02 every entry of a call gets its own values", async () => {
  expect(await outcomesOf([NOW_US, ...WINDOW, "insufficient", "2", "settled"])).toEqual([
    [...WINDOW, NOW_US],
    ["insufficient", "2"],
    ["settled"],
  ]);
  expect(await outcomesOf([NOW_US, "failed", "no", "held", "failed", "OOM"])).toEqual([
    "CommandRejected",
    ["held"],
    "CommandRejected",
  ]);
});

test.each([
  ["no list", "OK"],
  ["nothing", []],
  ["too few values", [NOW_US, ...WINDOW, "held"]],
  ["a part of the last entry", [NOW_US, ...WINDOW, "held", "limit", 0]],
  ["a value that no entry has", [NOW_US, ...WINDOW, "kept", "settled"]],
  ["too many values", [NOW_US, ...WINDOW, "held", "settled", "settled"]],
  ["a failure without its reason", [NOW_US, ...WINDOW, "held", "failed", null]],
])(
  "SCALE-03 BILL-02 after a reply with %s every outcome is unknown, because Redis may hold the money",
  async (_, reply) => {
    expect(await outcomesOf(reply)).toEqual(["OutcomeUnknown", "OutcomeUnknown", "OutcomeUnknown"]);
  },
);
