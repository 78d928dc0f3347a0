import { z } from "zod";
import { Label, Time, TimeInput } from "./manage-values.ts";

const Access = z.enum(["read", "write"]).meta({ description: "Read-only access, or the permissions of an admin." });

export const TokenView = z
  .object({
    id: z.string(),
    name: z.string(),
    access: Access,
    created_at: Time,
    created_by: z.string(),
    expires_at: Time.nullable(),
  })
  .meta({ id: "ManagementToken", description: "A management token, without the secret." });

export const TokenCreate = z
  .strictObject({
    name: Label(100),
    access: Access,
    expires_at: TimeInput.nullish().meta({ description: "Absent: it does not expire." }),
  })
  .meta({ id: "ManagementTokenCreate" });

export const TokenIssued = TokenView.extend({
  token: z.string().meta({ description: "Returned only in this response." }),
}).meta({ id: "ManagementTokenIssued", description: "A new management token, shown only once." });

export const TokenRemoved = z
  .object({ id: z.string(), removed: z.literal(true) })
  .meta({ id: "ManagementTokenRemoved" });

export const tokenExample = {
  id: "tok_019a8c5e7d7a7c2b8f2e5a1b3c4d5e6f",
  name: "terraform",
  access: "write" as const,
  created_at: "2026-11-15T09:30:00.000Z",
  created_by: "ada@example.eu",
  expires_at: null,
};
