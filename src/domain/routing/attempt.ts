import type { Endpoint, Model, Price } from "../catalogue/catalogue.ts";

/** One endpoint that may be tried, with what is needed to try and to bill it. */
export type Attempt = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
};
