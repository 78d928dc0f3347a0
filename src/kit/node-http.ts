/**
 * What the gateway takes of `node:http`. An import of that module reads everything it has, and with it loads a client
 * with `fetch` and WebSockets that nobody here uses: two megabytes of code, and several more to load it.
 */
export const { createServer, Server, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule("node:http");
