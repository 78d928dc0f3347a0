import type { CustomClassManagement } from "../../src/app/manage/deps.ts";
import { CustomClasses } from "../../src/app/pipeline/custom-classes.ts";

/** No workspace defines a data class. */
export function noCustomClasses(): CustomClassManagement {
  return {
    registry: new CustomClasses(async () => undefined),
    read: async () => undefined,
    seal: async () => new Uint8Array(),
    reload: async () => {},
    limits: { classes: 0, terms: 1, patterns: 0 },
  };
}
