import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { guardedLookup, isPublicAddress, parseEgressUrl } from "./egress.ts";
import { createGuardedPost, egressUrlProblem } from "./guarded-post.ts";
import { isLoopbackHost, parseMailSender, parseSmtpUrl } from "./smtp-server.ts";

const CLOSED = [
  ...[
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
  ],
  ...[
    "100.64.0.1",
    "198.18.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
  ],
  ...["::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "fec0::1"],
  // IPv4 in other clothes: mapped, compatible, NAT64, 6to4, Teredo.
  ...["::ffff:127.0.0.1", "::ffff:a00:1", "::7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1"],
  ...["2002:7f00:1::", "2001:0:4136:e378::1", "2001:db8::1", "not an address", ""],
];

test.each(CLOSED)("BILL-10 %s is not a public address", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(["1.1.1.1", "93.184.216.34", "172.32.0.1", "::ffff:1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1"])(
  "%s is a public address",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  "http://example.eu/hook",
  "https://user:secret@example.eu/",
  "https://example.eu/#part",
  "ftp://example.eu/",
  "example.eu",
  "https://127.0.0.1/",
  "https://0x7f.1/",
  "https://2130706433/",
  "https://[::1]/",
  "https://127.0.0.1./",
  "https://017700000001/",
  "https://１２７.0.0.1/",
  "https://[::ffff:7f00:1]/",
  "https://[64:ff9b::10.0.0.1]/",
  "https://[::ffff:169.254.169.254]/",
  `https://example.eu/${"a".repeat(2048)}`,
])("BILL-10 %s is rejected before DNS", (url) => {
  expect(parseEgressUrl(url, "public_https")).toHaveProperty("problem");
});

test("BILL-10 a name with a private address is rejected when saved and when sent, without a connection", async () => {
  const { port, requests } = await receiver(200);
  expect(await egressUrlProblem(`https://localhost:${port}/`, "public_https")).toContain("private or reserved");
  const body = { headers: {}, body: "{}", signal: new AbortController().signal };
  const sent = await createGuardedPost("public_https", 15_000)({ url: `https://localhost:${port}/`, ...body });
  expect(sent.is).toBe("refused");
  expect(requests).toEqual([]);
  const allowed = await createGuardedPost("anywhere", 15_000)({ url: `http://localhost:${port}/hook?a=1`, ...body });
  expect(allowed).toEqual({ is: "answered", status: 200 });
  expect(requests).toEqual(["POST /hook?a=1"]);
});

test("BILL-10 DNS rebinding between save and send is rejected", async () => {
  const { servers, answers } = await nameServer();
  const { port, requests } = await receiver(200);
  const url = `https://rebinding.example.eu:${port}/`;
  const saved = () => egressUrlProblem(url, "public_https", servers);
  const post = createGuardedPost("public_https", 15_000, servers);
  const sent = () => post({ url, headers: {}, body: "{}", signal: new AbortController().signal });
  answers.push([93, 184, 216, 34]);
  expect(await saved()).toBeUndefined();
  for (const hidden of [[127, 0, 0, 1], [10, 0, 0, 1], [169, 254, 169, 254], MAPPED_LOOPBACK]) {
    answers.splice(0, answers.length, [93, 184, 216, 34], hidden);
    expect([hidden, await saved()]).toEqual([hidden, expect.stringContaining("private or reserved")]);
    expect([hidden, (await sent()).is]).toEqual([hidden, "refused"]);
  }
  answers.length = 0;
  expect(await sent()).toEqual({ is: "failed", why: "the host name cannot be resolved" });
  expect(requests).toEqual([]);
});

test("BILL-10 a name server that answers with a public address first, then with loopback: the checked address is used", async () => {
  const { servers, answers, onQuestion } = await nameServer();
  const { port, requests } = await receiver(200);
  const url = `https://rebinding.example.eu:${port}/`;
  const post = createGuardedPost("public_https", 15_000, servers);
  answers.push([93, 184, 216, 34]);
  const asked: string[] = [];
  onQuestion((type) => {
    asked.push(type);
    // From the second question for its IPv4 address on.
    if (asked.filter((one) => one === "A").length > 1) answers.splice(0, answers.length, [127, 0, 0, 1]);
  });
  const resolved = await new Promise((resolve) => {
    guardedLookup("public_https", servers)("rebinding.example.eu", { all: true }, (error, found) =>
      resolve(error ?? found),
    );
  });
  // The connection gets these addresses instead of the name, so there is no second question to lie about.
  expect(resolved).toEqual([{ address: "93.184.216.34", family: 4 }]);
  expect(asked.toSorted()).toEqual(["A", "AAAA"]);
  const sent = await post({ url, headers: {}, body: "{}", signal: new AbortController().signal });
  expect(sent).toEqual({ is: "refused", why: expect.stringContaining("private or reserved") });
  expect(requests).toEqual([]);
});

test("BILL-10 name servers that never answer do not delay other lookups", async () => {
  const { servers, silence } = await nameServer();
  silence();
  const late = Array.from({ length: 8 }, (_, n) =>
    egressUrlProblem(`https://slow-${n}.example.eu/`, "public_https", servers),
  );
  const first = await Promise.race([Promise.race(late), lookup("localhost")]);
  expect(first).toHaveProperty("address");
  expect(new Set(await Promise.all(late)).size).toBe(8);
}, 30_000);

test("BILL-10 redirects are not followed, and silent or flooding receivers are aborted", async () => {
  const { port, requests } = await receiver(307, { location: "/elsewhere" });
  // Other tests have the machine too: only who is silent is waited for so shortly.
  const post = (url: string, timeoutMs = 15_000) =>
    createGuardedPost("anywhere", timeoutMs)({ url, headers: {}, body: "{}", signal: new AbortController().signal });
  expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ is: "answered", status: 307 });
  expect(requests).toEqual(["POST /"]);
  const silent = await receiver("silent");
  expect(await post(`http://127.0.0.1:${silent.port}/`, 300)).toEqual({
    is: "failed",
    why: "the receiver did not respond in time",
  });
  const endless = await receiver("endless");
  expect(await post(`http://127.0.0.1:${endless.port}/`)).toEqual({ is: "answered", status: 200 });
  const gone = await post("http://127.0.0.1:1/");
  expect(gone).toMatchObject({ is: "failed", why: expect.stringContaining("unreachable") });
});

test("BILL-10 an SMTP URL is parsed, and displayed without its password", () => {
  expect(parseSmtpUrl("smtps://alerts%40example.eu:p%3Aw@mail.example.eu")).toEqual({
    host: "mail.example.eu",
    port: 465,
    secure: true,
    user: { name: "alerts@example.eu", password: "p:w" },
    displayUrl: "smtps://alerts%40example.eu@mail.example.eu:465",
  });
  expect(parseSmtpUrl("smtp://127.0.0.1:2525")).toMatchObject({ port: 2525, secure: false, user: null });
  // To the machine itself a password may go without TLS; to a name that only looks like it, never.
  expect(["localhost", "127.0.0.1", "127.9.9.9", "::1"].filter((host) => !isLoopbackHost(host))).toEqual([]);
  expect(["127.example.eu", "127.0.0.1.example.eu", "localhost.example.eu", "10.0.0.1"].filter(isLoopbackHost)).toEqual(
    [],
  );
  for (const wrong of ["mail.example.eu", "http://a", "smtp://a/path", "smtp://user@host", "smtp://u:p%@h"])
    expect(parseSmtpUrl(wrong)).toHaveProperty("problem");
  expect(parseMailSender('"The Gateway" <alerts@example.eu>')).toEqual({
    name: "The Gateway",
    address: "alerts@example.eu",
  });
  expect(parseMailSender("alerts@example.eu")).toEqual({ name: "", address: "alerts@example.eu" });
  for (const wrong of ["alerts", "a <b>", "a@b, c@d", "a@b\r\nBcc: c@d"])
    expect(parseMailSender(wrong)).toHaveProperty("problem");
});

const MAPPED_LOOPBACK = [...Array.from({ length: 10 }, () => 0), 255, 255, 127, 0, 0, 1];

/** Answers every question with the addresses of its family, or with nothing. */
async function nameServer() {
  const answers: number[][] = [];
  let isSilent = false;
  let noteQuestion: (type: "A" | "AAAA") => void = () => undefined;
  const socket = createSocket("udp4", (question, { port, address }) => {
    if (isSilent) return;
    const end = question.indexOf(0, 12) + 5;
    const isSix = question[end - 3] === 28;
    noteQuestion(isSix ? "AAAA" : "A");
    const found = answers.filter(({ length }) => length === (isSix ? 16 : 4));
    const header = [0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0];
    const rows = found.flatMap((row) => [0xc0, 12, 0, isSix ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, row.length, ...row]);
    socket.send(
      Buffer.from([...question.subarray(0, 2), ...header, ...question.subarray(12, end), ...rows]),
      port,
      address,
    );
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    socket.close();
  });
  const silence = () => {
    isSilent = true;
  };
  const onQuestion = (listener: typeof noteQuestion) => {
    noteQuestion = listener;
  };
  return { servers: [`127.0.0.1:${socket.address().port}`], answers, silence, onQuestion };
}

async function receiver(answer: number | "silent" | "endless", headers: Record<string, string> = {}) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.on("error", () => undefined);
    if (answer === "silent") return;
    response.writeHead(answer === "endless" ? 200 : answer, headers);
    if (answer !== "endless") response.end();
    else {
      const flood = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", flood);
      flood();
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { requests, port: typeof address === "object" && address !== null ? address.port : 0 };
}
