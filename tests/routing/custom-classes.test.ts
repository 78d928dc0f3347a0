import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud"];

beforeAll(async () => {
  scene = await openScene(ALL, { GATEWAY_DATA_CLASSES_MAX: "2", GATEWAY_DATA_CLASS_TERMS_MAX: "1000" });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (path: string) => `/workspaces/${tenant.slug}${path}`;
const define = (name: string, definition: object) =>
  scene.gateway.manage("PUT", at(`/data-classes/${name}`), definition);
const setPolicy = (rules: object | null) => scene.gateway.manage("PATCH", at("/policy"), { data_classes: rules });
const ask = (content: string, more: object = {}) =>
  scene.chat(tenant.key, { messages: [{ role: "user", content }], ...more });
const lastAt = (provider: Provider) => String(scene.at(provider).requests.at(-1)?.raw);
const fileWith = (text: string) => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "gateway-classes-")), "lines");
  writeFileSync(file, text);
  return file;
};

describe("data classes of a workspace", () => {
  test("CLASS-02 terms and patterns set the floor and are redacted, counted by the name of their class", async () => {
    await define("acme-projects", { terms: ["Blaue Düne", "ACME"], patterns: ["\\bPRJ-\\d{4}\\b"] });
    await setPolicy({ "acme-projects": { action: "redact", below: "L3" } });
    const answer = await ask("Why is blaue dune late, ACME? See PRJ-1234, not PRJ-12345.");
    expect([answer.headers.get("x-svc-data-classes"), answer.headers.get("x-svc-data-action")]).toEqual([
      "acme-projects=3",
      "redacted",
    ]);
    expect(lastAt("deepinfra")).toContain(
      "Why is [ACME_PROJECTS] late, [ACME_PROJECTS]? See [ACME_PROJECTS], not PRJ-12345.",
    );
    await setPolicy({ "acme-projects": { floor: "L3" } });
    expect((await ask("ACME", { stop: ["x"] })).headers.get("x-svc-provider")).toBe("ovhcloud");
    expect((await ask("Hi")).headers.get("x-svc-provider")).toBe("deepinfra");
    await setPolicy({ "acme-projects": { action: "block" } });
    const refused = await ask("Tell me of PRJ-1234");
    expect([refused.status, refused.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect(refused.body.error.message).toContain('"acme-projects" (pattern.acme-projects)');
    expect(refused.body.error.message).not.toContain("PRJ-1234");
  });

  test("CLASS-03 terms are pseudonymised by names in brackets and restored in the reply", async () => {
    await define("acme-projects", { terms: ["Blaue Düne"] });
    await setPolicy({ "acme-projects": { action: "pseudonymise" } });
    scene.at("deepinfra").next(({ raw }) => ({
      json: chatJson({ content: /\[ACME_PROJECTS_\w{6}\]/.exec(raw.toString())?.[0] ?? "none" }),
    }));
    const answer = await ask("Blaue Düne");
    expect(lastAt("deepinfra")).not.toContain("Blaue");
    expect(answer.body.choices[0].message.content).toBe("Blaue Düne");
  });

  test("CLASS-02 a change holds from the next request on, in rules of keys and requests too", async () => {
    await define("acme-projects", { terms: ["Atlas"] });
    const rules = { "acme-projects": { action: "block" } };
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: { data_classes: rules } });
    expect((await ask("Nord")).status).toBe(200);
    expect((await ask("Atlas")).status).toBe(403);
    const { version, used_by } = await define("acme-projects", { terms: ["Nord"] });
    expect([version, used_by]).toEqual([2, [`key ${tenant.keyId}`]]);
    expect((await ask("Nord")).status).toBe(403);
    expect((await ask("Atlas")).status).toBe(200);
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: null });
    expect((await ask("Nord", { data_classes: rules })).status).toBe(403);
    const unknown = await ask("Hi", { data_classes: { "no-such": { action: "block" } } });
    expect([unknown.status, unknown.body.error.code]).toEqual([403, "data_class_not_permitted"]);
    expect(unknown.body.error.message).toContain("data_classes.no-such");
  });

  test("CLASS-02 a rule needs a class that exists, and a class that a rule names stays", async () => {
    await expect(setPolicy({ "acme-projects": { action: "block" } })).rejects.toThrow("there is no class");
    await define("acme-projects", { terms: ["Atlas"] });
    await setPolicy({ "acme-projects": { action: "block" } });
    const remove = () => scene.gateway.manage("DELETE", at("/data-classes/acme-projects"));
    await expect(remove()).rejects.toThrow("Rules name the data class acme-projects: workspace");
    await setPolicy(null);
    expect(await remove()).toEqual({ name: "acme-projects", workspace: tenant.slug, removed: true });
    await expect(remove()).rejects.toThrow("defines no data class");
  });

  test.each([
    ["personal", { terms: ["Atlas"] }, "class"],
    ["Acme", { terms: ["Atlas"] }, "class"],
    ["acme", { terms: ["Atlas", "x"] }, "terms[1]"],
    ["acme", { patterns: ["abc", "a(b"] }, "patterns[1]"],
    ["acme", {}, "terms"],
    ["acme", { terms: Array.from({ length: 1001 }, (_, index) => `term ${index}`) }, "terms"],
  ])("CLASS-01 an invalid definition is refused with its place: %s %j", async (name, definition, param) => {
    await expect(define(name, definition)).rejects.toThrow(param);
    expect((await scene.gateway.manage("GET", at("/data-classes"))).data).toEqual([]);
  });

  test("CLASS-01 a workspace defines no more classes than the setting allows", async () => {
    await define("one", { terms: ["Atlas"] });
    await define("two", { terms: ["Atlas"] });
    await expect(define("three", { terms: ["Atlas"] })).rejects.toThrow("GATEWAY_DATA_CLASSES_MAX");
    await define("two", { terms: ["Nord"] });
  });

  test("CLASS-02 a text is tried against draft rules, for endpoints of each level, and is not stored", async () => {
    await define("acme-projects", { terms: ["Atlas"] });
    const text = "Atlas: write to jane.doe@mail.example.eu";
    const rules = { personal: { floor: "L1", below: "L3", action: "redact" }, "acme-projects": { action: "report" } };
    const tried = await scene.gateway.manage("POST", at("/data-classes/test"), { text, data_classes: rules });
    expect(tried.counts).toEqual({ "acme-projects": 1, personal: 1 });
    expect(tried.findings.map(({ offset, length }: Json) => text.slice(offset, offset + length))).toEqual([
      "Atlas",
      "jane.doe@mail.example.eu",
    ]);
    const byLevel = Object.fromEntries(tried.levels.map((one: Json) => [one.level, one]));
    expect(byLevel["L0"]).toMatchObject({ allowed: false, text: null });
    expect(byLevel["L0"].reason).toContain("below the floor L1 that the rule data_classes.personal sets");
    expect(byLevel["L1"]).toMatchObject({ action: "redacted", text: "Atlas: write to [EMAIL]" });
    expect(byLevel["L3"]).toMatchObject({ action: "none", text });
    const blocked = { personal: { action: "block" } };
    const { levels } = await scene.gateway.manage("POST", at("/data-classes/test"), { text, data_classes: blocked });
    expect(levels.every(({ allowed }: Json) => allowed === false)).toBe(true);
  });

  test("CLASS-02 gateway data-class define, show, definition, test and remove do the same from the terminal", async () => {
    const { cli } = scene.gateway;
    const terms = fileWith("Blaue Düne\n\nAtlas\n");
    const patterns = fileWith("\\bPRJ-\\d{4}\\b\n");
    const defined = await cli(
      "data-class",
      "define",
      tenant.slug,
      "acme",
      "--terms",
      terms,
      "--patterns",
      patterns,
      "--json",
    );
    expect(JSON.parse(defined.stdout)).toMatchObject({ name: "acme", terms: 2, patterns: 1 });
    const shown = JSON.parse((await cli("data-class", "show", tenant.slug, "--json")).stdout);
    expect([shown.rules, shown.data[0].name]).toEqual([{}, "acme"]);
    const { stdout } = await cli("data-class", "definition", tenant.slug, "acme", "--json");
    expect(JSON.parse(stdout).definition).toMatchObject({
      terms: ["Blaue Düne", "Atlas"],
      patterns: ["\\bPRJ-\\d{4}\\b"],
    });
    const rules = fileWith('{"acme": {"action": "redact"}}');
    const tried = await cli("data-class", "test", tenant.slug, "--text", "Atlas", "--rules", rules, "--json");
    expect(JSON.parse(tried.stdout).levels[0].text).toBe("[ACME]");
    expect((await cli("data-class", "test", tenant.slug, "--text", "Atlas", "--rules", rules)).stdout).toContain(
      "[ACME]",
    );
    expect((await cli("data-class", "remove", tenant.slug, "acme")).code).toBe(0);
  });
});
