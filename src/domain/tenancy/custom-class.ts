import { DATA_CLASSES, UNINSPECTED } from "./data-class-rules.ts";
import type { EncryptionContext } from "./vault.ts";

/** Words that mean something else wherever a class is named. */
const RESERVED: ReadonlySet<string> = new Set([
  ...DATA_CLASSES,
  UNINSPECTED,
  "test",
  "none",
  "all",
  "custom",
  "terms",
  "report",
]);

export const isReservedClassName = (name: string) => RESERVED.has(name);

/** A data class that a workspace defines, without what it looks for. */
export type CustomClass = {
  readonly workspaceId: string;
  readonly name: string;
  /** Counts from 1 with every change. */
  readonly version: number;
  readonly termCount: number;
  readonly patternCount: number;
  readonly changedAtMs: number;
  readonly changedBy: string;
};

export type CustomClassStore = {
  /** `workspaceId` limits the result to one workspace. */
  all(workspaceId?: string): Promise<CustomClass[]>;
  /** What a class looks for, encrypted, and the version that was encrypted. */
  definition(workspaceId: string, name: string): Promise<{ version: number; sealed: Uint8Array } | undefined>;
  /** Replaces an existing class of this name. */
  save(customClass: CustomClass, sealed: Uint8Array): Promise<void>;
  remove(workspaceId: string, name: string): Promise<void>;
};

/** Binds the ciphertext to its workspace, class and version. */
export function customClassEncryptionContext({
  workspaceId,
  name,
  version,
}: Pick<CustomClass, "workspaceId" | "name" | "version">): EncryptionContext {
  return { workspaceId, column: "custom_classes.definition", row: `${name} ${version}` };
}
