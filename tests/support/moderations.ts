import type { ModerationsEntry } from "../../src/domain/catalogue/moderations-support.ts";
import type { Called, Json } from "./gateway.ts";
import { openSurface, type SurfaceHost, type SurfaceScene } from "./surface-scene.ts";
import type { ReplySource } from "./upstream.ts";

export type ModerationScene = SurfaceScene & {
  /** POST /v1/moderations for `lab/judge`, unless the body names another model. */
  judge(body: Json, key?: string): Promise<Called>;
};

export const judgeHost = (moderations: ModerationsEntry, more: Partial<SurfaceHost> = {}): SurfaceHost => ({
  price: { input_per_1m_tokens: 1000 },
  ...more,
  endpoint: { moderations, ...more.endpoint },
});

/** A decision model that moderates over one of its interfaces. */
export const decisionHost = (
  decisions_interface: string,
  moderations: Omit<ModerationsEntry, "interface"> = {},
  more: Partial<SurfaceHost> = {},
): SurfaceHost =>
  judgeHost(
    { interface: "decisions", ...moderations },
    { ...more, endpoint: { surfaces: ["decisions", "moderations"], decisions_interface, ...more.endpoint } },
  );

export async function openModerations(
  hosts: Readonly<Record<string, SurfaceHost>>,
  env: Readonly<Record<string, string>> = {},
): Promise<ModerationScene> {
  const only = Object.fromEntries(
    Object.entries(hosts).map(([slug, host]) => [
      slug,
      { ...host, endpoint: { surfaces: ["moderations"], ...host.endpoint } },
    ]),
  );
  const models = { id: "lab/judge", surfaces: ["decisions", "moderations"], capability: "moderation" };
  const scene = await openSurface(models, only, env);
  return {
    ...scene,
    judge: (body, key = scene.tenant.key) =>
      scene.gateway.call(key, "/v1/moderations", { body: { model: "lab/judge", ...body } }),
  };
}

const verdict = (isBad: boolean) => ({
  categories: { violence: isBad, hate: false },
  category_scores: { violence: isBad ? 0.9 : 0.1, hate: 0.01 },
});

/** OpenAI's and Mistral's reply: texts with the word "bad" are violent. */
export function badWords(format: "openai" | "mistral", usage?: Json): ReplySource {
  return ({ json }) => {
    const { input }: Json = json;
    const isTexts = Array.isArray(input) && typeof input[0] === "string";
    const subjects = isTexts ? input : [JSON.stringify(input)];
    const results = subjects.map((subject: string) => {
      const found = verdict(subject.includes("bad"));
      return format === "mistral" ? found : { flagged: found.categories.violence, ...found };
    });
    return { json: { id: "modr-1", model: "lab-1", results, ...(usage === undefined ? {} : { usage }) } };
  };
}

/** A reply in System One's format: the probability of each question by its name. */
export function yesTo(probabilities: Readonly<Record<string, number>>, input_tokens = 20): ReplySource {
  return ({ json }) => {
    const { questions }: Json = json;
    const answers = Object.keys(questions).map((name) => [name, { type: "noul", noul: probabilities[name] ?? 0.02 }]);
    return { json: { answers: Object.fromEntries(answers), usage: { input_tokens, output_tokens: 2 } } };
  };
}
