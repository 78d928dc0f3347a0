import { afterAll, beforeAll, expect, test } from "vitest";
import { ModerationRequest } from "../../src/contract/schemas/moderations.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";
import {
  badWords,
  decisionHost,
  judgeHost,
  type ModerationScene,
  openModerations,
  yesTo,
} from "../support/moderations.ts";

/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  input: [
    "bad",
    "changed",
    ["bad", "good"],
    [
      { type: "text", text: "bad" },
      { type: "text", text: "more" },
    ],
  ],
};
const FORMATS = ["openai", "mistral", "system_one"] as const;
const slugOf = (format: string) => format.replace("_", "-");

let scene: ModerationScene;
beforeAll(async () => {
  scene = await openModerations({
    openai: judgeHost({ interface: "openai" }, { model: "lab/openai" }),
    mistral: judgeHost({ interface: "mistral" }, { model: "lab/mistral" }),
    "system-one": decisionHost("system_one", {}, { model: "lab/system_one" }),
  });
  scene.at("openai").always(badWords("openai"));
  scene.at("mistral").always(badWords("mistral"));
  scene.at("system-one").always(yesTo({}));
});
afterAll(() => scene.close());

const TARGETS = FORMATS.map((format): FieldTarget => {
  const slug = slugOf(format);
  return {
    surface: "moderations",
    adapter: slug,
    format,
    complete: (body) => ({ ...body, model: `lab/${format}` }),
    async exchange(body) {
      const { requests } = scene.at(slug);
      const before = requests.length;
      const called = await scene.judge(body);
      const sent = requests.slice(before).map(({ path, json }) => [path, json]);
      return exchangeOf(called, JSON.stringify([sent, called.text.replaceAll(/req_\w+/g, "")]));
    },
  };
});

test("PARAM-07 MODR-01 no field of a moderation request is dropped silently on any adapter", async ({ annotate }) => {
  const cases = casesOf(ModerationRequest, (path) => SAMPLES[path]).filter(
    ({ path }) => path !== "model" && !path.startsWith("provider"),
  );
  const results = await Promise.all(TARGETS.map((target) => fieldResults(target, cases)));
  await annotate(`moderations: ${figuresOf(results.flat())}`);
  expect(silentFields(results.flat())).toEqual([]);
});
