import { z } from "zod";
import type { CustomClassManagement } from "../app/manage/deps.ts";
import { CustomClasses } from "../app/pipeline/custom-classes.ts";
import { customClassEncryptionContext } from "../domain/tenancy/custom-class.ts";
import type { Vault } from "../domain/tenancy/vault.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Config } from "../settings/config.ts";

const Definition = z.object({ terms: z.array(z.string()), patterns: z.array(z.string()) });

/** Loads the names of the data classes that workspaces define; what they look for is decrypted when it is needed. */
export async function openCustomClasses(
  config: Pick<Config, "GATEWAY_DATA_CLASSES_MAX" | "GATEWAY_DATA_CLASS_TERMS_MAX" | "GATEWAY_DATA_CLASS_PATTERNS_MAX">,
  { customClasses: stored }: Pick<Store, "customClasses">,
  vault: Vault,
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
  return {
    registry,
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
