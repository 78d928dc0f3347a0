import { createHmac } from "node:crypto";

/** HMAC-SHA256 over `timestamp.body`, in hex: who has the secret can tell that the gateway sent this, and when. */
export function signatureOf(secret: string, timestamp: number, body: string): string {
  return createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
}
