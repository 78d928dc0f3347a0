import { z } from "zod";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const names = z.array(z.string().min(1).max(200)).max(100);
const usd = z.union([z.number().min(0), z.string().regex(/^\d{1,9}(\.\d{1,12})?$/)], {
  error: "must be a number of US dollars from 0",
});

/** Preferences among the endpoints that policy allows, as other gateways' clients send them. */
const ProviderPreferences = z
  .strictObject({
    only: optional(names).describe("Only these providers."),
    ignore: optional(names).describe("None of these providers."),
    order: optional(names).describe("These first, in this order."),
    allow_fallbacks: optional(z.boolean()).describe(
      "`false`: only the first choice is tried, and with `order` only one of those.",
    ),
    require_parameters: optional(z.boolean()).describe(
      "Accepted: an endpoint that ignores a parameter is never asked.",
    ),
    data_collection: optional(z.enum(["allow", "deny"])).describe(
      "`deny`: no provider that trains on request content.",
    ),
    zdr: optional(z.boolean()).describe("`true`: only endpoints with zero data retention."),
    max_price: optional(
      z.strictObject({
        prompt: optional(usd).describe("US dollars per million input tokens."),
        completion: optional(usd).describe("US dollars per million output tokens."),
        request: optional(usd).describe("US dollars per request."),
        image: optional(usd).describe("Accepted: images are billed as input tokens."),
      }),
    ),
    sort: optional(z.enum(["price", "throughput", "latency"])).describe("What the eligible endpoints are ordered by."),
  })
  .meta({
    id: "ProviderPreferences",
    description:
      "Narrows and orders; it never lets in what policy keeps out. Providers are named by slug, `slug/region` or endpoint id.",
  });

/** Fields of every chat surface that are meant for the gateway and go to no provider. */
export const wishFields = {
  provider: optional(ProviderPreferences),
  session_id: optional(z.string().min(1).max(256)).describe("Keeps a conversation on its endpoint."),
  cost_tier: optional(z.enum(["low", "medium", "high"])).describe("Bends a router's weights towards cost or quality."),
  remaining_turns: optional(z.int().min(0)).describe("Turns that are expected after this one."),
};

const WishFields = z.object(wishFields);
export type WishFields = z.output<typeof WishFields>;
