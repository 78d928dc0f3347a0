import type { Route } from "./route.ts";
import { PAGES_TAG } from "./routes/operations.ts";

/** The API on one page, for readers that take plain text: language models and people in a hurry. */
export function llmsTextOf(routes: readonly Route[], title: string, serverUrl: string): string {
  const shown = routes.filter(({ tag, path }) => tag !== PAGES_TAG && !path.startsWith("/manage"));
  const tags = [...new Set(shown.map(({ tag }) => tag))];
  return `# ${title}

> One base address for many AI models and providers, with a sovereignty floor, routing, a request log and exact billing.
> Clients of the chat-completions dialect work by changing only the base address and the key.

- Base address: ${serverUrl}/v1
- Key: \`Authorization: Bearer <key>\` or \`x-api-key: <key>\`
- Models: \`GET ${serverUrl}/v1/models\`; \`"model": "auto"\` lets the gateway choose
- Every answer names who served it in \`X-Svc-Model\`, \`X-Svc-Provider\`, \`X-Svc-Sovereignty-Level\` and \`X-Svc-Compute-Countries\`
- Every refusal is \`{ "error": { "message", "type", "code", "param", "request_id" } }\`; a field that is not known is refused by name
- 429 says in \`Retry-After\` how long to wait; \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\` are on every counted answer

## Example

\`\`\`sh
curl ${serverUrl}/v1/chat/completions -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\
  -d '{"model":"auto","messages":[{"role":"user","content":"Hello!"}]}'
\`\`\`

${tags
  .map(
    (tag) =>
      `## ${tag}\n\n${shown
        .filter((route) => route.tag === tag)
        .map(line)
        .join("\n")}`,
  )
  .join("\n\n")}

## More

- [OpenAPI 3.1 document](${serverUrl}/docs/api/spec): every field of every request and answer
- [API reference](${serverUrl}/docs): the same document as a page
- [Management API](${serverUrl}/docs/manage/spec): OpenAPI 3.1, for the operator
`;
}

function line({ method, path, summary, access }: Route): string {
  const needs = access.by === "key" && access.scope !== null ? ` (scope \`${access.scope}\`)` : "";
  return `- \`${method} ${path.replaceAll("+}", "}")}\`: ${summary}${needs}`;
}
