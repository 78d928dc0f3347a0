import { vi } from "vitest";

/** A machine with much else to do is no fault of what is tested: what is waited for may take its time. */
const TIMEOUT_MS = 15_000;

const impatient = vi.waitFor;
if (impatient.name !== "patient")
  vi.waitFor = function patient(callback, options) {
    return impatient(callback, typeof options === "number" ? options : { timeout: TIMEOUT_MS, ...options });
  };
