import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import {
  PROOF_CAUSES,
  PROOF_RESULTS,
  PROVEN_SURFACES,
  type ProofStore,
  type SurfaceProof,
} from "../../../domain/catalogue/proofs.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function proofStore(db: Kysely<Database>): ProofStore {
  return {
    async append(proofs) {
      if (proofs.length === 0) return;
      await db.insertInto("endpoint_proofs").values(proofs.map(toRow)).execute();
    },

    async history(filter, limit, cursor) {
      const size = pageSize(limit);
      let query = db.selectFrom("endpoint_proofs").selectAll();
      if (filter.endpoint !== undefined) query = query.where("endpoint", "=", filter.endpoint);
      if (filter.surface !== undefined) query = query.where("surface", "=", filter.surface);
      if (filter.result !== undefined) query = query.where("result", "=", filter.result);
      if (cursor !== null) {
        const { atMs, id } = decodeCursor(cursor);
        query = query.where((eb) =>
          eb.or([eb("at_ms", "<", atMs), eb.and([eb("at_ms", "=", atMs), eb("id", "<", id)])]),
        );
      }
      const found = await query
        .orderBy("at_ms", "desc")
        .orderBy("id", "desc")
        .limit(size + 1)
        .execute();
      const { page, next } = slicePage(found, size, ({ at_ms, id }) => ({ atMs: at_ms, id }));
      return { rows: page.map(toProof), next };
    },

    async since(atMs) {
      const rows = await db
        .selectFrom("endpoint_proofs")
        .selectAll()
        .where("at_ms", ">=", atMs)
        .orderBy("at_ms")
        .orderBy("id")
        .execute();
      return rows.map(toProof);
    },

    async sweep(beforeMs) {
      await db.deleteFrom("endpoint_proofs").where("at_ms", "<", beforeMs).execute();
    },
  };
}

/**
 * A subject suffix for proofs without images. Older versions, which send images to every proven endpoint, see a different
 * subject and ignore the proof.
 */
const WITHOUT_IMAGES = " without images";

function toRow(proof: SurfaceProof): Database["endpoint_proofs"] {
  const { id, endpoint, surface, subject, result, reason, cause } = proof;
  return {
    id,
    endpoint,
    surface,
    subject: proof.withoutImages === true ? `${subject}${WITHOUT_IMAGES}` : subject,
    at_ms: proof.atMs,
    result,
    reason,
    cause,
    duration_ms: proof.durationMs,
    input_tokens: proof.inputTokens,
    output_tokens: proof.outputTokens,
    audio_ms: proof.audioMs,
  };
}

const ProofColumns = z.object({
  surface: z.enum(PROVEN_SURFACES),
  result: z.enum(PROOF_RESULTS),
  cause: z.enum(PROOF_CAUSES),
});

function toProof(row: Selectable<Database["endpoint_proofs"]>): SurfaceProof {
  const { id, endpoint, subject, reason } = row;
  return {
    id,
    endpoint,
    ...(subject.endsWith(WITHOUT_IMAGES)
      ? { subject: subject.slice(0, -WITHOUT_IMAGES.length), withoutImages: true }
      : { subject }),
    reason,
    ...ProofColumns.parse(row),
    atMs: row.at_ms,
    durationMs: row.duration_ms,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    audioMs: row.audio_ms,
  };
}
