import { z } from "zod";
import { CacheWish } from "./cache.ts";
import { DataClassRules } from "./data-class-rules.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const names = z.array(z.string().min(1).max(200)).max(100);
const usd = z.union([z.number().min(0), z.string().regex(/^\d{1,9}(\.\d{1,12})?$/)], {
  error: "must be a number of US dollars of at least 0",
});

/** Preferences among the endpoints that policy allows, as other gateways' clients send them. */
const ProviderPreferences = z
  .strictObject({
    only: optional(names).describe("Only these providers."),
    ignore: optional(names).describe("None of these providers."),
    order: optional(names).describe("Try these first, in this order."),
    allow_fallbacks: optional(z.boolean()).describe(
      "`false`: only the first choice is tried; with `order`, only endpoints of that list.",
    ),
    require_parameters: optional(z.boolean()).describe(
      "Accepted: an endpoint that would ignore a parameter is never called.",
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
    sort: optional(z.enum(["price", "throughput", "latency"])).describe("Sort order of the eligible endpoints."),
  })
  .meta({
    id: "ProviderPreferences",
    description:
      "Restricts and orders the endpoints; it never allows what policy excludes. Providers are named by slug, `slug/region` or endpoint id.",
  });

/** Fields of every chat surface that are meant for the gateway and go to no provider. */
export const wishFields = {
  provider: optional(ProviderPreferences),
  session_id: optional(z.string().min(1).max(256)).describe("Keeps a conversation on one endpoint."),
  cost_tier: optional(z.enum(["low", "medium", "high"])).describe("Shifts a router's weights towards cost or quality."),
  remaining_turns: optional(z.int().min(0)).describe("Expected number of further turns."),
  data_classes: optional(DataClassRules).describe(
    "Rules of data classes for this request; they only tighten the policy's.",
  ),
  cache: optional(CacheWish).describe(
    "Serves an identical earlier reply, or keeps this one; see the guide on the cache.",
  ),
};

const WishFields = z.object(wishFields);
export type WishFields = z.output<typeof WishFields>;
