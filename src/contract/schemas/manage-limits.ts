import { z } from "zod";
import { AmountInput, Money, Time } from "./manage-values.ts";

const Period = z.object({
  limit: Money.nullable().meta({ description: "Maximum spend; null: no limit." }),
  spent: Money.meta({ description: "Charged so far." }),
  held: Money.meta({ description: "Held for running requests." }),
  remaining: Money.nullable().meta({ description: "Amount still available to requests; null: no limit." }),
  resets_at: Time,
});

export const LimitsView = z
  .object({
    of: z.enum(["workspace", "member", "key"]),
    workspace: z.string().meta({ description: "Slug of the workspace." }),
    member: z.string().nullable().meta({ description: "Email of the member whose spending is limited." }),
    key: z.string().nullable().meta({ description: "Id of the key whose spending is limited." }),
    key_name: z.string().nullable(),
    currency: z.string(),
    day: Period.meta({ description: "The day, in UTC." }),
    month: Period.meta({ description: "The calendar month, in UTC." }),
  })
  .meta({ id: "SpendLimits" });

const KeyId = z.string().min(1).max(100);
const Email = z.string().min(1).max(254);

export const LimitsQuery = z.strictObject({
  key: KeyId.optional().meta({ description: "Key id: show the limits of this key instead of the workspace." }),
  member: Email.optional().meta({ description: "Email of a member: show their limits instead of the workspace's." }),
});

export const LimitInput = AmountInput.nullable().optional().meta({
  description: "Decimal string in the workspace's currency, with at most 9 decimal places; null removes the limit.",
});

/** The limits of a key that is created or changed. */
export const KeySpendLimits = z
  .strictObject({ day: LimitInput, month: LimitInput })
  .meta({ id: "KeySpendLimits", description: "Per day and calendar month, in UTC. A period that is not named stays." });

export const LimitsPut = z
  .strictObject({
    key: KeyId.nullish().meta({ description: "Id of the key whose spending is limited." }),
    member: Email.nullish().meta({ description: "Email of the member whose spending is limited." }),
    day: LimitInput,
    month: LimitInput,
  })
  .meta({
    id: "SpendLimitsPut",
    description: "Without `key` and `member` the limit applies to the workspace. Omitted periods stay unchanged.",
  });

const period = { limit: null, spent: "0.734", held: "0.00", remaining: null, resets_at: "2026-11-16T00:00:00.000Z" };

export const limitsExample = {
  of: "workspace",
  workspace: "research",
  member: null,
  key: null,
  key_name: null,
  currency: "EUR",
  day: { ...period, limit: "5.00", remaining: "4.266" },
  month: { ...period, spent: "31.20", resets_at: "2026-12-01T00:00:00.000Z" },
} as const;
