import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { UPSTREAM_ADAPTERS } from "../../src/io/upstream/upstream-adapters.ts";
import type { MemberRule } from "../../src/language/dialects/reply-members.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import type { Json } from "../support/gateway.ts";
import { TRANSCRIPT_TYPES } from "../support/provider-types.ts";
import { audit, isExemptMember, newFigures } from "../support/reply-audit.ts";
import { merged, type ReplyCase, replyCases } from "../support/reply-cases.ts";
import { chunksOf } from "../support/scene.ts";
import { transcribe } from "../support/transcriptions.ts";
import { openTwoProviders, type TwoProviderScene } from "../support/two-providers.ts";
import { TypeDeclarations } from "../support/type-schemas.ts";
import { sse } from "../support/upstream.ts";

const OWN = new TypeDeclarations([TRANSCRIPT_TYPES]);
const OPENAI = new TypeDeclarations([
  readFileSync(path.join(PROJECT_ROOT, "node_modules/openai/resources/audio/transcriptions.d.ts"), "utf8"),
]);

const FORMATS = ["json", "text", "verbose_json"] as const;
const INTERFACES = {
  openai: { provider: "open", usage: { type: "duration", seconds: 2 }, done: "transcript.text.done" },
  mistral: { provider: "shut", usage: { prompt_audio_seconds: 2 }, done: "transcription.done" },
} as const;

let scene: TwoProviderScene;
let key: string;
beforeAll(async () => {
  scene = await openTwoProviders(
    (["openai", "mistral"] as const).map((name) => ({
      name,
      surface: "transcriptions",
      endpoint: {
        transcriptions: { interface: name, segments: true, words: true, stream: true, seconds: true },
        dialects: [],
        prices: [{ currency: "EUR", per_minute_audio: 0.01 }],
      },
    })),
  );
  ({ key } = await scene.gateway.tenant({ credit: "1000000" }));
});
afterAll(() => scene.close());

type Interface = keyof typeof INTERFACES;

function casesOf(name: Interface, rule: MemberRule): ReplyCase[] {
  const isExempt = isExemptMember(rule);
  if (name === "mistral") return replyCases(OWN, "MistralTranscript", isExempt);
  const known = ["Transcription", "TranscriptionVerbose"].flatMap((type) => replyCases(OPENAI, type, isExempt));
  return [...known, ...replyCases(OWN, "CompatibleTranscript", isExempt)];
}

const send = (name: Interface, ...fields: readonly (readonly [string, string])[]) =>
  transcribe(scene.gateway, key, [["model", `lab/${name}-${INTERFACES[name].provider}`], ...fields]);
/** Without them a reply has no words. */
const GRANULARITIES = ["segment", "word"].map((one) => ["timestamp_granularities[]", one] as const);

/** Times in order, as they are required; where they are not, the reply is no transcript. */
function ordered(value: Json): Json {
  for (const one of [value, ...(value.segments ?? []), ...(value.words ?? [])])
    if (typeof one.end === "number") one.start = one.end;
  return value;
}
const CHANGED = /(^|\.)(start|duration|seconds)$/;

test.for((["openai", "mistral"] as const).flatMap((name) => FORMATS.map((format) => ({ name, format }))))(
  "PARAM-07 HDR-20 every member of a transcript of $name is carried or named in $format",
  async ({ name, format }, { annotate }) => {
    const { provider, usage } = INTERFACES[name];
    const rule = UPSTREAM_ADAPTERS.transcriptions[name].reply(format);
    const figures = newFigures();
    for (const one of casesOf(name, rule)) {
      const segments = [{ id: 0, start: 0, end: 2, text: "Hello" }];
      const words = [{ start: 0, end: 2, word: "Hello" }];
      scene
        .at(provider)
        .next({ json: ordered(merged({ text: "Hello", segments, words, usage }, structuredClone(one.value))) });
      const { status, headers, text } = await send(
        name,
        ["response_format", format],
        ...(format === "verbose_json" ? GRANULARITIES : []),
      );
      expect([status, text]).toEqual([200, text]);
      const omitted = headers.get("x-svc-omitted")?.split(",") ?? [];
      const leaves = one.leaves.filter(({ path: at }) => !CHANGED.test(at));
      audit(rule, { ...one, leaves }, { status, text, omitted, isVerbatim: false }, figures);
    }
    await annotate(
      `${name}, ${format}: ${figures.carried} carried, ${figures.omitted} named, ${figures.exempt} exempt`,
    );
    expect(figures.silent).toEqual([]);
  },
);

test.for(["openai", "mistral"] as const)(
  "PARAM-07 HDR-20 every member of every transcript event of %s is carried or named at the end",
  async (name, { annotate }) => {
    const { provider, usage, done } = INTERFACES[name];
    const rule = UPSTREAM_ADAPTERS.transcriptions[name].events;
    const figures = newFigures();
    const type = name === "openai" ? "CompatibleTranscriptEvent" : "MistralTranscriptEvent";
    for (const one of replyCases(OWN, type, isExemptMember(rule))) {
      const last = { type: done, text: "Hello", usage };
      scene.at(provider).next({ frames: [sse(ordered(structuredClone(one.value))), sse(last)] });
      const { status, text } = await send(name, ["stream", "true"]);
      const omitted: string[] = chunksOf(text).at(-1).svc_omitted ?? [];
      const leaves = one.leaves.filter(({ path: at, isWord }) => !CHANGED.test(at) && !(isWord && at === "type"));
      audit(rule, { ...one, leaves }, { status, text, omitted, isVerbatim: false }, figures);
    }
    await annotate(`${name}, events: ${figures.carried} carried, ${figures.omitted} named, ${figures.exempt} exempt`);
    expect(figures.silent).toEqual([]);
    expect(figures.omitted).toBeGreaterThan(0);
  },
);
