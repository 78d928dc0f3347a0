import { z } from "zod";
import { listOf, PageQuery, Time } from "./manage-values.ts";

const Surface = z.enum(["decisions", "speech"], { error: "write decisions or speech" });
const Result = z.enum(["proven", "failed"], { error: "write proven or failed" });
const EndpointId = z
  .string()
  .min(1)
  .max(300)
  .meta({ description: "As in the catalogue: provider, region and model.", example: "openai:us:openai/gpt-6-luna" });
const Tokens = z.number().int().nullable();

const Proof = z
  .object({
    id: z.string(),
    endpoint: EndpointId,
    provider: z.string(),
    surface: Surface,
    at: Time,
    result: Result,
    reason: z.string().meta({ description: "The outcome, without any content of the response." }),
    cause: z.enum(["start", "schedule", "operator"]).meta({ description: "What it was made for." }),
    duration_ms: z.number().int(),
    input_tokens: Tokens.meta({ description: "As the provider told; null: it told none." }),
    output_tokens: Tokens,
    audio_seconds: z.number().nullable().meta({ description: "How long the audio lasts that came back." }),
  })
  .meta({ id: "Proof" });

export const ProbeQuery = PageQuery.extend({
  endpoint: EndpointId.optional(),
  surface: Surface.optional(),
  result: Result.optional(),
});

export const ProofList = listOf(Proof);

export const ProbeRun = z
  .strictObject({
    endpoint: EndpointId.optional().meta({ description: "Absent: every endpoint that can be asked." }),
    surface: Surface.optional().meta({ description: "Absent: every surface that the endpoint serves." }),
  })
  .meta({ id: "ProbeRun" });

export const ProbesMade = z
  .object({
    ok: z.boolean().meta({ description: "Every proof succeeded." }),
    data: z.array(Proof),
  })
  .meta({ id: "ProbesMade" });

const Standing = z
  .object({
    endpoint: EndpointId,
    provider: z.string(),
    model: z.string(),
    surface: Surface,
    proven: z.boolean().meta({ description: "Served on the surface." }),
    images: z.boolean().nullable().meta({
      description:
        "Whether images are sent to it: the probe distinguished them. Null: the catalogue lists no image input.",
    }),
    proven_at: Time.nullable().meta({ description: "The last proof that succeeded." }),
    expires_at: Time.nullable().meta({ description: "When that proof is too old." }),
    failures: z.number().int().meta({ description: "Failed proofs in a row since." }),
    last: z.object({ at: Time, result: Result, reason: z.string() }).nullable(),
  })
  .meta({ id: "ProofStanding" });

export const StandingList = z.object({ data: z.array(Standing), next: z.null() });

export const proofExample = {
  id: "prf_01a1ddeb",
  endpoint: "sandbox-de:de:sandbox/decide",
  provider: "sandbox-de",
  surface: "decisions",
  at: "2026-11-15T09:30:00.000Z",
  result: "proven",
  reason: "it gives yes 0.97 where that is right, and 0.03 where it is wrong",
  cause: "schedule",
  duration_ms: 41,
  input_tokens: 96,
  output_tokens: 0,
  audio_seconds: null,
} as const;

export const standingExample = {
  endpoint: "sandbox-de:de:sandbox/decide",
  provider: "sandbox-de",
  model: "sandbox/decide",
  surface: "decisions",
  proven: true,
  images: true,
  proven_at: "2026-11-15T09:30:00.000Z",
  expires_at: "2026-12-15T09:30:00.000Z",
  failures: 0,
  last: { at: "2026-11-15T09:30:00.000Z", result: "proven", reason: proofExample.reason },
} as const;
