import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { chatBody, nanosOf } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";
import { send, suspendPrimary, workersForFile } from "./scene.ts";

const { upstream, cluster } = workersForFile(2);

type Ask = { readonly key: string; readonly use: string; readonly stream?: boolean; wanted?(): Promise<void> };

const ask = ({ key, use, stream = false, wanted }: Ask) =>
  send(cluster().origin, "/v1/chat/completions", key, {
    body: chatBody(stream ? { stream } : {}),
    headers: { "idempotency-key": use },
    ...(wanted === undefined ? {} : { wanted }),
  });

test("SCALE-04 BILL-02 BILL-09 serves what is in the journal while the primary is suspended, and charges it once", async () => {
  const { key } = await cluster().tenant("charged", "10");
  const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
  const frames = chatFrames(["Hello", " you"], { usage: "asked" });
  upstream().next({ json: chatJson({ content: "Hello." }), gate });
  upstream().next({ frames: [...frames.slice(0, 2), { data: frames.slice(2).join(""), afterMs: 0, gate }] });
  const before = upstream().requests.length;
  const whole = ask({ key, use: "whole" });
  await upstream().arrived(before + 1);
  const streamed = ask({ key, use: "streamed", stream: true });
  await upstream().arrived(before + 2);
  const resume = await suspendPrimary(cluster());
  try {
    goOn();
    expect(await whole).toMatchObject({ status: 200, text: expect.stringContaining("Hello.") });
    expect(await streamed).toMatchObject({ status: 200, text: expect.stringMatching(/data: \[DONE\]\n\n$/) });
  } finally {
    resume();
  }
  // The primary gets both ends before, or at about the same time as, any later call.
  for (const again of [
    { key, use: "whole" },
    { key, use: "streamed", stream: true },
  ])
    await eventually(async () => expect((await ask(again)).headers["idempotent-replayed"]).toBe("true"));
  expect(upstream().requests).toHaveLength(before + 2);
  await eventually(async () => {
    const { data }: Json = await cluster().manage("GET", "/workspaces/charged/wallet/entries");
    expect(data.filter(({ kind }: Json) => kind === "charge")).toHaveLength(2);
    const booked = data.reduce((sum: bigint, { amount }: Json) => sum + nanosOf(amount), 0n);
    const { balance, held } = await cluster().manage("GET", "/workspaces/charged/wallet");
    expect([nanosOf(balance), held]).toEqual([booked, "0.00"]);
  });
});

test("SCALE-04 LOG-01 BILL-09 a request the primary does not answer is refused and logged, and its key is free", async () => {
  const { key } = await cluster().tenant("refused", "10");
  let resume: (() => void) | undefined;
  const wanted = async () => {
    resume = await suspendPrimary(cluster());
  };
  const before = upstream().requests.length;
  try {
    expect(await ask({ key, use: "refused", wanted })).toMatchObject({ status: 503 });
  } finally {
    resume?.();
  }
  upstream().next({ json: chatJson({ content: "Hello." }) });
  await eventually(async () => expect(await ask({ key, use: "refused" })).toMatchObject({ status: 200 }));
  expect(upstream().requests).toHaveLength(before + 1);
  await eventually(async () => {
    const { data }: Json = await cluster().manage("GET", "/workspaces/refused/requests");
    expect(data.map(({ error_code }: Json) => error_code)).toContain("service_unavailable");
  });
});
