import { expect, onTestFinished, test } from "vitest";
import { startUpstream, type Upstream } from "../../../tests/support/upstream.ts";
import { type BodyReader, httpTransport, type UpstreamFailure } from "./transport.ts";

const LIMITS = { connections: 1, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

async function scene() {
  const upstream = await startUpstream();
  const transport = httpTransport(LIMITS);
  onTestFinished(async () => {
    await transport.close();
    await upstream.close();
  });
  return { upstream, transport };
}

const requestTo = ({ baseUrl }: Upstream) => ({ url: `${baseUrl}/chat/completions`, headers: {}, body: "{}" });
const IGNORE: BodyReader = { data: () => "more", end() {}, failed() {} };

test("CHAT-09 a call that waits for a connection is over at once when it is aborted, and is never sent", async () => {
  const { upstream, transport } = await scene();
  const gate = Promise.withResolvers<void>();
  upstream.next({ json: {}, gate: gate.promise });
  const first = Promise.withResolvers<void>();
  transport.send(requestTo(upstream), {
    answered: () => ({ ...IGNORE, end: () => first.resolve() }),
    failed: () => first.reject(new Error("the first call failed")),
  });
  await upstream.arrived(1);
  const failures: UpstreamFailure[] = [];
  const second = transport.send(requestTo(upstream), { answered: () => IGNORE, failed: (one) => failures.push(one) });
  second.abort();
  expect(failures).toMatchObject([{ kind: "aborted", sent: false }]);
  gate.resolve();
  await first.promise;
  const third = Promise.withResolvers<void>();
  transport.send(requestTo(upstream), {
    answered: () => ({ ...IGNORE, end: () => third.resolve() }),
    failed: () => third.reject(new Error("the third call failed")),
  });
  await third.promise;
  expect(upstream.requests).toHaveLength(2);
  expect(failures).toHaveLength(1);
});

test("ERR-07 a reader that throws at the end of an answer hears that the answer broke", async () => {
  const { upstream, transport } = await scene();
  upstream.next({ json: {} });
  const failure = await new Promise<UpstreamFailure>((resolve) => {
    transport.send(requestTo(upstream), {
      answered: () => ({
        data: () => "more",
        end() {
          throw new RangeError("no");
        },
        failed: resolve,
      }),
      failed: resolve,
    });
  });
  expect(failure).toEqual({ kind: "broken", sent: true, why: "RangeError" });
});
