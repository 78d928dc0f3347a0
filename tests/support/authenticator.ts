import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import type { Browser } from "./people.ts";

/** What a browser sends for a passkey: one credential, on a device that verifies its user. */
export class Authenticator {
  readonly #id = randomBytes(16);
  readonly #key: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #rpId: string;
  readonly #origin: string;
  #counter = 0;

  constructor(rpId: string, origin: string) {
    this.#rpId = rpId;
    this.#origin = origin;
  }

  register(challenge: string) {
    const authData = Buffer.concat([
      this.#head(0x45),
      Buffer.alloc(16),
      Buffer.from([0, this.#id.length]),
      this.#id,
      this.#coseKey(),
    ]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      cborText("fmt"),
      cborText("none"),
      cborText("attStmt"),
      Buffer.from([0xa0]),
      cborText("authData"),
      cborBytes(authData),
    ]);
    return this.#credential({
      clientDataJSON: this.#clientData("webauthn.create", challenge).toString("base64url"),
      attestationObject: attestation.toString("base64url"),
      transports: ["internal"],
    });
  }

  /** `flags` 0x05: present and verified; 0x01: only present. */
  authenticate(challenge: string, flags = 0x05) {
    const clientData = this.#clientData("webauthn.get", challenge);
    const authData = this.#head(flags);
    const signed = Buffer.concat([authData, createHash("sha256").update(clientData).digest()]);
    return this.#credential({
      clientDataJSON: clientData.toString("base64url"),
      authenticatorData: authData.toString("base64url"),
      signature: createSign("sha256").update(signed).sign(this.#key.privateKey).toString("base64url"),
    });
  }

  #credential(response: object) {
    const id = this.#id.toString("base64url");
    return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
  }

  #head(flags: number): Buffer {
    this.#counter += 1;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#counter);
    return Buffer.concat([createHash("sha256").update(this.#rpId).digest(), Buffer.from([flags]), counter]);
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }));
  }

  /** ES256 on P-256: {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
  #coseKey(): Buffer {
    const { x = "", y = "" } = this.#key.publicKey.export({ format: "jwk" });
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
    return Buffer.concat([
      head,
      cborBytes(Buffer.from(x, "base64url")),
      Buffer.from([0x22]),
      cborBytes(Buffer.from(y, "base64url")),
    ]);
  }
}

export async function addPasskey(browser: Browser, device: Authenticator): Promise<void> {
  const { body: options } = await browser.get("/manage/auth/passkey/generate-register-options?name=laptop");
  const response = device.register(options.challenge);
  const added = await browser.post("/manage/auth/passkey/verify-registration", { response, name: "laptop" });
  if (added.status !== 200) throw new Error(`passkey: ${added.status} ${JSON.stringify(added.body)}`);
}

export async function byPasskey(browser: Browser, device: Authenticator) {
  const { body: options } = await browser.get("/manage/auth/passkey/generate-authenticate-options");
  return browser.post("/manage/auth/passkey/verify-authentication", {
    response: device.authenticate(options.challenge),
  });
}

function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(bytes.length < 256 ? [0x58, bytes.length] : [0x59, bytes.length >> 8, bytes.length & 255]),
    bytes,
  ]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}
