import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

/** L0 in the US; L3 in FR. */
const LEVELS: Readonly<Record<string, string>> = { deepinfra: "L0", ovhcloud: "L3" };
const PROVIDERS: readonly Provider[] = ["deepinfra", "ovhcloud"];
const REQUESTS = 150;
const SEED = 20_261_119;

const POLICIES: readonly Json[] = [
  {},
  { floor: "L3" },
  { blocked_providers: ["deepinfra"] },
  { no_training: true, floor: "L3" },
  { data_classes: { personal: { action: "redact" } } },
  { data_classes: { personal: { action: "redact", below: "L3" } } },
  { data_classes: { personal: { floor: "L3" } } },
];
const HINTS: readonly Json[] = [
  {},
  { provider: { only: ["ovhcloud"] } },
  { provider: { zdr: true } },
  { stream: true },
];
const TEXTS = ["Say hello.", "Write to jane.doe@mail.example.eu"];
const NOTHING_SET = { floor: "none", blocked_providers: null, no_training: false, data_classes: null };

let scene: Scene;
let tenants: readonly Tenant[] = [];
let replies = 0;
/** By the words of a reply: for what it was computed. */
const computedFor = new Map<string, string>();

beforeAll(async () => {
  scene = await openScene(PROVIDERS);
  tenants = [await scene.gateway.tenant(), await scene.gateway.tenant()];
  for (const provider of PROVIDERS)
    scene.at(provider).always(({ json }) => {
      replies += 1;
      const content = `reply ${replies} of ${provider}`;
      const choice = { index: 0, message: { role: "assistant", content }, finish_reason: "stop" };
      if ((json as Json).stream !== true) return { json: chatJson({ choices: [choice] }) };
      const delta = { index: 0, delta: { role: "assistant", content }, finish_reason: null };
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
      const end = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
      return {
        frames: [
          `data: ${JSON.stringify({ ...chunk, choices: [delta] })}\n\n`,
          `data: ${JSON.stringify(end)}\n\n`,
          "data: [DONE]\n\n",
        ],
      };
    });
});
afterAll(() => scene.close());

/** The same numbers for one seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("CACHE-02 over random requests no reply crosses workspaces, policies, wishes, rules of data classes or texts", async () => {
  const random = randomFrom(SEED);
  const pick = <T>(list: readonly T[]) => list[random(list.length)] as T;
  const inForce = new Map<Tenant, Json>();
  let hits = 0;
  for (let at = 0; at < REQUESTS; at += 1) {
    const tenant = pick(tenants);
    if (!inForce.has(tenant) || random(6) === 0) {
      const policy = pick(POLICIES);
      await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { ...NOTHING_SET, ...policy });
      inForce.set(tenant, policy);
    }
    const policy = inForce.get(tenant);
    const hint = pick(HINTS);
    const content = pick(TEXTS);
    const body = {
      messages: [{ role: "user", content }],
      ...hint,
      ...(hint.provider?.zdr ? {} : { cache: { ttl: 600 } }),
    };
    const reply = await scene.chat(tenant.key, body);
    if (reply.status !== 200) continue;
    const [words = ""] = /reply \d+ of [a-z]+/.exec(reply.text) ?? [];
    const own = JSON.stringify([tenant.slug, policy, hint, content]);
    const isHit = reply.headers.get("x-svc-cache")?.startsWith("hit") === true;
    expect(computedFor.get(words) ?? own, `request ${at}`).toBe(own);
    expect(computedFor.has(words), `request ${at}`).toBe(isHit);
    computedFor.set(words, own);
    if (isHit) hits += 1;
    const provider = reply.headers.get("x-svc-provider") ?? "";
    expect(words).toContain(provider);
    if (policy.floor === "L3") expect(LEVELS[provider]).toBe("L3");
    if (policy.blocked_providers !== undefined) expect(policy.blocked_providers).not.toContain(provider);
  }
  expect(hits).toBeGreaterThan(REQUESTS / 5);
});
