import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../../tests/support/eventually.ts";
import { respServer, WELCOME } from "../../../../tests/support/resp-server.ts";
import { RedisConnection } from "./redis-connection.ts";

const TIMEOUT_MS = 250;

test.each([
  ["a connection that ends is no slow reply: the next command times out as configured", "cut", TIMEOUT_MS / 2],
  ["an error is a reply, and a slow one makes the next command wait longer", "-ERR no\r\n", 2 * TIMEOUT_MS],
])("SCALE-22 %s", async (_what, how, halfMs) => {
  const server = await respServer(WELCOME);
  onTestFinished(() => server.close());
  let nowMs = 0;
  /** They fire only when the test says so. */
  const timers: { readonly ms: number; readonly fire: () => void }[] = [];
  const connection = new RedisConnection({
    url: `redis://127.0.0.1:${server.port}`,
    ca: undefined,
    timeoutMs: TIMEOUT_MS,
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    timers: {
      after(ms, fire) {
        timers.push({ ms, fire });
        return { refresh() {}, [Symbol.dispose]() {} };
      },
    },
    log: { info() {}, warn() {}, error() {} },
  });
  onTestFinished(() => connection.close());
  await connection.open();
  const gets = () => server.received.filter((name) => name === "GET").length;
  const first = connection.send(["GET", "a"]).catch(String);
  await eventually(() => expect(gets()).toBe(1));
  const [expires] = timers.splice(0).filter(({ ms }) => ms === TIMEOUT_MS / 2);
  nowMs = TIMEOUT_MS / 2;
  if (how === "cut") server.cut();
  else server.reply(how);
  expect(await first).toMatch(how === "cut" ? "OutcomeUnknown" : "ERR no");
  await eventually(() => expect(connection.isAvailable).toBe(true));
  connection.send(["GET", "b"]).catch(String);
  // Its deadline is scheduled once that of the first command has passed.
  expires?.fire();
  expect(timers.map(({ ms }) => ms)).toContain(halfMs);
});
