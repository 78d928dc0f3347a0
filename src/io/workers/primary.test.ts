import { duplexPair } from "node:stream";
import { expect, test, vi } from "vitest";
import { Primary } from "./primary.ts";

test("SCALE-04 a worker that stood still takes the answers that wait for it; one that gets none gives up", async () => {
  const [here, there] = duplexPair();
  let [nowMs, looks] = [0, 0];
  const elapsedMs = () => {
    looks += 1;
    return nowMs;
  };
  const primary = new Primary(here, { nowMs: () => nowMs, elapsedMs });
  const passing = async (ms: number) => {
    [nowMs, looks] = [nowMs + ms, 0];
    await vi.waitFor(() => expect(looks).toBeGreaterThan(0));
  };
  const answered = primary.ask("wallet", "ws");
  answered.catch(() => undefined);
  await passing(60_000);
  there.write('[[1,["5","0"]]]\n');
  expect(await answered).toEqual(["5", "0"]);
  const unanswered = expect(primary.ask("wallet", "ws")).rejects.toMatchObject({ code: "service_unavailable" });
  for (let look = 0; look < 3; look += 1) await passing(2_000);
  await unanswered;
});
