import type { EncryptionContext, Vault } from "../../../domain/tenancy/vault.ts";
import { seal, unseal } from "../../../kit/secret.ts";

/** The purpose of the derived key under which files and batches are encrypted. */
const PURPOSE = "batches";

/** Encrypts bytes, which the vault itself does for texts only, with a key derived from that of the workspace. */
export class SealedContent {
  readonly #vault: Pick<Vault, "derive">;

  constructor(vault: Pick<Vault, "derive">) {
    this.#vault = vault;
  }

  async seal(context: EncryptionContext, content: Buffer | string): Promise<Buffer> {
    const key = await this.#vault.derive(context.workspaceId, PURPOSE);
    return seal(key, typeof content === "string" ? Buffer.from(content) : content, boundTo(context));
  }

  async open(context: EncryptionContext, sealed: Uint8Array): Promise<Buffer> {
    const key = await this.#vault.derive(context.workspaceId, PURPOSE);
    const content = unseal(key, sealed, boundTo(context));
    if (content === undefined)
      throw new Error(`${context.column} of ${context.row} cannot be decrypted: it was modified, or belongs elsewhere`);
    return content;
  }

  /** Opens many values of one workspace with one derived key. */
  async opener(workspaceId: string): Promise<(column: string, row: string, sealed: Uint8Array) => Buffer> {
    const key = await this.#vault.derive(workspaceId, PURPOSE);
    return (column, row, sealed) => {
      const content = unseal(key, sealed, boundTo({ workspaceId, column, row }));
      if (content === undefined) throw new Error(`${column} of ${row} cannot be decrypted`);
      return content;
    };
  }

  /** Encrypts many values of one workspace with one derived key. */
  async sealer(workspaceId: string): Promise<(column: string, row: string, content: string) => Buffer> {
    const key = await this.#vault.derive(workspaceId, PURPOSE);
    return (column, row, content) => seal(key, Buffer.from(content), boundTo({ workspaceId, column, row }));
  }
}

const boundTo = ({ workspaceId, column, row }: EncryptionContext) => JSON.stringify([workspaceId, column, row]);
