import { z } from "zod";
import { listOf, PageQuery, Time } from "./manage-values.ts";

const Surface = z.enum(["decisions", "speech"], { error: "must be decisions or speech" });
const Result = z.enum(["proven", "failed"], { error: "must be proven or failed" });
const EndpointId = z
  .string()
  .min(1)
  .max(300)
  .meta({ description: "Catalogue id: provider, region and model.", example: "openai:us:openai/gpt-6-luna" });
const Tokens = z.number().int().nullable();

const Proof = z
  .object({
    id: z.string(),
    endpoint: EndpointId,
    provider: z.string(),
    surface: Surface,
    at: Time,
    result: Result,
    reason: z.string().meta({ description: "The outcome, without content of the response." }),
    cause: z.enum(["start", "schedule", "operator"]).meta({ description: "What triggered the proof." }),
    duration_ms: z.number().int(),
    input_tokens: Tokens.meta({ description: "As reported by the provider; null: not reported." }),
    output_tokens: Tokens,
    audio_seconds: z.number().nullable().meta({ description: "Duration of the returned audio." }),
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
    endpoint: EndpointId.optional().meta({ description: "Default: every endpoint that can be probed." }),
    surface: Surface.optional().meta({ description: "Default: every surface of the endpoint." }),
  })
  .meta({ id: "ProbeRun" });

export const ProbesMade = z
  .object({
    ok: z.boolean().meta({ description: "True if every proof succeeded." }),
    data: z.array(Proof),
  })
  .meta({ id: "ProbesMade" });

const Standing = z
  .object({
    endpoint: EndpointId,
    provider: z.string(),
    model: z.string(),
    surface: Surface,
    proven: z.boolean().meta({ description: "Whether the endpoint is used on the surface." }),
    images: z.boolean().nullable().meta({
      description:
        "Whether images are sent to it: the probe distinguished them. Null: the catalogue lists no image input.",
    }),
    proven_at: Time.nullable().meta({ description: "The last proof that succeeded." }),
    expires_at: Time.nullable().meta({ description: "When that proof expires." }),
    failures: z.number().int().meta({ description: "Consecutive failed proofs since then." }),
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
  reason: "probability of yes: 0.97 if correct, 0.03 if incorrect",
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
