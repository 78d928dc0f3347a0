import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { chunksOf, costNanos, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, sse } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const TEXT = "w".repeat(80);
const COUNTED = 20;

/** One reply with this usage, whole or streamed: what the client saw, the row, and the ledger's charge. */
async function answeredWith(usage: unknown, stream: boolean, content = TEXT, more: object = {}) {
  scene.at("deepinfra").next(
    stream
      ? {
          frames: [
            ...chatFrames([content], { done: "missing" }),
            sse({ id: "c", choices: [], usage }),
            "data: [DONE]\n\n",
          ],
        }
      : { json: chatJson({ content, usage }) },
  );
  const body = { stream, max_tokens: 100, ...more, ...(stream ? { stream_options: { include_usage: true } } : {}) };
  const answer = await scene.chat(tenant.key, body);
  expect(answer.status).toBe(200);
  const [row] = await scene.rows(tenant);
  const [charge] = await scene.charges(tenant);
  const shown = stream ? chunksOf(answer.text).at(-1).usage : answer.body.usage;
  return { shown, row, nanos: charge?.nanos ?? 0n };
}

describe.each([
  ["whole", false],
  ["streamed", true],
])("usage of a provider, %s", (_, stream) => {
  test("BILL-02 zero is zero: kept, shown, and free", async () => {
    const { shown, row, nanos } = await answeredWith(
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      stream,
    );
    expect(row.usage).toMatchObject({ input_tokens: 0, output_tokens: 0, estimated: false });
    expect(shown).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, cost: 0 });
    expect(nanos).toBe(0n);
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test.each([
    ["missing", undefined],
    ["null", null],
    ["empty", {}],
    ["text", "12"],
    ["of the wrong kind", { prompt_tokens: "12", completion_tokens: 5 }],
    ["only half there", { prompt_tokens: 12 }],
    ["incomplete, the other half", { completion_tokens: 12, total_tokens: 24 }],
    ["negative", { prompt_tokens: -12, completion_tokens: 5, total_tokens: -7 }],
    ["negative in a billed field", { prompt_tokens: 12, completion_tokens: -5, total_tokens: 7 }],
    ["broken", { prompt_tokens: 12.5, completion_tokens: 5, total_tokens: 17.5 }],
    ["beyond every number", { prompt_tokens: 1e300, completion_tokens: 5, total_tokens: 1e300 }],
    ["beyond the model", { prompt_tokens: 12, completion_tokens: 500_000_000, total_tokens: 500_000_012 }],
    ["far above the request's limit", { prompt_tokens: 12, completion_tokens: 70_000, total_tokens: 70_012 }],
    [
      "far above the model's output limit, as reasoning",
      { prompt_tokens: 12, completion_tokens: 400_000, completion_tokens_details: { reasoning_tokens: 399_980 } },
    ],
    [
      "above the model's context in the prompt",
      { prompt_tokens: 900_000_000, completion_tokens: 5, total_tokens: 900_000_005 },
    ],
    [
      "more cached than sent",
      { prompt_tokens: 12, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 13 } },
    ],
    ["a negative cache", { prompt_tokens: 12, completion_tokens: 5, prompt_tokens_details: { cached_tokens: -900 } }],
    [
      "more reasoning than output",
      { prompt_tokens: 12, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } },
    ],
  ])("BILL-02 CHAT-07 %s: the gateway counts, marks and shows it, and charges at most the hold", async (_, usage) => {
    const { shown, row, nanos } = await answeredWith(usage, stream);
    expect(row.usage).toMatchObject({ output_tokens: COUNTED, estimated: true });
    expect(shown).toMatchObject({
      prompt_tokens: row.usage.input_tokens,
      completion_tokens: COUNTED,
      total_tokens: row.usage.input_tokens + COUNTED,
      prompt_tokens_details: { cached_tokens: 0 },
      currency: "EUR",
    });
    // An estimate knows no reasoning.
    expect(shown).not.toHaveProperty("completion_tokens_details");
    expect(nanos).toBe(costNanos("deepinfra", { input: row.usage.input_tokens, output: COUNTED }));
    expect(shown.cost).toBe(Number(nanos) / 1e9);
    expect(nanosOf(row.cost)).toBe(nanos);
  });

  test.each([
    ["cannot be true", { prompt_tokens: 900_000_000, completion_tokens: 5, total_tokens: 900_000_005 }, "impossible"],
    ["are missing", undefined, "none"],
    ["are no numbers", { prompt_tokens: "12", completion_tokens: 5, total_tokens: 17 }, "none"],
    ["are negative", { prompt_tokens: -12, completion_tokens: 5, total_tokens: -7 }, "impossible"],
    ["are fractions", { prompt_tokens: 12, completion_tokens: 5.5, total_tokens: 17.5 }, "impossible"],
  ])("BILL-02 OPS-02 usage that %s is counted for the operator, by provider and reason", async (_, usage, why) => {
    const replaced = (...labels: readonly string[]) => metricSum(scene, "gateway_figures_replaced_total", ...labels);
    const [all, such] = [await replaced(), await replaced('provider="deepinfra"', `why="${why}"`)];
    const { row, nanos } = await answeredWith(usage, stream);
    expect(nanos).toBe(costNanos("deepinfra", { input: row.usage.input_tokens, output: COUNTED }));
    expect([await replaced(), await replaced('provider="deepinfra"', `why="${why}"`)]).toEqual([all + 1, such + 1]);
    await answeredWith({ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 }, stream);
    expect(await replaced()).toBe(all + 1);
  });

  test("BILL-03 an estimate of the gateway never exceeds the hold", async () => {
    // A provider that ignores a limit of 100 tokens and sends a hundred times as much, without usage.
    const { nanos, row } = await answeredWith(undefined, stream, "w".repeat(40_000));
    expect(row.usage).toMatchObject({ output_tokens: 10_000, estimated: true });
    const stated = costNanos("deepinfra", { input: 0, output: 100 });
    expect(nanos).toBeGreaterThan(stated);
    expect(nanos).toBeLessThan(2n * stated);
  });

  test("BILL-03 usage of the provider is charged as reported, also above the hold", async () => {
    const { nanos } = await answeredWith({ prompt_tokens: 1000, completion_tokens: 5000, total_tokens: 6000 }, stream);
    expect(nanos).toBe(costNanos("deepinfra", { input: 1000, output: 5000 }));
  });

  const PIXEL = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  test.each([
    ["a short text is rejected", "Say hello.", true],
    ["a long text is", "A long word. ".repeat(5_000), false],
    ["a picture is", [{ type: "text", text: "What is this?" }, PIXEL], false],
  ])("BILL-02 a prompt of 600,000 tokens for %s", async (_, content, estimated) => {
    const wire = { prompt_tokens: 600_000, completion_tokens: 5, total_tokens: 600_005 };
    const more = { model: "meta/llama-4-maverick-17b-instruct", messages: [{ role: "user", content }] };
    const { row } = await answeredWith(wire, stream, TEXT, more);
    expect(row.usage.estimated).toBe(estimated);
    if (!estimated) expect(row.usage.input_tokens).toBe(600_000);
  });

  test.each([
    ["reasoning above the limit", TEXT, { completion_tokens_details: { reasoning_tokens: 74_990 } }],
    ["visible text", "w ".repeat(75_000), {}],
  ])("BILL-03 %s are charged as the provider counted them", async (_, content, more) => {
    const wire = { prompt_tokens: 12, completion_tokens: 75_000, total_tokens: 75_012, ...more };
    const { row, nanos } = await answeredWith(wire, stream, content);
    expect(row.usage).toMatchObject({ output_tokens: 75_000, estimated: false });
    expect(nanos).toBe(costNanos("deepinfra", { input: 12, output: 75_000 }));
  });

  test.each([
    ["beside the other counts", { cached_tokens: 9000 }, { cached: 9000 }],
    [
      "with explicit cache writes",
      { prompt_tokens_details: { cached_tokens: 2000, cache_creation_input_tokens: 7000 } },
      { cached: 2000, written: 7000 },
    ],
  ])("BILL-05 cache %s tokens have their own price", async (_, details, used) => {
    const model = "minimax/minimax-m2.5";
    const wire = { prompt_tokens: 10_000, completion_tokens: 100, total_tokens: 10_100, ...details };
    const { shown, row, nanos } = await answeredWith(wire, stream, TEXT, { model });
    expect(row.usage).toMatchObject({ input_tokens: 10_000, cached_tokens: used.cached, estimated: false });
    expect(shown).toMatchObject({ prompt_tokens: 10_000, prompt_tokens_details: { cached_tokens: used.cached } });
    expect(nanos).toBe(costNanos("deepinfra", { input: 10_000, output: 100, ...used }, "EUR", model));
  });

  test("CHAT-07 a server that excludes reasoning from its output tokens: it is counted, shown and charged", async () => {
    const wire = {
      prompt_tokens: 291,
      completion_tokens: 26,
      total_tokens: 513,
      prompt_tokens_details: { cached_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 196 },
      num_sources_used: 3,
    };
    const { shown, row, nanos } = await answeredWith(wire, stream);
    expect(row.usage).toMatchObject({ input_tokens: 291, output_tokens: 222, reasoning_tokens: 196, estimated: false });
    expect(shown).toMatchObject({ completion_tokens: 222, total_tokens: 513, num_sources_used: 3 });
    expect(nanos).toBe(costNanos("deepinfra", { input: 291, output: 222 }));
  });
});

describe("repeated usage", () => {
  const figured = (figures: readonly (object | null | undefined)[]) =>
    figures.map((usage, at) =>
      sse({
        id: "c",
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { content: "word" }, finish_reason: at === figures.length - 1 ? "stop" : null }],
        ...(usage === undefined ? {} : { usage }),
      }),
    );
  const output = (tokens: number) => ({ prompt_tokens: 50, completion_tokens: tokens, total_tokens: 50 + tokens });

  test.each([
    ["cumulative", [output(1), output(2), output(3)], 3],
    ["decreasing", [output(9), output(5), output(4)], 4],
    ["repeated", [output(7), output(7), output(7)], 7],
    ["followed by null", [output(6), null, null], 6],
    ["followed by nothing", [output(6), undefined], 6],
    ["followed by garbage", [output(8), { prompt_tokens: -1, completion_tokens: -1 }], 8],
  ])("BILL-02 %s: the last valid one counts, once", async (_, figures, tokens) => {
    scene.at("deepinfra").next({ frames: [...figured(figures), "data: [DONE]\n\n"] });
    const { text } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
    const [row] = await scene.rows(tenant);
    expect(row.usage).toMatchObject({ input_tokens: 50, output_tokens: tokens, estimated: false });
    const nanos = costNanos("deepinfra", { input: 50, output: tokens });
    expect(await scene.charges(tenant)).toEqual([{ id: `charge:${row.id}`, nanos }]);
    const chunks = chunksOf(text).filter(({ usage }) => usage != null);
    expect(chunks).toHaveLength(1);
    expect(chunks[0].usage).toMatchObject({ completion_tokens: tokens, cost: Number(nanos) / 1e9 });
  });
});
