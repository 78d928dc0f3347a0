import { expect, test } from "vitest";
import { fault } from "../../contract/faults.ts";
import { classifyUnencodable } from "../../io/upstream/classify-failure.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { runParts } from "./split-attempt.ts";

const answer = { usage: undefined, outputWeight: 0, upstreamId: null, render: () => "" };
const WHOLE: AttemptOutcome = { is: "complete", reply: answer, upstreamStatus: 200 };
const UNSAYABLE: AttemptOutcome = {
  is: "failed",
  verdict: classifyUnencodable(fault("invalid_value", { message: "no words" })),
  upstreamStatus: null,
};

/** Parts whose outcomes the test resolves. */
function asking(count = 8) {
  const parts = Array.from({ length: count }, () => Promise.withResolvers<AttemptOutcome>());
  let givenUp = 0;
  const over = runParts({
    count,
    runPart: (at) => parts[at]?.promise ?? Promise.reject(new Error("there is no such part")),
    cancel() {
      givenUp += 1;
    },
    slots: undefined,
  });
  return { parts, over, givenUp: () => givenUp };
}

test("ROUTE-04 an internal error in one part cancels the others", async () => {
  const { parts, over, givenUp } = asking();
  parts[3]?.reject(new TypeError("a mistake"));
  await expect(over).rejects.toThrow("a mistake");
  expect(givenUp()).toBe(1);
});

test("LOG-01 an unencodable part after served parts marks the input as possibly accepted", async () => {
  const { parts, over } = asking(2);
  parts[0]?.resolve(WHOLE);
  parts[1]?.resolve(UNSAYABLE);
  expect(await over).toMatchObject({ is: "failed", partsAccepted: true, verdict: { mayHaveBeenAccepted: true } });
  const alone = asking(2);
  for (const part of alone.parts) part.resolve(UNSAYABLE);
  expect(await alone.over).toEqual(UNSAYABLE);
});
