import { z } from "zod";

/** A time as it is answered: ISO 8601 in UTC. */
export const Time = z.iso.datetime().meta({ description: "ISO 8601 in UTC.", example: "2026-11-15T09:30:00.000Z" });

/** A time as it is taken: a date, or a date and time; without a zone it is UTC. */
export const TimeInput = z
  .string()
  .regex(
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/,
    "must be an ISO 8601 time such as 2027-01-31T12:00:00Z",
  )
  .meta({ description: "ISO 8601; UTC if no zone is stated.", example: "2027-01-31T12:00:00Z" });

export const Duration = z
  .string()
  .regex(/^\d{1,9}[smhd]$/, "must be a duration such as 2s, 5m, 12h or 7d")
  .meta({ description: "A whole number followed by s, m, h or d.", example: "7d" });

/** Money leaves as a decimal string, with its currency beside it. */
export const Money = z.string().meta({ description: "Exact decimal string.", example: "12.50" });

export const AmountInput = z
  .string('must be a decimal string such as "12.50"')
  .regex(
    /^\d{1,15}(?:\.\d{1,9})?$/,
    "must be a decimal of at most 1000000000, with at most 9 decimal places, such as 12.50",
  )
  .meta({ description: "Positive decimal string with at most 9 decimal places.", example: "12.50" });

export const Label = (max: number) =>
  z
    .string()
    .trim()
    .min(1, "must have at least one character")
    .max(max, `must have at most ${max} characters`)
    // Control characters would let a name draw on the terminal or the page that shows it.
    .regex(/^\P{Cc}*$/u, "must not contain control characters");

const PAGE_LIMIT_MAX = 1000;

export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(100).meta({ description: "Rows per page." }),
  cursor: z.string().min(1).max(512).optional().meta({ description: "`next` of the previous page." }),
});

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    data: z.array(item).meta({ description: "Newest first." }),
    next: z.string().nullable().meta({ description: "Cursor of the next page; null on the last one." }),
  });
}
