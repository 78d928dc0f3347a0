import { argon2, randomBytes, timingSafeEqual } from "node:crypto";

export type HashCost = { readonly memoryKib: number; readonly passes: number; readonly lanes: number };

/** OWASP's minimum for argon2id. */
export const HASH_COST: HashCost = { memoryKib: 19_456, passes: 2, lanes: 1 };

const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** Each hash takes 19 MiB and a thread. */
const CONCURRENCY_MAX = 2;
/** Further hashes are rejected with `HashingBusyError`. */
const QUEUE_MAX = 64;

export class HashingBusyError extends Error {
  constructor() {
    super("too many passwords are being checked");
    this.name = "HashingBusyError";
  }
}

export type PasswordHasher = {
  hash(password: string): Promise<string>;
  verify(password: string, hash: string): Promise<boolean>;
};

/** Node's argon2id, in the PHC string format `$argon2id$v=19$m=…,t=…,p=…$salt$tag`. */
export function passwordHasher(cost: HashCost = HASH_COST): PasswordHasher {
  const limiter = new HashingLimiter();
  const computeTag = (password: string, salt: Uint8Array, { memoryKib, passes, lanes }: HashCost, tagLength: number) =>
    limiter.run(
      () =>
        new Promise<Buffer>((resolve, reject) => {
          const message = password.normalize("NFKC");
          const parameters = { message, nonce: salt, parallelism: lanes, tagLength, memory: memoryKib, passes };
          argon2("argon2id", parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)));
        }),
    );
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      return encodeHash({ cost, salt, tag: await computeTag(password, salt, cost, TAG_BYTES) });
    },
    async verify(password, hash) {
      const stored = decodeHash(hash);
      if (stored === undefined) return false;
      const tag = await computeTag(password, stored.salt, stored.cost, stored.tag.length);
      return timingSafeEqual(tag, stored.tag);
    },
  };
}

type EncodedHash = { readonly cost: HashCost; readonly salt: Uint8Array; readonly tag: Buffer };

const unpadded = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replace(/=+$/, "");

function encodeHash({ cost: { memoryKib, passes, lanes }, salt, tag }: EncodedHash): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${unpadded(salt)}$${unpadded(tag)}`;
}

const ENCODED_HASH =
  /^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,4}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,88})\$([A-Za-z0-9+/]{16,88})$/;

function decodeHash(hash: string): EncodedHash | undefined {
  const [, memory, passes, lanes, salt, tag] = ENCODED_HASH.exec(hash) ?? [];
  if (salt === undefined || tag === undefined) return undefined;
  const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) };
  return { cost, salt: Buffer.from(salt, "base64"), tag: Buffer.from(tag, "base64") };
}

class HashingLimiter {
  #running = 0;
  readonly #queue: (() => void)[] = [];

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= CONCURRENCY_MAX) {
      if (this.#queue.length >= QUEUE_MAX) throw new HashingBusyError();
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
