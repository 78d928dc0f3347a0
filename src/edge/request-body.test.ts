import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openUpload, readBody } from "./request-body.ts";

const SENDER = { wanted() {}, refusal: () => undefined };
const server = createServer();
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => server.close());

/** A request of ten bytes whose sender has left, after it had sent so many of them. */
async function leftAfter(bytes: number): Promise<IncomingMessage> {
  const address = server.address();
  const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
  const type = "content-type: multipart/form-data; boundary=x";
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: 10\r\n\r\n${"x".repeat(bytes)}`);
  const [request] = await once(server, "request");
  const closed = new Promise((resolve) => request.on("close", resolve));
  socket.resetAndDestroy();
  await closed;
  return request;
}

describe("a body whose sender left before anybody read it", () => {
  test.each([0, 5, 10])("is not waited for, after %i of 10 bytes", async (bytes) => {
    const read = async () => readBody(await leftAfter(bytes), "json", 100, SENDER);
    await expect(read()).rejects.toThrow("ended before its body was whole");
  });

  test.each([0, 5, 10])("is no upload either, after %i of 10 bytes", async (bytes) => {
    const request = await leftAfter(bytes);
    const read = async () => openUpload(request, 100, SENDER).toArray();
    await expect(read()).rejects.toThrow("ended before its body was whole");
  });
});
