import type { Endpoint, Model, Price } from "../catalogue/catalogue.ts";
import type { OwnKey } from "../tenancy/own-key.ts";

/** One endpoint that may be tried, with what is needed to try and to bill it. */
export type Attempt = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
  /** The workspace's own key, where the endpoint is called with that one: nothing is charged then. */
  readonly own?: OwnKey | undefined;
};
