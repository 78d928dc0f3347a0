import { z } from "zod";
import { CacheSettings, WorkspaceCacheSettings } from "./cache.ts";
import { DataClassRules, ShownDataClassRules } from "./data-class-rules.ts";
import { KeySpendLimits } from "./manage-limits.ts";
import { Duration, Label, Money, PageQuery, Time, TimeInput } from "./manage-values.ts";

const EnvironmentName = z.enum(["live", "test"]);
const RoleName = z.enum(["owner", "admin", "member"]);
export const LevelName = z.enum(["L0", "L1", "L2", "L3", "L4"]);
/** A floor as it is taken. */
export const FloorInput = z.enum(["none", "L0", "L1", "L2", "L3", "L4"]);
export const CountryCodes = z
  .array(z.string().regex(/^[A-Za-z]{2}$/, "must be two-letter ISO 3166-1 country codes such as DE"))
  .max(300);
export const ModelIds = z.array(z.string().min(1).max(200)).max(5000);
const ScopeName = z.enum([
  "inference:chat",
  "inference:messages",
  "inference:embeddings",
  "inference:rerank",
  "inference:moderations",
  "inference:images",
  "inference:audio",
  "inference:models",
  "inference:decisions",
  "inference:batches",
]);

const OWN_NODES =
  "`exempt`: the workspace's own nodes may serve below this floor, though never below the floor of a key, router or request. `subject`: the floor applies to them.";
const TEST_KEYS =
  "`simulated`: test keys of the workspace reach simulated providers only. `any`: they call the same models at the same price as live keys.";
const PARAMETERS =
  "`lenient`: parameters that an endpoint's dialect lacks are accepted with a value that requests nothing, such as `store: false`. `strict`: they are rejected whatever their value.";
const OwnNodes = z.enum(["subject", "exempt"]);
const ParameterHandling = z.enum(["strict", "lenient"]);
const TestKeys = z.enum(["any", "simulated"]);

export const PolicyView = z
  .object({
    floor: LevelName.nullable().meta({ description: "Minimum sovereignty level; null: no floor." }),
    countries: z.array(z.string()).nullable().meta({ description: "Allowed compute countries; null: every country." }),
    zero_data_retention: z.boolean(),
    no_training: z.boolean(),
    blocked_providers: z.array(z.string()),
    allowed_models: z.array(z.string()).nullable().meta({ description: "Allowed model ids; null: every model." }),
    own_nodes: OwnNodes.meta({ description: `${OWN_NODES} Set by workspaces only.` }),
    test_keys: TestKeys.meta({ description: `${TEST_KEYS} Set by workspaces only.` }),
    parameters: ParameterHandling.nullable().meta({
      description: `${PARAMETERS} A key's value replaces the workspace's; null: not set, so a key follows its workspace, and a workspace is strict.`,
    }),
    data_classes: ShownDataClassRules.optional().meta({ description: "Absent: requests are not inspected." }),
    cache: WorkspaceCacheSettings.optional().meta({
      description: "Absent: nothing is stated about the response cache.",
    }),
  })
  .meta({ id: "Policy" });

const restrictions = {
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
  parameters: ParameterHandling.nullable()
    .optional()
    .meta({ description: `${PARAMETERS} Null clears it.` }),
  data_classes: DataClassRules.nullable().optional().meta({
    description: "All rules of data classes, which replace the previous ones; an empty object or null clears them.",
  }),
  cache: CacheSettings.nullable()
    .optional()
    .meta({ description: "All settings of the response cache, which replace the previous ones; null clears them." }),
};

export const PolicyPatch = z
  .strictObject({
    ...restrictions,
    own_nodes: OwnNodes.optional().meta({ description: OWN_NODES }),
    test_keys: TestKeys.optional().meta({ description: TEST_KEYS }),
    cache: WorkspaceCacheSettings.nullable()
      .optional()
      .meta({ description: "All settings of the response cache, which replace the previous ones; null clears them." }),
  })
  .meta({ id: "PolicyChange", description: "Omitted rules stay unchanged." });

/** The rules that a key can add. */
const KeyRestrictionsPatch = z
  .strictObject(restrictions)
  .meta({ id: "KeyRestrictions", description: "Omitted rules stay unchanged." });

const IpAllowlist = z.array(z.string().min(1).max(64)).max(1000).nullable();

const WORKSPACE_ALLOWLIST =
  "IP addresses and CIDR blocks from which keys of the workspace work, in addition to the key's own list; an empty list or null: all.";

export const KeyPolicyView = z
  .object({
    personal_keys: z.boolean().meta({ description: "Members can have personal keys." }),
    approval: z.boolean().meta({ description: "Personal keys require approval." }),
    ip_allowlist: z.array(z.string()).nullable().meta({ description: WORKSPACE_ALLOWLIST }),
  })
  .meta({ id: "KeyPolicy" });

export const KeyPolicyPatch = z
  .strictObject({
    personal_keys: z.boolean().optional(),
    approval: z.boolean().optional(),
    ip_allowlist: IpAllowlist.optional().meta({ description: WORKSPACE_ALLOWLIST, example: ["203.0.113.0/24"] }),
  })
  .meta({ id: "KeyPolicyChange", description: "Omitted fields stay unchanged." });

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
        "must be 1 to 63 lowercase letters, digits and hyphens, and begin and end with a letter or digit",
      )
      .meta({ example: "research" }),
    name: Label(100).nullish().meta({ description: "Default: the slug." }),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, "must be a three-letter currency code such as EUR")
      .nullish()
      .meta({ description: "Currency of the wallet; default EUR. It cannot be changed later." }),
  })
  .meta({ id: "WorkspaceCreate" });

export const WorkspacePatch = z
  .strictObject({ name: Label(100).meta({ description: "Display name; the slug stays the same." }) })
  .meta({ id: "WorkspaceChange" });

export const MemberView = z
  .object({ id: z.string(), email: z.string(), role: RoleName, created_at: Time })
  .meta({ id: "Member" });

export const MemberListed = MemberView.extend({
  joined: z.boolean().meta({
    description: "Whether an account holds the membership; false: no account yet, or the invitation is pending.",
  }),
  name: z.string().nullable().meta({ description: "Name of the user; null until they have joined." }),
  two_factor: z
    .boolean()
    .nullable()
    .meta({ description: "Whether a second factor is enabled; null: not visible to you." }),
  passkeys: z.int().nullable().meta({ description: "Number of passkeys; null: not visible to you." }),
  last_seen_at: Time.nullable().meta({
    description: "Last activity of an active session; null: none, or not visible to you.",
  }),
}).meta({ id: "MemberListed", description: "A member with the account that holds the membership." });

export const MemberAdd = z
  .strictObject({
    email: z.email("must be an email address").max(254),
    role: RoleName.nullish().meta({ description: "Default: member." }),
  })
  .meta({
    id: "MemberAdd",
    description: "An admin creates an invitation: the membership starts when it is accepted.",
  });

export const MemberPatch = z.strictObject({ role: RoleName }).meta({ id: "MemberChange" });

const REMOVED_TOKENS = z.array(z.string()).meta({ description: "Ids of the management tokens they created." });

export const MemberChanged = MemberView.extend({
  removed_tokens: REMOVED_TOKENS,
}).meta({ id: "MemberChanged" });

export const MemberRemoved = z
  .object({
    id: z.string(),
    email: z.string(),
    removed: z.literal(true),
    revoked_keys: z.array(z.string()).meta({ description: "Ids of the personal keys revoked with the membership." }),
    removed_tokens: REMOVED_TOKENS,
    revoked_links: z.array(z.string()).meta({ description: "Ids of their open invitations and password reset links." }),
  })
  .meta({ id: "MemberRemoved" });

const keySettings = {
  name: Label(100),
  scopes: z.array(ScopeName).max(16).nullable().meta({ description: "Allowed endpoints; an empty list or null: all." }),
  ip_allowlist: IpAllowlist.meta({
    description: "IP addresses and CIDR blocks that may use the key; an empty list or null: all.",
  }),
  expires_at: TimeInput.nullable().meta({ description: "Expiry time; null: never." }),
  rpm: z
    .int("must be a whole number from 1 to 1000000")
    .min(1, "must be a whole number from 1 to 1000000")
    .max(1_000_000, "must be a whole number from 1 to 1000000")
    .nullable()
    .meta({ description: "Rate limit in requests per minute; null: the default of the environment." }),
  policy: KeyRestrictionsPatch.nullable().meta({
    description: "Additional policy of the key, which can only restrict the workspace's policy. Null: none.",
  }),
  spend_limits: KeySpendLimits.meta({ description: "What the key may spend, as in `SpendLimits`." }),
};

export const KeyCreate = z
  .strictObject({
    name: keySettings.name.nullish().meta({ description: "Default: the environment followed by `key`." }),
    environment: EnvironmentName.nullish().meta({
      description:
        "Default: live. Test keys call the same models at the same price as live keys, with a lower rate limit, unless the workspace's policy has `test_keys: simulated`: then they reach simulated providers only, at their simulated prices.",
    }),
    member: z
      .string()
      .min(1)
      .max(254)
      .nullish()
      .meta({ description: "Email of the member who owns a personal key; absent: a workspace key." }),
    scopes: keySettings.scopes.optional(),
    ip_allowlist: keySettings.ip_allowlist.optional(),
    expires_at: keySettings.expires_at.optional(),
    rpm: keySettings.rpm.optional(),
    policy: keySettings.policy.optional(),
    spend_limits: keySettings.spend_limits.optional(),
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
    spend_limits: keySettings.spend_limits.optional(),
  })
  .meta({ id: "KeyChange", description: "Omitted fields stay unchanged." });

export const PlaygroundKeyCreate = z
  .strictObject({ environment: EnvironmentName.nullish().meta({ description: "Default: live." }) })
  .meta({ id: "PlaygroundKeyCreate" });

export const KeyListQuery = PageQuery.extend({
  purpose: z.enum(["api", "playground", "all"], "use one of api, playground, all").default("api").meta({
    description: "`playground`: the short-lived keys of the portal's playground, one per person and environment.",
  }),
});

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
    member: z.string().nullable().meta({ description: "Email of the owner of a personal key." }),
    environment: EnvironmentName,
    state: KeyStateName,
    scopes: z.array(ScopeName).nullable(),
    ip_allowlist: z.array(z.string()).nullable(),
    expires_at: Time.nullable(),
    grace_until: Time.nullable().meta({ description: "End of the grace period of a rotated key." }),
    rpm: z.number().nullable(),
    policy: PolicyView.nullable().meta({
      description: "Additional policy of the key; null: none.",
    }),
    created_at: Time,
    rotated_from: z.string().nullable().meta({ description: "Id of the key that this one replaced." }),
    purpose: z.enum(["api", "playground"]).meta({
      description: "`playground`: issued to the portal for a person; it can be revoked, but not changed or rotated.",
    }),
  })
  .meta({ id: "Key" });

export const KeyListed = KeyView.extend({
  last_used_at: Time.nullable().meta({ description: "Null: the log has no accepted request of this key." }),
  requests_month: z.int().meta({ description: "In this calendar month (UTC), without requests rejected with 401." }),
  spent_month: Money.meta({ description: "In this calendar month, in UTC." }),
  currency: z.string().meta({ description: "Currency of the workspace." }),
}).meta({ id: "KeyListed", description: "A key with its usage." });

export const KeyIssued = z
  .object({
    id: z.string(),
    key: z.string().meta({ description: "The secret key. Shown only once and not stored." }),
    prefix: z.string(),
    name: z.string(),
    environment: EnvironmentName,
    expires_at: Time.nullable(),
    state: z.literal("pending").optional().meta({ description: "Set for a key that awaits approval." }),
  })
  .meta({ id: "KeyIssued" });
