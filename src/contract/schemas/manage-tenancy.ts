import { z } from "zod";
import { Duration, Label, Money, Time, TimeInput } from "./manage-values.ts";

const EnvironmentName = z.enum(["live", "test"]);
const RoleName = z.enum(["owner", "admin", "member"]);
export const LevelName = z.enum(["L0", "L1", "L2", "L3", "L4"]);
/** A floor as it is taken. */
export const FloorInput = z.enum(["none", "L0", "L1", "L2", "L3", "L4"]);
export const CountryCodes = z
  .array(z.string().regex(/^[A-Za-z]{2}$/, "write two-letter ISO 3166-1 country codes such as DE"))
  .max(300);
export const ModelIds = z.array(z.string().min(1).max(200)).max(5000);
const ScopeName = z.enum([
  "inference:chat",
  "inference:messages",
  "inference:embeddings",
  "inference:audio",
  "inference:models",
  "inference:decisions",
]);

export const PolicyView = z
  .object({
    floor: LevelName.nullable().meta({ description: "Least sovereignty level; null: no floor." }),
    countries: z.array(z.string()).nullable().meta({ description: "Allowed compute countries; null: every country." }),
    zero_data_retention: z.boolean(),
    no_training: z.boolean(),
    blocked_providers: z.array(z.string()),
    allowed_models: z.array(z.string()).nullable().meta({ description: "Allowed model ids; null: every model." }),
  })
  .meta({ id: "Policy" });

export const PolicyPatch = z
  .strictObject({
    floor: FloorInput.nullable().optional().meta({ description: "`none` or null clears the floor." }),
    countries: CountryCodes.nullable().optional().meta({ description: "An empty list or null allows every country." }),
    zero_data_retention: z.boolean().optional(),
    no_training: z.boolean().optional(),
    blocked_providers: z
      .array(z.string().min(1).max(200))
      .max(1000)
      .nullable()
      .optional()
      .meta({ description: "Provider slugs of the catalogue; an empty list or null blocks none." }),
    allowed_models: ModelIds.nullable()
      .optional()
      .meta({ description: "Model ids of the catalogue; an empty list or null allows every model." }),
  })
  .meta({ id: "PolicyChange", description: "What is not named stays as it is." });

export const KeyPolicyView = z
  .object({
    personal_keys: z.boolean().meta({ description: "Members may have personal keys." }),
    approval: z.boolean().meta({ description: "A personal key waits until it is approved." }),
  })
  .meta({ id: "KeyPolicy" });

export const KeyPolicyPatch = z
  .strictObject({ personal_keys: z.boolean().optional(), approval: z.boolean().optional() })
  .meta({ id: "KeyPolicyChange", description: "What is not named stays as it is." });

export const WorkspaceView = z
  .object({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    currency: z.string(),
    created_at: Time,
    policy: PolicyView,
    key_policy: KeyPolicyView,
  })
  .meta({ id: "Workspace" });

export const WorkspaceCreate = z
  .strictObject({
    slug: z
      .string()
      .regex(
        /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
        "write 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends",
      )
      .meta({ example: "research" }),
    name: Label(100).nullish().meta({ description: "Default: the slug." }),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, "write a three-letter currency code such as EUR")
      .nullish()
      .meta({ description: "Currency of the wallet; default EUR. It cannot be changed later." }),
  })
  .meta({ id: "WorkspaceCreate" });

export const WorkspacePatch = z
  .strictObject({ name: Label(100).meta({ description: "What people read; the slug stays." }) })
  .meta({ id: "WorkspaceChange" });

export const MemberView = z
  .object({ id: z.string(), email: z.string(), role: RoleName, created_at: Time })
  .meta({ id: "Member" });

export const MemberListed = MemberView.extend({
  joined: z.boolean().meta({
    description:
      "A person with an account holds the membership; false: no account yet, or the invitation is not accepted.",
  }),
  name: z.string().nullable().meta({ description: "Of the person; null until they have joined." }),
  two_factor: z.boolean().nullable().meta({ description: "Whether a second factor is on; null: not for you to know." }),
  passkeys: z.int().nullable().meta({ description: "How many there are; null: not for you to know." }),
  last_seen_at: Time.nullable().meta({ description: "Of a session that has not ended; null: none, or not for you." }),
}).meta({ id: "MemberListed", description: "A member, and the person behind the address." });

export const MemberAdd = z
  .strictObject({
    email: z.email("write an e-mail address").max(254),
    role: RoleName.nullish().meta({ description: "Default: member." }),
  })
  .meta({
    id: "MemberAdd",
    description: "An admin creates an invitation: the membership starts when it is accepted.",
  });

export const MemberPatch = z.strictObject({ role: RoleName }).meta({ id: "MemberChange" });

const REMOVED_TOKENS = z.array(z.string()).meta({ description: "Ids of the management tokens that they had made." });

export const MemberChanged = MemberView.extend({
  removed_tokens: REMOVED_TOKENS,
}).meta({ id: "MemberChanged" });

export const MemberRemoved = z
  .object({
    id: z.string(),
    email: z.string(),
    removed: z.literal(true),
    revoked_keys: z.array(z.string()).meta({ description: "Ids of the personal keys that ended with the membership." }),
    removed_tokens: REMOVED_TOKENS,
    revoked_links: z
      .array(z.string())
      .meta({ description: "Ids of the invitations and links for a new password that were open for them." }),
  })
  .meta({ id: "MemberRemoved" });

const keySettings = {
  name: Label(100),
  scopes: z
    .array(ScopeName)
    .max(16)
    .nullable()
    .meta({ description: "What the key may call; an empty list or null: everything." }),
  ip_allowlist: z
    .array(z.string().min(1).max(64))
    .max(1000)
    .nullable()
    .meta({ description: "Addresses and CIDR blocks that may use the key; an empty list or null: every address." }),
  expires_at: TimeInput.nullable().meta({ description: "From then on the key is expired; null: never." }),
  rpm: z
    .int("write a whole number from 1 to 1000000")
    .min(1, "write a whole number from 1 to 1000000")
    .max(1_000_000, "write a whole number from 1 to 1000000")
    .nullable()
    .meta({ description: "Requests a minute; null: the default of the environment." }),
  policy: PolicyPatch.nullable().meta({
    description: "What the key demands on top of its workspace; it loosens nothing. Null: nothing more.",
  }),
};

export const KeyCreate = z
  .strictObject({
    name: keySettings.name.nullish().meta({ description: "Default: the environment and `key`." }),
    environment: EnvironmentName.nullish().meta({ description: "Default: live." }),
    member: z
      .string()
      .min(1)
      .max(254)
      .nullish()
      .meta({ description: "E-mail of the member a personal key is for; absent: a workspace key." }),
    scopes: keySettings.scopes.optional(),
    ip_allowlist: keySettings.ip_allowlist.optional(),
    expires_at: keySettings.expires_at.optional(),
    rpm: keySettings.rpm.optional(),
    policy: keySettings.policy.optional(),
  })
  .meta({ id: "KeyCreate" });

export const KeyPatch = z
  .strictObject({
    name: keySettings.name.optional(),
    scopes: keySettings.scopes.optional(),
    ip_allowlist: keySettings.ip_allowlist.optional(),
    expires_at: keySettings.expires_at.optional(),
    rpm: keySettings.rpm.optional(),
    policy: keySettings.policy.optional(),
  })
  .meta({ id: "KeyChange", description: "What is not named stays as it is." });

export const KeyRotate = z
  .strictObject({ grace: Duration.nullish().meta({ description: "How long the old key keeps working; default 7d." }) })
  .meta({ id: "KeyRotate" });

const KeyStateName = z.enum(["pending", "active", "deprecated", "expired", "revoked"]);

export const KeyView = z
  .object({
    id: z.string(),
    workspace: z.string().meta({ description: "Slug of the workspace." }),
    name: z.string(),
    prefix: z.string(),
    kind: z.enum(["workspace", "personal"]),
    member: z.string().nullable().meta({ description: "E-mail of the owner of a personal key." }),
    environment: EnvironmentName,
    state: KeyStateName,
    scopes: z.array(ScopeName).nullable(),
    ip_allowlist: z.array(z.string()).nullable(),
    expires_at: Time.nullable(),
    grace_until: Time.nullable().meta({ description: "Until when a rotated key keeps working." }),
    rpm: z.number().nullable(),
    policy: PolicyView.nullable().meta({
      description: "What the key demands on top of its workspace; null: nothing more.",
    }),
    created_at: Time,
    rotated_from: z.string().nullable().meta({ description: "Id of the key this one replaced." }),
  })
  .meta({ id: "Key" });

export const KeyListed = KeyView.extend({
  last_used_at: Time.nullable().meta({ description: "Null: the log has no request that it let in." }),
  requests_month: z
    .int()
    .meta({ description: "In this calendar month, in UTC, without those it did not let in (401)." }),
  spent_month: Money.meta({ description: "In this calendar month, in UTC." }),
  currency: z.string().meta({ description: "The workspace's." }),
}).meta({ id: "KeyListed", description: "A key, and what it was used for." });

export const KeyIssued = z
  .object({
    id: z.string(),
    key: z.string().meta({ description: "The key itself: shown this once and kept nowhere." }),
    prefix: z.string(),
    name: z.string(),
    environment: EnvironmentName,
    expires_at: Time.nullable(),
    state: z.literal("pending").optional().meta({ description: "Only of a key that waits for approval." }),
  })
  .meta({ id: "KeyIssued" });
