import type { Kysely } from "kysely";
import { erasedAddress, type PeopleWriter } from "../../../domain/tenancy/person.ts";
import { beginEpoch } from "./people-epoch.ts";
import { deleteResets, revokePendingAndDevices, toIso } from "./people-store.ts";
import type { Database } from "./schema.ts";

/** By each of which somebody signs in, or is signed in. */
const CREDENTIAL_TABLES = ["people_sessions", "people_passkeys", "people_two_factors", "people_accounts"] as const;

export function erasureChanges(db: Kysely<Database>): Pick<PeopleWriter, "erase" | "eraseIn"> {
  return {
    async eraseReferences(workspaceId, { id, email }) {
      const nobody = erasedAddress(id);
      const nodes = db.updateTable("nodes").set({ created_by: nobody }).where("created_by", "=", email);
      await nodes.where("workspace_id", "=", workspaceId).execute();
      const keys = db.updateTable("workspace_credentials").set({ changed_by: nobody }).where("changed_by", "=", email);
      await keys.where("workspace_id", "=", workspaceId).execute();
    },
    async erase({ id, email }, nowMs) {
      const nobody = erasedAddress(id);
      await beginEpoch(db, id);
      for (const table of CREDENTIAL_TABLES) await db.deleteFrom(table).where("user_id", "=", id).execute();
      await revokePendingAndDevices(db, id);
      await deleteResets(db, id);
      await eraseLinks(db, email, nobody, nowMs);
      await db
        .updateTable("platform_credentials")
        .set({ changed_by: nobody })
        .where("changed_by", "=", email)
        .execute();
      const flags = { email_verified: 0, two_factor_enabled: 0, operator: 0, disabled: 1 };
      await db
        .updateTable("people")
        .set({ name: "Erased", email: nobody, image: null, ...flags, updated_at: toIso(nowMs) })
        .where("id", "=", id)
        .execute();
    },
  };
}

async function eraseLinks(db: Kysely<Database>, email: string, nobody: string, nowMs: number): Promise<void> {
  const toThem = db.updateTable("people_links").where("email", "=", email);
  const open = toThem.where("used_at_ms", "is", null).where("revoked_at_ms", "is", null);
  await open.set({ revoked_at_ms: Math.trunc(nowMs) }).execute();
  await toThem.set({ email: nobody }).execute();
  await db.updateTable("people_links").set({ made_by: nobody }).where("made_by", "=", email).execute();
}
