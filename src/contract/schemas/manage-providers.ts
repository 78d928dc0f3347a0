import { z } from "zod";
import { Time } from "./manage-values.ts";

const Use = z.enum(["first", "only", "fallback"]).meta({
  description: "When the key is used: before the platform's credential, instead of it, or after it has failed.",
});

export const PlatformKeyPut = z
  .strictObject({
    key: z.string().min(1).max(32_768).meta({
      description:
        "The key; an AWS key pair as JSON (`access_key_id`, `secret_access_key`, `session_token`); or the key file of a Google service account. Never shown again.",
    }),
    skip_test: z.boolean().nullish().meta({ description: "Store the key without testing it at the provider." }),
  })
  .meta({ id: "ProviderPut" });

export const OwnKeyPut = PlatformKeyPut.extend({
  use: Use.nullish().meta({ description: "Default: the previous value, else `first`." }),
}).meta({ id: "OwnKeyPut" });

export const OwnKeyPatch = z.strictObject({ use: Use }).meta({ id: "OwnKeyChange" });

export const OwnKeyView = z
  .object({
    provider: z.string(),
    kind: z.enum(["key", "aws", "google"]).meta({ description: "A plain key, a key pair, a service account." }),
    use: Use,
    hint: z.string().nullable().meta({ description: "Its last four characters; null for a short key." }),
    fingerprint: z.string().meta({ description: "The first characters of its SHA-256, to compare keys." }),
    created_at: Time,
    changed_at: Time,
    changed_by: z.string(),
    result: z
      .enum(["accepted", "refused", "untried"])
      .meta({ description: "The provider's response when the key was last tested." }),
    tested_at: Time.nullable(),
    set_aside: z
      .array(z.string())
      .meta({ description: "Endpoints with an open circuit for this key, which are tried last." }),
  })
  .meta({ id: "OwnKey", description: "A workspace's own provider key, without the secret." });

export const OwnKeyRemoved = z
  .object({ provider: z.string(), workspace: z.string(), removed: z.boolean() })
  .meta({ id: "OwnKeyRemoved" });

export const PlatformKeyView = OwnKeyView.pick({
  provider: true,
  kind: true,
  hint: true,
  fingerprint: true,
  created_at: true,
  changed_at: true,
  changed_by: true,
})
  .extend({
    in_use: z.boolean().meta({ description: "Whether requests use it." }),
    overridden_by: z.string().nullable().meta({
      description: "The setting that overrides it; remove the setting and restart to use the key. Null: none.",
    }),
  })
  .meta({
    id: "ProviderCredential",
    description: "The platform's stored provider credential, without the secret.",
  });

export const PlatformKeyRemoved = z
  .object({
    provider: z.string(),
    removed: z.boolean(),
    connected: z.boolean().meta({ description: "A setting still connects the provider." }),
  })
  .meta({ id: "ProviderRemoved" });

export const ProviderTest = z
  .strictObject({
    workspace: z
      .string()
      .max(128)
      .nullish()
      .meta({ description: "Slug or id: tests the workspace's own key. Default: the operator's credential." }),
  })
  .meta({ id: "ProviderTest" });

export const ProviderTested = z
  .object({
    ok: z.boolean(),
    provider: z.string(),
    result: z.enum(["accepted", "refused", "unclear"]),
    status: z.number().nullable().meta({ description: "HTTP status of the provider." }),
    detail: z.string(),
  })
  .meta({ id: "ProviderTested" });

export const ProviderQuery = z.object({
  workspace: z
    .string()
    .max(128)
    .optional()
    .meta({ description: "Slug or id: `own_key` then shows how its own key is used." }),
});

export const ownKey = {
  provider: "mistral",
  kind: "key",
  use: "first",
  hint: "9fQ2",
  fingerprint: "4bf5122f",
  created_at: "2026-11-15T09:30:00.000Z",
  changed_at: "2026-11-15T09:30:00.000Z",
  changed_by: "operator",
  result: "accepted",
  tested_at: "2026-11-15T09:30:00.000Z",
  set_aside: [],
} as const;

const { use, result, tested_at, set_aside, ...shown } = ownKey;

export const platformKey = { ...shown, in_use: true, overridden_by: null };
