/** Examples of routers and what is asked of them; a test holds each against its schema. */
const AT = "2026-11-15T09:30:00.000Z";

export const routerSpec = {
  weights: { quality: 1, cost: 3, latency: 0 },
  floor: "L2",
  quality_floor: 0.4,
  countries: ["DE", "FR"],
  models: [],
  fallback: ["sandbox/chat"],
  reasoning_effort: "low",
};

const version = { slug: "cheap", name: "@research/cheap", version: 2, created_at: AT };

export const router = { ...version, ...routerSpec };

export const routerVersion = { ...version, spec: routerSpec };
