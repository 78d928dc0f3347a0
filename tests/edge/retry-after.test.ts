import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { chatBody, openScene, type Scene } from "../support/scene.ts";

type Refusal = { readonly status: number; readonly headers: Headers };

const get = (scene: Scene, where: string, headers: Record<string, string> = {}): Promise<Refusal> =>
  fetch(`${scene.gateway.url}${where}`, { headers });

async function chat(scene: Scene): Promise<Refusal> {
  return scene.chat((await scene.gateway.tenant()).key);
}

const signIn = (scene: Scene): Promise<Refusal> =>
  fetch(`${scene.gateway.url}/manage/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: scene.gateway.url },
    body: JSON.stringify({ email: "absent@example.eu", password: "three red bicycles" }),
  });

/** How each limiter refuses: its settings, and a request that is repeated until it is refused. */
const REFUSALS: readonly (readonly [string, number, Record<string, string>, (scene: Scene) => Promise<Refusal>])[] = [
  ["the limit of an address", 429, { GATEWAY_RPM_IP: "2" }, (scene) => get(scene, "/v1/models")],
  [
    "the limit of an address on the public catalogue",
    429,
    { GATEWAY_RPM_IP: "2" },
    (scene) => get(scene, "/v1/public/models"),
  ],
  [
    "the limit of a key",
    429,
    { GATEWAY_RPM_TEST: "1" },
    (scene) => get(scene, "/v1/models", { "x-api-key": scene.gateway.key }),
  ],
  [
    "the limit of the management API",
    429,
    { GATEWAY_RPM_MANAGE: "2" },
    async (scene) => {
      const made = await scene.gateway.manage("POST", "/workspaces/demo/tokens", { name: "rate", access: "read" });
      const ask = () => get(scene, "/manage/workspaces/demo", { authorization: `Bearer ${made.token}` });
      await ask();
      await ask();
      return ask();
    },
  ],
  ["the attempts to sign in", 429, { GATEWAY_SIGN_IN_ACCOUNT_TRIES: "2" }, signIn],
  [
    "the admission queue",
    429,
    { GATEWAY_QUEUE_CONCURRENCY: "1", GATEWAY_QUEUE_LENGTH: "0" },
    async (scene) => {
      const { key } = await scene.gateway.tenant();
      scene.at("deepinfra").always({ end: { is: "stall", after: "before_headers" } });
      const abort = new AbortController();
      const first = fetch(`${scene.gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(chatBody()),
        signal: abort.signal,
      }).catch(() => undefined);
      await scene.at("deepinfra").arrived(1);
      const refused = await scene.chat(key);
      abort.abort();
      await first;
      return refused;
    },
  ],
  [
    "a provider that states no wait",
    429,
    {},
    (scene) => {
      scene.at("deepinfra").always({ status: 429, json: {} });
      return chat(scene);
    },
  ],
];

const TRIES_MAX = 6;

test.each(REFUSALS)("ERR-15 %s: the refusal states when to retry", async (_, status, env, refuse) => {
  const scene = await openScene(["deepinfra"], env);
  try {
    let refused: Refusal | undefined;
    for (let tries = 0; tries < TRIES_MAX && refused?.status !== status; tries += 1) refused = await refuse(scene);
    expect(refused?.status).toBe(status);
    expect(refused?.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  } finally {
    await scene.close();
  }
});

/** A 429 or 503 that no fault carries would lack the header. */
const BARE_STATUS =
  /\bstatus(?:Code)?\s*[:=]\s*(?:429|503)\b|\b(?:start|writeHead)\(\s*(?:429|503)\b|HTTP\/1\.1 (?:429|503)/;
/** Statuses that simulated providers send, and that providers' errors stand for. */
const PROVIDERS = ["src/sandbox", "src/language"];

test("ERR-15 only the catalogue of faults sends 429 and 503", () => {
  const files = readdirSync(path.join(PROJECT_ROOT, "src"), { recursive: true, encoding: "utf8" })
    .map((name) => path.join("src", name))
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && name !== "src/contract/faults.ts")
    .filter((name) => !PROVIDERS.some((folder) => name.startsWith(folder)));
  expect(files.length).toBeGreaterThan(100);
  const bare = files.filter((name) => BARE_STATUS.test(readFileSync(path.join(PROJECT_ROOT, name), "utf8")));
  expect(bare).toEqual([]);
});
