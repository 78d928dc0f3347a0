import type { Route } from "./route.ts";
import { PAGES_TAG } from "./routes/operations.ts";

/** The guides as the README groups them. */
export type GuideList = readonly {
  readonly name: string;
  readonly guides: readonly { readonly slug: string; readonly title: string; readonly about: string }[];
}[];

/** The API on one page, for readers that take plain text: language models and people in a hurry. */
export function llmsTextOf(routes: readonly Route[], title: string, serverUrl: string, guides: GuideList): string {
  const shown = routes.filter(({ tag, path }) => tag !== PAGES_TAG && !path.startsWith("/manage"));
  const tags = [...new Set(shown.map(({ tag }) => tag))];
  return `# ${title}

> One base URL for many AI models and providers, with sovereignty floors, routing, a request log and exact billing.
> Clients of the chat-completions dialect only change the base URL and the key.

- Base URL: ${serverUrl}/v1
- Key: \`Authorization: Bearer <key>\` or \`x-api-key: <key>\`
- Models: \`GET ${serverUrl}/v1/models\`; with \`"model": "auto"\` the gateway chooses one
- Every response states what served it in \`X-Svc-Model\`, \`X-Svc-Provider\`, \`X-Svc-Sovereignty-Level\` and \`X-Svc-Compute-Countries\`
- Every error is \`{ "error": { "message", "type", "code", "param", "request_id" } }\`; unknown fields are rejected by name
- A 429 response has \`Retry-After\`; \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\` are on every response that counts against the rate limit

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
${guides.map((group) => guideSection(group, serverUrl)).join("")}
## More

- [OpenAPI 3.1 document](${serverUrl}/docs/api/spec): every field of every request and response
- [API reference](${serverUrl}/docs): the same document as a web page
- [Guides](${serverUrl}/docs/guides): web pages; append \`.md\` to a URL for Markdown
- [Management API](${serverUrl}/docs/manage/spec): OpenAPI 3.1, for operators
`;
}

function guideSection({ name, guides }: GuideList[number], serverUrl: string): string {
  const lines = guides.map(({ slug, title, about }) => `- [${title}](${serverUrl}/docs/guides/${slug}.md): ${about}`);
  return `\n## Guides: ${name}\n\n${lines.join("\n")}\n`;
}

function line({ method, path, summary, access }: Route): string {
  const needs = access.by === "key" && access.scope !== null ? ` (scope \`${access.scope}\`)` : "";
  return `- \`${method} ${path.replaceAll("+}", "}")}\`: ${summary}${needs}`;
}
