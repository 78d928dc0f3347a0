import { z } from "zod";
import { LevelValue } from "./catalogue-values.ts";
import { Time } from "./manage-values.ts";

export const STATUS_WINDOWS = ["24h", "7d", "90d"] as const;

const WindowFigures = z
  .object({
    availability: z.number().meta({ description: "Successful share of attempts, 0 to 1.", example: 0.9987 }),
    p50_ms: z.number().nullable().meta({ description: "Median total time of successful attempts." }),
    p95_ms: z.number().nullable(),
  })
  .nullable()
  .meta({ id: "StatusFigures", description: "Null: fewer attempts than `samples_min`." });

const EndpointStatus = z
  .object({
    id: z.string(),
    model: z.string(),
    region: z.string(),
    level: LevelValue,
    simulated: z.boolean(),
    state: z.enum(["operational", "recovering", "down"]).meta({ description: "Of its circuit breaker, now." }),
    windows: z.object({ "24h": WindowFigures, "7d": WindowFigures, "90d": WindowFigures }),
  })
  .meta({ id: "EndpointStatus" });

export const PublicStatus = z
  .object({
    state: z.enum(["operational", "degraded"]).meta({ description: "`degraded`: an endpoint is down." }),
    updated_at: Time,
    samples_min: z.int(),
    providers: z.array(z.object({ slug: z.string(), name: z.string(), endpoints: z.array(EndpointStatus) })),
  })
  .meta({ id: "PublicStatus" });
export type PublicStatus = z.infer<typeof PublicStatus>;

export const publicStatus: PublicStatus = {
  state: "operational",
  updated_at: "2026-11-15T09:30:00.000Z",
  samples_min: 20,
  providers: [
    {
      slug: "sandbox-de",
      name: "Sandbox DE",
      endpoints: [
        {
          id: "sandbox-de:de:sandbox/chat",
          model: "sandbox/chat",
          region: "de",
          level: "L2",
          simulated: true,
          state: "operational",
          windows: {
            "24h": { availability: 1, p50_ms: 24, p95_ms: 61 },
            "7d": { availability: 0.9987, p50_ms: 25, p95_ms: 64 },
            "90d": null,
          },
        },
      ],
    },
  ],
};
