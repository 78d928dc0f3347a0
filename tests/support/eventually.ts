import { vi } from "vitest";

/** A loaded machine is not a failure of the code under test, so waiting has a generous limit. */
const TIMEOUT_MS = 15_000;

/** Retries the callback until it stops throwing. It proves presence; absence needs a controlled clock or an event. */
export const eventually: typeof vi.waitFor = (callback, options) =>
  vi.waitFor(callback, typeof options === "number" ? options : { timeout: TIMEOUT_MS, ...options });
