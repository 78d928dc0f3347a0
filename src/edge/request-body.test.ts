import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRequestBody } from "./request-body.ts";
import type { BodyExchange } from "./streamed-body.ts";
import { openUpload } from "./upload-body.ts";

const server = createServer();
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => server.close());

/** An exchange with Content-Length 10 whose client disconnects after sending `bytes` of it. */
async function requestAbortedAfter(bytes: number): Promise<BodyExchange> {
  const address = server.address();
  const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
  const type = "content-type: multipart/form-data; boundary=x";
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: 10\r\n\r\n${"x".repeat(bytes)}`);
  const [request, response] = await once(server, "request");
  const closed = new Promise((resolve) => request.on("close", resolve));
  socket.resetAndDestroy();
  await closed;
  return { request, response, connection: { refusal: undefined } };
}

describe("a body whose client disconnected before it was read", () => {
  test.each([0, 5, 10])("rejects at once, after %i of 10 bytes", async (bytes) => {
    const read = async () => readRequestBody(await requestAbortedAfter(bytes), "json", 100);
    await expect(read()).rejects.toThrow("ended before the body was complete");
  });

  test.each([0, 5, 10])("rejects as an upload, after %i of 10 bytes", async (bytes) => {
    const exchange = await requestAbortedAfter(bytes);
    const read = async () => openUpload(exchange, 100).toArray();
    await expect(read()).rejects.toThrow("ended before the body was complete");
  });
});
