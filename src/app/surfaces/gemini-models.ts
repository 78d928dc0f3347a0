import type { z } from "zod";
import { type GeminiModel, type GeminiModelList, GeminiModelsQuery } from "../../contract/schemas/gemini.ts";
import { buffered, type Handler } from "../exchange.ts";
import { readLenientQuery } from "./catalogue-filter.ts";
import type { Offer } from "./catalogue-select.ts";
import { listKey, pageOf } from "./cursor-page.ts";
import { type ModelContext, modelObject } from "./model-views.ts";
import { findOffer, jsonWithEtag, listOffers, type ModelDeps } from "./models.ts";

const PAGE_DEFAULT = 50;
const PAGE_MAX = 1000;

/** GET /v1beta/models and /v1beta/models/{model}: the models that the key can use in this dialect. */
export function geminiModelHandlers(deps: ModelDeps): Record<string, Handler> {
  return {
    listGeminiModels: buffered(async (exchange) => {
      const { pageSize, pageToken } = readLenientQuery(exchange, GeminiModelsQuery);
      const { offers, context } = listOffers(deps, exchange);
      const { data, next } = pageOf(
        offers.filter((offer) => methodsOf(offer).length > 0),
        ({ model }) => model.id,
        {
          list: listKey(exchange, ["pageSize", "pageToken"]),
          limit: Math.min(Number(pageSize) || PAGE_DEFAULT, PAGE_MAX),
          cursor: pageToken,
        },
      );
      const list: z.output<typeof GeminiModelList> = {
        models: data.map((offer) => modelView(offer, context)),
        ...(next === null ? {} : { nextPageToken: next }),
      };
      return jsonWithEtag(exchange, list);
    }),
    getGeminiModel: buffered(async (exchange) => {
      const { offer, context } = findOffer(deps, exchange, exchange.params["model"] ?? "");
      return jsonWithEtag(exchange, modelView(offer, context));
    }),
  };
}

function modelView(offer: Offer, context: ModelContext): z.output<typeof GeminiModel> {
  const { id, name, description, max_input_tokens, max_output_tokens, created_at, svc_capabilities } = modelObject(
    offer,
    context,
  );
  return {
    name: `models/${id}`,
    version: created_at.slice(0, 10),
    displayName: name,
    description,
    ...(max_input_tokens === null ? {} : { inputTokenLimit: max_input_tokens }),
    ...(max_output_tokens === null ? {} : { outputTokenLimit: max_output_tokens }),
    supportedGenerationMethods: methodsOf(offer),
    ...(svc_capabilities.includes("reasoning") ? { thinking: true } : {}),
  };
}

/** The operations that serve the model. */
function methodsOf({ model: { surfaces } }: Offer): string[] {
  return [
    ...(surfaces.includes("gemini") ? ["generateContent", "streamGenerateContent", "countTokens"] : []),
    ...(surfaces.includes("embeddings") ? ["embedContent", "batchEmbedContents"] : []),
  ];
}
