import { z } from "zod";
import type { CustomClassManagement } from "../app/manage/deps.ts";
import { CustomClasses } from "../app/pipeline/custom-classes.ts";
import { ExternalDetectors } from "../app/pipeline/external-detectors.ts";
import type { ExternalDetector } from "../domain/data-classes/external-detector.ts";
import { customClassEncryptionContext } from "../domain/tenancy/custom-class.ts";
import type { Vault } from "../domain/tenancy/vault.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import { createGuardedPost, egressUrlProblem } from "../io/upstream/guarded-post.ts";
import { systemClock } from "../kit/clock.ts";
import type { Config } from "../settings/config.ts";

const Detector: z.ZodType<ExternalDetector> = z.object({
  url: z.string(),
  language: z.string(),
  country: z.string(),
  attested: z
    .object({
      level: z.enum(["L2", "L3", "L4"]),
      name: z.string(),
      reason: z.string(),
      atMs: z.number(),
    })
    .nullable(),
  zeroDataRetention: z.boolean(),
  noTraining: z.boolean(),
  entities: z.array(z.string()).nullable(),
  minScore: z.number(),
  token: z.string().nullable(),
  timeoutMs: z.number(),
});
const Definition = z.object({
  terms: z.array(z.string()),
  patterns: z.array(z.string()),
  detector: Detector.optional(),
});
/** A detector's own limit is shorter. */
const DETECTOR_TIMEOUT_MS = 30_000;

type ClassSettings = Pick<
  Config,
  | "GATEWAY_DATA_CLASSES_MAX"
  | "GATEWAY_DATA_CLASS_TERMS_MAX"
  | "GATEWAY_DATA_CLASS_PATTERNS_MAX"
  | "GATEWAY_DETECTOR_PRIVATE"
>;

/** Loads the names of the data classes that workspaces define; what they look for is decrypted when it is needed. */
export async function openCustomClasses(
  config: ClassSettings,
  { customClasses: stored }: Pick<Store, "customClasses">,
  { vault, metrics }: { readonly vault: Vault; readonly metrics: Pick<Metrics, "recordDetector"> },
): Promise<CustomClassManagement> {
  const read: CustomClassManagement["read"] = async ({ workspaceId, name }) => {
    const found = await stored.definition(workspaceId, name);
    if (found === undefined) return undefined;
    const context = customClassEncryptionContext({ workspaceId, name, version: found.version });
    return Definition.parse(JSON.parse(await vault.open(context, found.sealed)));
  };
  const registry = new CustomClasses(read);
  for (const [workspaceId, classes] of Map.groupBy(await stored.all(), (one) => one.workspaceId))
    registry.replace(workspaceId, classes);
  const egress = config.GATEWAY_DETECTOR_PRIVATE === "on" ? "anywhere" : "public_https";
  const post = createGuardedPost(egress, DETECTOR_TIMEOUT_MS);
  return {
    registry,
    externalDetectors: new ExternalDetectors(post, systemClock, (...read) => metrics.recordDetector(...read)),
    urlProblem: (url) => egressUrlProblem(url, egress),
    read,
    seal: (customClass, definition) =>
      vault.seal(customClassEncryptionContext(customClass), JSON.stringify(definition)),
    reload: async (workspaceId) => registry.replace(workspaceId, await stored.all(workspaceId)),
    limits: {
      classes: config.GATEWAY_DATA_CLASSES_MAX,
      terms: config.GATEWAY_DATA_CLASS_TERMS_MAX,
      patterns: config.GATEWAY_DATA_CLASS_PATTERNS_MAX,
    },
  };
}
