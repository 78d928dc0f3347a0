import type { Route } from "./route.ts";
import { CATALOGUE_ROUTES } from "./routes/catalogue.ts";
import { BATCH_ROUTES } from "./routes/inference/batches.ts";
import { CHAT_ROUTES } from "./routes/inference/chat.ts";
import { DECISIONS_ROUTES } from "./routes/inference/decisions.ts";
import { EMBEDDINGS_ROUTES } from "./routes/inference/embeddings.ts";
import { GEMINI_ROUTES } from "./routes/inference/gemini.ts";
import { IMAGES_ROUTES } from "./routes/inference/images.ts";
import { MESSAGES_ROUTES } from "./routes/inference/messages.ts";
import { MODERATIONS_ROUTES } from "./routes/inference/moderations.ts";
import { RERANK_ROUTES } from "./routes/inference/rerank.ts";
import { RESPONSES_ROUTES } from "./routes/inference/responses.ts";
import { SPEECH_ROUTES } from "./routes/inference/speech.ts";
import { STORED_RESPONSE_ROUTES } from "./routes/inference/stored-responses.ts";
import { TRANSCRIPTIONS_ROUTES } from "./routes/inference/transcriptions.ts";
import { KEY_VALIDATION_ROUTES } from "./routes/key-validation.ts";
import { MANAGE_ROUTES } from "./routes/manage.ts";
import { OPERATION_ROUTES } from "./routes/operations.ts";
import { PAYMENT_ROUTES } from "./routes/payments.ts";
import { PEOPLE_ROUTES } from "./routes/people.ts";
import { REQUEST_ROUTES } from "./routes/requests.ts";
import { SIGN_IN_ROUTES } from "./routes/sign-in.ts";

/** The one route table: the edge serves it, the OpenAPI documents describe it, the tests knock at every door of it. */
export const ROUTES: readonly Route[] = [
  ...CHAT_ROUTES,
  ...KEY_VALIDATION_ROUTES,
  ...MESSAGES_ROUTES,
  ...RESPONSES_ROUTES,
  ...STORED_RESPONSE_ROUTES,
  ...GEMINI_ROUTES,
  ...EMBEDDINGS_ROUTES,
  ...RERANK_ROUTES,
  ...MODERATIONS_ROUTES,
  ...IMAGES_ROUTES,
  ...DECISIONS_ROUTES,
  ...BATCH_ROUTES,
  ...TRANSCRIPTIONS_ROUTES,
  ...SPEECH_ROUTES,
  ...REQUEST_ROUTES,
  ...CATALOGUE_ROUTES,
  ...MANAGE_ROUTES,
  ...PAYMENT_ROUTES,
  ...SIGN_IN_ROUTES,
  ...PEOPLE_ROUTES,
  ...OPERATION_ROUTES,
];
