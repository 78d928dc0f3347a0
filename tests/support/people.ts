import { openBooks } from "./books.ts";
import { type Json, startGateway, type TestGateway } from "./gateway.ts";

export type BrowserResponse = { readonly status: number; readonly headers: Headers; readonly body: Json };

/** A browser as far as cookies and the origin go: cookies are sent back to the same gateway. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<BrowserResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(`${this.#url}${path}`, {
      method,
      redirect: "manual",
      headers: {
        origin: this.#url,
        "sec-fetch-site": "same-origin",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(cookie === "" ? {} : { cookie }),
        ...this.#headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text,
    };
  }

  get = (path: string) => this.ask("GET", path);
  post = (path: string, body: unknown = {}) => this.ask("POST", path, body);

  #keep(set: string): void {
    const [pair = "", ...attributes] = set.split(";");
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    const isOver = attributes.some((one) => /^\s*max-age=0$/i.test(one));
    if (isOver) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(at + 1));
  }
}

export const PASSWORD = "three green bicycles";
export const OWNER = { name: "Ada", email: "ada@example.eu", password: PASSWORD };

export type PeopleGateway = TestGateway & {
  browser(headers?: Record<string, string>): Browser;
  /** Creates the first person, and returns their browser. */
  setUp(): Promise<Browser>;
  /** A person of a workspace by invitation, and their browser. */
  join(email: string, role?: string, workspace?: string): Promise<Browser>;
};

export async function peopleGateway(options: Parameters<typeof startGateway>[0] = {}): Promise<PeopleGateway> {
  const gateway = await startGateway(options);
  const browser = (headers: Record<string, string> = {}) => new Browser(gateway.url, headers);
  return {
    ...gateway,
    browser,
    async setUp() {
      const owner = browser();
      const made = await owner.post("/manage/setup", { ...OWNER, token: tokenOf(gateway.setupLink) });
      if (made.status !== 201) throw new Error(`set-up: ${made.status} ${JSON.stringify(made.body)}`);
      return owner;
    },
    async join(email, role = "member", workspace = "demo") {
      const { link } = await gateway.manage("POST", `/workspaces/${workspace}/invitations`, { email, role });
      const invited = browser();
      const name = email.split("@")[0];
      const accepted = await invited.post(`/manage/invitations/${tokenOf(link)}/accept`, { name, password: PASSWORD });
      if (accepted.status >= 300) throw new Error(`accept: ${accepted.status} ${JSON.stringify(accepted.body)}`);
      return invited;
    },
  };
}

export function tokenOf(link: string | undefined): string {
  return new URL(link ?? "http://none/").searchParams.get("token") ?? "";
}

/** As if all sessions of an address had begun that much earlier. */
export function ageSessions(dataDir: string, email: string, minutes = 60): void {
  const db = openBooks(dataDir);
  const earlier = `strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-${minutes} minutes')`;
  const theirs = "user_id = (select id from people where email = ?)";
  db.prepare(`update people_sessions set created_at = ${earlier} where ${theirs}`).run(email);
  db.close();
}
