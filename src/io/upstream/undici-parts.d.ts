/** The two parts of undici that are used: its front door would load `fetch`, caches and WebSockets with them. */
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export = Pool;
}

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export = Client;
}
