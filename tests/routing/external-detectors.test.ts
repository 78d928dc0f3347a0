import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, type Script, startUpstream, type Upstream } from "../support/upstream.ts";

let scene: Scene;
let presidio: Upstream;
let tenant: Tenant;
/** L0 in the US; L3 in FR. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud"];
const NAME = /Anna Berg|Bo Öst|😀Cy Dahl/g;
const EMAIL = "jane.doe@mail.example.eu";

/** Finds three names, and counts characters as Presidio does. */
function analyze(json: unknown): Script {
  const { text } = json as { text: string };
  const found = [...text.matchAll(NAME)].map(({ 0: name, index }) => {
    const start = [...text.slice(0, index)].length;
    return { entity_type: "PERSON", start, end: start + [...name].length, score: 0.85, analysis_explanation: null };
  });
  return { json: found };
}

beforeAll(async () => {
  presidio = await startUpstream(({ json }) => analyze(json));
  scene = await openScene(ALL, { GATEWAY_DETECTOR_PRIVATE: "on" });
});
afterAll(async () => {
  await scene.close();
  await presidio.close();
});
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (part: string) => `/workspaces/${tenant.slug}${part}`;
const attested = { level: "L3", name: "Ada Moreau", reason: "Own data centre." };
const detectorWith = (more: object = {}) => ({
  url: `${presidio.url}/analyze`,
  language: "de",
  country: "DE",
  attested,
  timeout_ms: 20_000,
  ...more,
});
const define = (more: object = {}, name = "people") =>
  scene.gateway.manage("PUT", at(`/data-classes/${name}`), { detector: detectorWith(more) });
const setPolicy = (rules: object | null, more: object = {}) =>
  scene.gateway.manage("PATCH", at("/policy"), { data_classes: rules, ...more });
const ask = (content: unknown, more: object = {}) =>
  scene.chat(tenant.key, { messages: [{ role: "user", content }], ...more });
const lastAt = (provider: Provider) => String(scene.at(provider).requests.at(-1)?.raw);
const calls = () => presidio.requests.length;
/** All texts that the detector received during a call. */
async function textsDuring(call: () => Promise<unknown>): Promise<string> {
  const before = calls();
  await call();
  return presidio.requests
    .slice(before)
    .map(({ json }) => (json as Json).text)
    .join("\n");
}

describe("external detectors of data classes", () => {
  test("CLASS-01 CLASS-04 what a Presidio analyzer finds is redacted, counted and named by its kind", async () => {
    await define({ token: "detector-secret" });
    await setPolicy({ people: { action: "redact" } });
    const answer = await ask("Ask Anna Berg or 😀Cy Dahl, not Berg.");
    expect(lastAt("deepinfra")).toContain("Ask [PERSON] or [PERSON], not Berg.");
    expect([answer.headers.get("x-svc-data-classes"), answer.headers.get("x-svc-data-action")]).toEqual([
      "people=2",
      "redacted",
    ]);
    const received = presidio.requests.at(-1);
    expect([received?.method, received?.path]).toEqual(["POST", "/analyze"]);
    expect(received?.headers.authorization).toBe("Bearer detector-secret");
    expect(received?.json).toMatchObject({ language: "de", text: expect.stringContaining("Ask Anna Berg") });
    const { detail } = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(detail.data_detectors).toEqual({ people: { result: "read", level: "L3", country: "DE" } });
  });

  test("CLASS-03 names become stand-ins that are restored in a stream, also from tool results in JSON", async () => {
    await define();
    await setPolicy({ people: { action: "pseudonymise" } });
    scene.at("deepinfra").next(({ raw }) => {
      const [standIn = "none"] = /\[PERSON_\w{6}\]/.exec(raw.toString()) ?? [];
      return { frames: chatFrames([...`Hello ${standIn}!`], { usage: "asked" }) };
    });
    const answer = await ask("Hi", {
      stream: true,
      messages: [
        { role: "user", content: "Who?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "who", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: '{"name":"Bo \\u00d6st"}' },
      ],
    });
    expect(lastAt("deepinfra")).not.toMatch(/Bo (?:Ö|\\)/);
    const text = answer.text
      .split("\n")
      .flatMap((line) => (line.startsWith("data: {") ? JSON.parse(line.slice(6)).choices : []))
      .map((choice: Json) => choice.delta?.content ?? "")
      .join("");
    expect(text).toBe("Hello Bo Öst!");
  });

  test("CLASS-04 a name that is split over two parts of a message is found and replaced in both", async () => {
    await define();
    await setPolicy({ people: { action: "redact" } });
    await ask([
      { type: "text", text: "Ask Anna B" },
      { type: "text", text: "erg today" },
    ]);
    expect(lastAt("deepinfra")).not.toMatch(/Anna|erg/);
  });

  test("CLASS-02 a floor for what is found moves the request, and a request without it stays", async () => {
    await define();
    await setPolicy({ people: { floor: "L3" } });
    expect((await ask("Anna Berg")).headers.get("x-svc-provider")).toBe("ovhcloud");
    expect((await ask("Nothing")).headers.get("x-svc-provider")).toBe("deepinfra");
  });

  test.each([
    ["the workspace's floor", { country: "US", attested: null }, { people: { action: "block" } }, { floor: "L1" }],
    ["the country", { attested: null }, { people: { action: "block" } }, { countries: ["FR"] }],
    ["retention", {}, { people: { action: "block" } }, { zero_data_retention: true }],
    ["the class's own level", { attested: null }, { people: { floor: "L3" } }, {}],
    ["the level below which it acts", { attested: null }, { people: { action: "redact", below: "L2" } }, {}],
    ["the floor of other data", { attested: null }, { people: { action: "redact" }, personal: { floor: "L2" } }, {}],
  ])(
    "CLASS-04 a detector that %s excludes is never called, and the request refused",
    async (_, more, rules, policy) => {
      await define(more);
      await setPolicy(rules, policy);
      const before = calls();
      const refused = await ask(`Anna Berg ${EMAIL}`);
      expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
      expect(refused.body.error.message).toContain("external detector 127.0.0.1");
      expect(refused.body.error.message).not.toContain("Anna");
      expect(calls()).toBe(before);
    },
  );

  test("CLASS-02 a rule that only counts lets a request pass that its detector did not read", async () => {
    await define({ country: "US", attested: null });
    await setPolicy({ people: { action: "report" } }, { floor: "L1" });
    const before = calls();
    const answer = await ask("Anna Berg");
    expect([answer.status, answer.headers.get("x-svc-data-classes")]).toEqual([200, "none"]);
    const { detail } = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(detail.data_detectors.people.result).toBe("not_permitted");
    expect(calls()).toBe(before);
  });

  test("CLASS-04 a detector below a rule's level gets the data of other classes masked, and still finds its own", async () => {
    await define({ attested: null });
    await setPolicy({ people: { action: "redact" }, personal: { action: "redact", below: "L3" } });
    const texts = await textsDuring(() => ask(`Write to ${EMAIL} and Anna Berg`));
    expect(texts).not.toContain("jane.doe");
    expect(texts).toContain(`Write to ${"x".repeat(EMAIL.length)} and Anna Berg`);
    expect(lastAt("deepinfra")).toContain("Write to [EMAIL] and [PERSON]");
    const before = calls();
    const split = [
      { type: "text", text: "jane.doe@mail." },
      { type: "text", text: "example.eu" },
    ];
    expect((await ask(split)).status).toBe(403);
    expect(calls()).toBe(before);
  });

  test("CLASS-06 without a rule for its class a detector is not called", async () => {
    await define();
    await setPolicy({ personal: { action: "report" } });
    const before = calls();
    expect((await ask("Anna Berg")).status).toBe(200);
    await setPolicy(null);
    expect((await ask("Anna Berg")).status).toBe(200);
    expect(calls()).toBe(before);
  });

  test.each<[string, Script, object, string]>([
    ["is down", { end: { is: "cut", after: "before_headers" } }, {}, "the connection was lost"],
    ["answers with an error", { status: 500, json: { error: "x" } }, {}, "it responded with 500"],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" } }, {}, "it responded with 302"],
    ["answers nonsense", { json: { people: [] } }, {}, "not a list of findings"],
    ["answers without end", { frames: endless() }, {}, "longer than 524288 bytes"],
    ["compresses its answer", { json: [], encoding: "gzip" }, {}, "compressed"],
    ["stalls", { end: { is: "stall", after: "before_headers" } }, { timeout_ms: 50 }, "within 50 ms"],
    ["stalls in its answer", { body: "[]      ", end: { is: "stall", after: 2 } }, { timeout_ms: 50 }, "within 50 ms"],
  ])(
    "CLASS-04 if its detector %s, a request is refused by name and reaches no provider",
    async (_, script, more, why) => {
      await define(more);
      await setPolicy({ people: { action: "redact" } });
      const before = scene.at("deepinfra").requests.length + scene.at("ovhcloud").requests.length;
      presidio.next(script);
      const refused = await ask("Anna Berg");
      expect([refused.status, refused.body.error.code]).toEqual([503, "data_class_detector_failed"]);
      expect(refused.headers.get("retry-after")).toBe("5");
      expect(refused.body.error.message).toContain(why);
      expect(scene.at("deepinfra").requests.length + scene.at("ovhcloud").requests.length).toBe(before);
      const answer = await ask("Anna Berg");
      expect(answer.status).toBe(200);
    },
  );

  test("CLASS-01 a request with more text than a detector reads is refused without a call", async () => {
    await define();
    await setPolicy({ people: { action: "redact" } });
    const before = calls();
    const refused = await ask("Anna Berg ".repeat(110_000));
    expect([refused.status, refused.body.error.code]).toEqual([503, "data_class_detector_failed"]);
    expect(refused.body.error.message).toContain("more than 1000000 characters");
    expect(calls()).toBe(before);
  });

  test("CLASS-02 replies are not read by detectors, so a rule for them is refused", async () => {
    await define();
    await setPolicy({ people: { output: "redact" } });
    const refused = await ask("Hi");
    expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect(refused.body.error.message).toContain('"output"');
  });

  test("CLASS-05 metrics count the requests that a detector had to read, by result", async () => {
    const count = (result: string) => metricSum(scene, "gateway_data_class_detector_reads_total", `result="${result}"`);
    await define();
    await setPolicy({ people: { action: "report" } });
    const [read, failed] = [await count("read"), await count("failed")];
    await ask("Anna Berg");
    presidio.next({ status: 500 });
    await ask("Anna Berg");
    expect([await count("read"), await count("failed")]).toEqual([read + 1, failed + 1]);
  });

  test("CLASS-02 CLASS-05 a detector is defined, shown without its token and tried from the terminal", async () => {
    const { cli } = scene.gateway;
    const file = path.join(mkdtempSync(path.join(tmpdir(), "gateway-detector-")), "detector.json");
    writeFileSync(file, JSON.stringify(detectorWith({ token: "detector-secret" })));
    const defined = await cli("data-class", "define", tenant.slug, "people", "--detector", file, "--json");
    expect(defined.stdout).not.toContain("detector-secret");
    const shown = await cli("data-class", "definition", tenant.slug, "people", "--json");
    expect(shown.stdout).not.toContain("detector-secret");
    expect(JSON.parse(shown.stdout).definition.detector).toMatchObject({ level: "L3", country: "DE", has_token: true });
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}`);
    const audited = data.find(({ action }: Json) => action === "data_class.define");
    expect(audited.detail.detector).toMatchObject({ country: "DE", level: "L3", attested_by: "Ada Moreau" });
    const rules = { people: { action: "redact" } };
    const trial = { text: "Ask Anna Berg", data_classes: rules };
    const tried = await scene.gateway.manage("POST", at("/data-classes/test"), trial);
    expect(tried.findings).toMatchObject([{ class: "people", detector: "external.people", offset: 4, length: 9 }]);
    expect(tried.levels.at(-1).text).toBe("Ask [PERSON]");
  });

  test.each([
    ["a URL without a scheme", { url: "presidio/analyze" }, "detector.url"],
    ["a URL with a password", { url: "http://me:pw@127.0.0.1/analyze" }, "detector.url"],
    ["no country", { country: undefined }, "detector.country"],
    ["an attested level outside the EEA", { country: "US" }, "detector.attested"],
    ["a timeout beyond the limit", { timeout_ms: 31_000 }, "detector.timeout_ms"],
  ])("CLASS-01 a detector with %s is refused with its place", async (_, more, param) => {
    await expect(define(more)).rejects.toThrow(param);
  });
});

function* endless(): Generator<string> {
  for (;;) yield " ".repeat(64 * 1024);
}

test("CLASS-01 where private networks are not allowed, a detector in one is neither stored nor called", async () => {
  const strict = await openScene(["deepinfra"]);
  try {
    const own = await strict.gateway.tenant();
    const define = (url: string) =>
      strict.gateway.manage("PUT", `/workspaces/${own.slug}/data-classes/people`, { detector: detectorWith({ url }) });
    await expect(define(`${presidio.url}/analyze`)).rejects.toThrow("https://");
    await expect(define("https://127.0.0.1/analyze")).rejects.toThrow("private or reserved network");
    await expect(define("https://localhost/analyze")).rejects.toThrow("private or reserved network");
  } finally {
    await strict.close();
  }
});
