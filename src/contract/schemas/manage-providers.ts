import { z } from "zod";
import { Time } from "./manage-values.ts";

const Use = z.enum(["first", "only", "fallback"]).meta({
  description:
    "When the key is used at its provider: before the platform's credential, instead of it, or after everything of the platform's has failed.",
});

export const PlatformKeyPut = z
  .strictObject({
    key: z.string().min(1).max(32_768).meta({
      description:
        "The key itself; a key pair of AWS as JSON (`access_key_id`, `secret_access_key`, `session_token`); or the key file of a Google service account. Never shown again.",
    }),
    skip_test: z
      .boolean()
      .nullish()
      .meta({ description: "Keep the key without asking the provider whether it accepts it." }),
  })
  .meta({ id: "ProviderPut" });

export const OwnKeyPut = PlatformKeyPut.extend({
  use: Use.nullish().meta({ description: "Default: what it was before, else `first`." }),
}).meta({ id: "OwnKeyPut" });

export const OwnKeyPatch = z.strictObject({ use: Use }).meta({ id: "OwnKeyChange" });

export const OwnKeyView = z
  .object({
    provider: z.string(),
    kind: z.enum(["key", "aws", "google"]).meta({ description: "A plain key, a key pair, a service account." }),
    use: Use,
    hint: z.string().nullable().meta({ description: "Its last four characters; null when it is short." }),
    fingerprint: z.string().meta({ description: "The beginning of its SHA-256: tells two keys apart." }),
    created_at: Time,
    changed_at: Time,
    changed_by: z.string(),
    result: z
      .enum(["accepted", "refused", "untried"])
      .meta({ description: "What the provider said when the key was last tried." }),
    tested_at: Time.nullable(),
    set_aside: z
      .array(z.string())
      .meta({ description: "Endpoints that are tried last now, because calls with this key failed there." }),
  })
  .meta({ id: "OwnKey", description: "What is shown of a workspace's own key at a provider; never the key." });

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
    in_use: z.boolean().meta({ description: "Requests are made with it." }),
    overridden_by: z
      .string()
      .nullable()
      .meta({ description: "The setting that wins over it: without that, and after a start, it is used. Null: none." }),
  })
  .meta({
    id: "ProviderCredential",
    description:
      "What is shown of the platform's own credential at a provider that is kept in the store; never the key.",
  });

export const PlatformKeyRemoved = z
  .object({
    provider: z.string(),
    removed: z.boolean(),
    connected: z.boolean().meta({ description: "A setting connects the provider all the same." }),
  })
  .meta({ id: "ProviderRemoved" });

export const ProviderTest = z
  .strictObject({
    workspace: z
      .string()
      .max(128)
      .nullish()
      .meta({ description: "Slug or id: its own key is tried; absent: the operator's credential." }),
  })
  .meta({ id: "ProviderTest" });

export const ProviderTested = z
  .object({
    ok: z.boolean(),
    provider: z.string(),
    result: z.enum(["accepted", "refused", "unclear"]),
    status: z.number().nullable().meta({ description: "What the provider answered with." }),
    detail: z.string(),
  })
  .meta({ id: "ProviderTested" });

export const ProviderQuery = z.object({
  workspace: z
    .string()
    .max(128)
    .optional()
    .meta({ description: "Slug or id: `own_key` then says how its own key is used." }),
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
