import { z } from "zod";
import { Time } from "./manage-values.ts";

export const MasterKeyView = z
  .object({
    source: z.enum(["file", "setting"]).meta({
      description: "`file`: made by the gateway, in DATA_DIR. `setting`: GATEWAY_MASTER_KEY, made by the operator.",
    }),
    state: z
      .enum(["idle", "running", "failed"])
      .meta({ description: "Whether data keys are being wrapped by the current key. What failed is tried again." }),
    rewrapped: z.int().meta({ description: "Data keys that the last run has wrapped so far." }),
    remaining: z.int().meta({ description: "Data keys that are wrapped by another key than the current one." }),
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
    problem: z.string().nullable(),
    keys: z.array(
      z.object({
        id: z.string().nullable().meta({ description: "Tells a key from others; null: wrapped before ids were kept." }),
        role: z.enum(["current", "previous", "missing", "unknown"]).meta({
          description: "`previous` keys are only read with; what a `missing` one has wrapped cannot be opened here.",
        }),
        data_keys: z.int().meta({ description: "How many data keys are wrapped by it." }),
      }),
    ),
  })
  .meta({ id: "MasterKey", description: "Which master key has wrapped how many of the workspaces' data keys." });

export const masterKey = {
  source: "file",
  state: "idle",
  rewrapped: 12,
  remaining: 0,
  started_at: "2026-11-15T09:30:00.000Z",
  ended_at: "2026-11-15T09:30:01.000Z",
  problem: null,
  keys: [{ id: "5e6b22a09c1f4d38", role: "current", data_keys: 12 }],
} as const;
