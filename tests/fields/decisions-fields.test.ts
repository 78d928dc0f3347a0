import { afterAll, beforeAll, expect, test } from "vitest";
import { DecisionRequest } from "../../src/contract/schemas/decisions.ts";
import { OpenaiDecisionRequest } from "../../src/contract/schemas/openai-decisions.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import type { NO_OP_FIELDS } from "../../src/language/dialects/no-op-fields.ts";
import { DECIDER_ANSWERS, DECIDER_FORMATS } from "../support/decision-answers.ts";
import { DECIDERS, type DecisionScene, JPEG, openDecisions, RED } from "../support/decisions.ts";
import { casesOf, type FieldCase } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";

/** Values that a schema cannot tell. */
const SAMPLES: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/^images$/, [[RED], [JPEG]]],
  [/image_url$/, [RED, JPEG]],
  [/^state$/, ["marked", "changed", { marked: 1 }, { marked: 2 }]],
  [/\.data$/, [{ marked: 1 }, { marked: 2 }, [{ marked: 1 }], [{ marked: 2 }]]],
  [
    /\]\.choices$/,
    [pair("value", "a", "b"), pair("value", "c", "d"), described("value", "a", "b"), [{ value: true }, { value: "b" }]],
  ],
  [/\]\.levels$/, [pair("label", "a", "b"), pair("label", "c", "d"), described("label", "a", "b")]],
  [/\]\.instructions$/, ["marked", "changed"]],
];

function pair(name: string, ...values: readonly string[]): JsonObject[] {
  return values.map((value) => ({ [name]: value }));
}

function described(name: string, ...values: readonly string[]): JsonObject[] {
  return values.map((value) => ({ [name]: value, description: `what ${value} is` }));
}

let scene: DecisionScene;
let key: string;
beforeAll(async () => {
  scene = await openDecisions();
  ({ key } = await scene.gateway.tenant({ credit: "1000000" }));
  for (const slug of DECIDERS) {
    const answer = DECIDER_ANSWERS[slug];
    if (answer !== undefined) scene.at(slug).always(answer);
  }
});
afterAll(() => scene.close());

const SURFACES = [
  { surface: "decisions", url: "/v1/decisions", schema: DecisionRequest },
  { surface: "decisions in OpenAI's shape", url: "/openai/v1/decisions", schema: OpenaiDecisionRequest },
] as const;

/** A choice needs two options, and a score two levels. */
function withEnoughCriteria(body: JsonObject): JsonObject {
  const { questions } = body;
  if (!isJsonObject(questions) || !isJsonObject(questions["marked"])) return body;
  const { criteria, ...question } = questions["marked"];
  if (criteria === undefined) return body;
  const enough = Array.isArray(criteria) ? [...criteria, "other"] : { ...Object(criteria), other: null };
  return { ...body, questions: { marked: { ...question, criteria: enough } } };
}

function targets(surface: keyof typeof NO_OP_FIELDS, url: string): FieldTarget[] {
  return DECIDERS.map((slug) => ({
    surface,
    adapter: slug,
    format: DECIDER_FORMATS[slug] ?? "logprobs",
    complete: (body) => ({ ...withEnoughCriteria(body), model: `lab/${slug}` }),
    async exchange(body) {
      const { requests } = scene.at(slug);
      const before = requests.length;
      const called = await scene.gateway.call(key, url, { body });
      const received = requests.slice(before).map(({ path, json }) => [path, json]);
      return exchangeOf(called, JSON.stringify([received, called.text]));
    },
  }));
}

test.for(SURFACES)(
  "PARAM-07 DEC-07 no field of a request for $surface is dropped silently on any adapter",
  async ({ surface, url, schema }, { annotate }) => {
    const cases: FieldCase[] = casesOf(schema, (path) => SAMPLES.find(([pattern]) => pattern.test(path))?.[1]);
    const results = await Promise.all(
      targets(surface, url).map((target) =>
        fieldResults(
          target,
          cases.filter(({ path }) => path !== "model"),
        ),
      ),
    );
    await annotate(`${surface}: ${figuresOf(results.flat())}`);
    expect(silentFields(results.flat())).toEqual([]);
  },
);
