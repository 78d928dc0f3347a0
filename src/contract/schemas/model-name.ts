import { z } from "zod";

/** Every request is logged with the name it asked for, so that has a limit on every surface. */
export const MODEL_NAME_CHARS_MAX = 256;

/** What callers send as `model`. */
export const ModelName = z
  .string()
  .min(1)
  .max(MODEL_NAME_CHARS_MAX)
  .describe("A model id, with or without its creator.");
