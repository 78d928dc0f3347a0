import { z } from "zod";

/** The words that servers of chat completions and of responses have for how soon and how surely they serve a request. */
export const ServiceTier = z.enum([
  "auto",
  "default",
  "standard",
  "on_demand",
  "flex",
  "priority",
  "scale",
  "fast",
  "ultrafast",
  "performance",
]);
