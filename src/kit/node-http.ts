/**
 * The used part of `node:http`. An import of that module reads all its properties and thereby loads Node's `fetch` and
 * WebSocket client: two megabytes of code that the gateway does not use.
 */
export const { createServer, Server, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule("node:http");
