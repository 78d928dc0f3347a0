import type { z } from "zod";
import type { FaultCode } from "./faults.ts";

/** Who may call a route: anyone, a holder of an API key, or someone who manages. */
export type Access =
  /** `optionalKey`: an API key adds what only its workspace may see. */
  | { readonly by: "anyone"; readonly optionalKey?: true }
  | { readonly by: "key"; readonly scope: string | null }
  | { readonly by: "manager"; readonly allows: Allowed; readonly of: Belonging };

/**
 * The least that opens a route of the management API: a role in the workspace that the thing belongs to, being known
 * at all (`person`: what is not theirs is left out), or being the operator. The operator is let in everywhere.
 */
export type Allowed = "operator" | "owner" | "admin" | "member" | "person";

/**
 * Where the workspace is found that a call is about: in the path, in the query, or through the key, request or capture
 * window whose id is in the path.
 */
export type Belonging = "path" | "query" | "key" | "request" | "capture" | "nothing";

/** What a route takes in: nothing, one JSON object, or a multipart upload. */
export type Intake = "none" | "json" | "multipart";

/** Surfaces that a deployment can do without. */
export type Switch = "decisions" | "speech" | "gemini" | "rerank" | "moderations" | "images" | "batches";

export type Route = {
  /** The operation id of the OpenAPI document and the name a handler is bound to. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{name}` for one segment and `{name+}` for the rest of the path (ids with slashes). */
  readonly path: string;
  readonly access: Access;
  readonly intake: Intake;
  /** Absent: as much as the settings allow for bodies of its kind. */
  readonly bodyMaxBytes?: number;
  /** Uploads are files to store, with a size limit of their own. */
  readonly storesUpload?: true;
  /** Which switch of the deployment turns it off; absent: it is always on. */
  readonly switchedBy?: Switch;
  /** Whether a call counts in the per-key window. */
  readonly counted: boolean;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  /** Headers that are a part of the request. */
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Beside a form: the body as JSON. */
  readonly orJson?: { readonly schema: z.ZodType; readonly example: unknown };
  /** No body at all is the same as `{}`. */
  readonly bodyOptional?: true;
  readonly answer: Answer;
  /**
   * Text above 1 kB is compressed for clients that accept it. Absent: never. Inference is not compressed, because frames
   * must leave at once; neither are responses that carry a secret, because their length would tell about it (BREACH).
   */
  readonly compressed?: true;
  /** The headers that name the serving provider; absent: no provider is called. */
  readonly servingHeaders?: ServingHeaders;
  /** Whose words stand around an error; absent: the gateway's own envelope and nothing else. */
  readonly errors?: "messages" | "gemini";
  /** Codes this route adds to the ones every route of its kind can answer. */
  readonly faults: readonly FaultCode[];
  readonly example?: { readonly body?: unknown; readonly answer?: unknown };
};

/**
 * `work` is every inference, `embeddings` adds the node, `chat` what only chat has, `count` is what of that a count has, `stored` what is
 * kept of it; the specification lists the others to the last header.
 */
export type ServingHeaders = "chat" | "embeddings" | "count" | "work" | "stored" | "decisions" | "speech";

export type Answer =
  /** `tagged`: with an ETag, and 304 for who has it already. `or`: in a second form, where the caller chooses. */
  | {
      readonly is: "json";
      readonly status: 200 | 201 | 202 | 204;
      readonly schema: z.ZodType;
      readonly tagged?: true;
      readonly or?: string;
    }
  /** JSON, or with `stream: true` server-sent events whose data is `frame`. `or`: as bare text, where the caller chooses. */
  | { readonly is: "json_or_events"; readonly schema: z.ZodType; readonly frame: z.ZodType; readonly or?: "text/plain" }
  /** Bytes as they are made, of one of these types. */
  | { readonly is: "bytes"; readonly contentTypes: readonly string[] }
  | { readonly is: "text"; readonly contentType: string; readonly or?: string };
