import { ensureDataDir } from "../io/data-dir.ts";
import { loadOrCreateSecret } from "../io/secret-files.ts";
import { randomToken } from "../kit/secret.ts";
import { type Config, ConfigError } from "../settings/config.ts";

export async function openSecrets(config: Config): Promise<{ adminToken: string; instanceId: string }> {
  const unusable = ensureDataDir(config.DATA_DIR);
  if (unusable !== undefined)
    throw new ConfigError([
      `DATA_DIR: ${config.DATA_DIR} cannot be used (${unusable}); write a folder that can be written`,
    ]);
  const make = () => randomToken(32);
  return {
    adminToken: await loadOrCreateSecret(config.DATA_DIR, "admin-token", config.GATEWAY_ADMIN_TOKEN, make),
    // No secret, and kept like one: two that open a folder at once get the same.
    instanceId: await loadOrCreateSecret(config.DATA_DIR, "instance-id", null, () => `ins_${randomToken(12)}`),
  };
}
