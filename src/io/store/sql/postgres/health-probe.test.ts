import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { DatabaseHealthProbe } from "./health-probe.ts";

afterEach(() => void vi.useRealTimers());

test("SCALE-03 a statement that completes during a probe leaves no further probe scheduled", async () => {
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const pulse = new DatabaseHealthProbe({ url: `postgres://gateway@127.0.0.1:${port}/gateway`, shown: "here" }, 10_000);
  const statement = Promise.withResolvers<string>();
  const waited = pulse.guard(statement.promise);
  const looked = once(server, "connection") as Promise<[Socket]>;
  vi.advanceTimersByTime(5_000);
  const [socket] = await looked;
  statement.resolve("rows");
  expect(await waited).toBe("rows");
  // It is there: it says that it has no room.
  socket.write(refusal("53300", "sorry, too many clients already"));
  await once(socket, "close");
  await new Promise(setImmediate);
  expect(vi.getTimerCount()).toBe(0);
  pulse.close();
  server.close();
});

/** An error of the server, as its protocol writes one. */
function refusal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fields.length);
  return Buffer.concat([Buffer.from("E"), length, fields]);
}
