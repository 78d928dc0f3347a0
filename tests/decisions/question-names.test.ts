import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import { type DecisionScene, decisionBody, openDecisions, STATE } from "../support/decisions.ts";
import type { Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
  // Answers whatever ids it was sent.
  scene.at("alpha").always(({ json }) => {
    const questions = isJsonObject(json) && isJsonObject(json["questions"]) ? Object.keys(json["questions"]) : [];
    const answers = Object.fromEntries(questions.map((id, at) => [id, { type: "noul", noul: 0.9 - at / 10 }]));
    return { json: { model: "m", answers, usage: { input_tokens: 120, output_tokens: 57 } } };
  });
});
afterAll(() => scene.close());

const send = (body: string) =>
  scene.gateway.call(tenant.key, "/v1/decisions", { body: body.replaceAll('"@"', '"__proto__"') });
const QUESTION = { type: "noul", instructions: "Is it on?" };
const bodyOf = (questions: object) => JSON.stringify({ model: "lab/alpha", state: STATE, questions });

test.each<[string, object, string[]]>([
  ["alone", { "@": QUESTION }, ["__proto__"]],
  ["between others", { lit: QUESTION, "@": QUESTION, __proto___: QUESTION }, ["lit", "__proto__", "__proto___"]],
  ["beside other special names", { constructor: QUESTION, "@": QUESTION }, ["constructor", "__proto__"]],
])("GEN-06 DEC-01 __proto__ is a valid name of a question, %s", async (_, questions, names) => {
  const { status, text } = await send(bodyOf(questions));
  expect(status, text).toBe(200);
  const found = [...text.matchAll(/"([\w-]+)":\{"type":"noul","noul":(0\.\d+)\}/g)];
  expect(found.map(([, name]) => name)).toEqual(names);
  expect(found.map(([, , value]) => Number(value))).toEqual(names.map((_name, at) => (9 - at) / 10));
  // The provider gets a name that no parser treats specially, and no prototype changed.
  expect(scene.at("alpha").requests.at(-1)?.raw.toString()).not.toContain('"__proto__"');
  expect("type" in {}).toBe(false);
});

test.each<[string, object, string]>([
  ["an invalid type", { "@": { ...QUESTION, type: "essay" } }, "questions.__proto__.type"],
  ["a missing field", { "@": { type: "noul" } }, "questions.__proto__.instructions"],
  ["an unknown field", { "@": { ...QUESTION, more: 1 } }, "questions.__proto__.more"],
  ["no object", { "@": 7 }, "questions.__proto__"],
])("GEN-06 a question __proto__ with %s is refused by its own name", async (_, questions, param) => {
  const { status, body } = await send(bodyOf(questions));
  expect([status, body.error.param]).toEqual([400, param]);
  expect(body.error.message).not.toContain("__proto___");
});

test.each([
  ["at the top level", `{"@":{},${JSON.stringify(decisionBody()).slice(1)}`],
  ["inside a question", bodyOf({ lit: { ...QUESTION, "@": 1 } })],
  ["among the options", bodyOf({ lit: { type: "choice", instructions: "Which?", criteria: { "@": "a", b: "c" } } })],
  ["inside the state", JSON.stringify({ ...decisionBody(), state: { "@": {} } })],
  ["twice", bodyOf({ "@": QUESTION, "#": QUESTION }).replace('"#"', '"__proto__"')],
])("GEN-06 a key __proto__ %s stays invalid", async (_, body) => {
  const { status, body: refused } = await send(body);
  expect([status, refused.error.code]).toEqual([400, "invalid_json"]);
});
